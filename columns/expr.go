package columns

import (
	"slices"
	"strconv"
)

// Limits of expressions.
const (
	MaxLength = 1 << 20 // bytes
	MaxDepth  = 100     // expressions within expressions
)

// Expr says which rows are wanted, by their values in columns. Parse and ParseJSON make one. It is not changed once it
// is made, and safe for concurrent use.
type Expr struct {
	op      operator
	negated bool       // of a comparison: the rows with a value for which it is not true
	compare operator   // of count: with what the number of values is compared
	column  string     // of comparisons
	values  []literal  // that a column is compared with, or ids
	parts   []*Expr    // of allOf, anyOf, fewest and negation
	least   int        // of fewest
	at      expression // where it stands
}

// operator is what an expression does with its parts, or a comparison with its values.
type operator uint8

const (
	allOf    operator = iota // parts; without any it is true
	anyOf                    // parts; without any it is false
	fewest                   // parts, of which at least so many
	negation                 // of one part

	isTrue // a bool column by itself
	equal
	less
	atMost
	greater
	atLeast
	in
	between    // two values, both of which belong to it
	startsWith // a text
	has        // a list that holds one of the values
	isNull
	isEmpty // null, or an empty list
	match   // in, or has of a list
	except  // a value that is not among them, or a list that holds another one
	count   // the number of values
	hasID   // of the row
)

// String is the operator as it stands in expressions of the command line, or in filters in JSON.
func (o operator) String() string {
	return [...]string{"and", "or", "min_should", "not", "by itself", "=", "<", "<=", ">", ">=", "in", "between", "starts with", "has", "is null", "is_empty", "match", "except", "values_count", "has_id"}[o]
}

// String is the operator of a comparison for messages.
func (e *Expr) String() string {
	switch {
	case e.negated && e.op == equal:
		return "!="
	case e.negated && e.op == isNull:
		return "is not null"
	case e.negated:
		return "not " + e.op.String()
	}
	return e.op.String()
}

// literal is a value in an expression.
type literal struct {
	kind    literalKind
	integer int64 // of integers, 0 or 1 of bools
	float   float64
	text    string
	at      expression
}

type literalKind uint8

const (
	integerLiteral literalKind = iota
	floatLiteral
	textLiteral
	boolLiteral
)

// String names the kind for messages.
func (k literalKind) String() string {
	return [...]string{"an integer", "a number", "a text", "true or false"}[k]
}

// String is the value for messages.
func (l literal) String() string {
	switch l.kind {
	case integerLiteral:
		return strconv.FormatInt(l.integer, 10)
	case floatLiteral:
		return strconv.FormatFloat(l.float, 'g', -1, 64)
	case boolLiteral:
		return strconv.FormatBool(l.integer == 1)
	}
	return "'" + l.text + "'"
}

// Columns returns the names of the columns that the expression compares, in the order in which they first appear.
func (e *Expr) Columns() (names []string) {
	e.walk(func(e *Expr) {
		if e.column != "" && !slices.Contains(names, e.column) {
			names = append(names, e.column)
		}
	})
	return names
}

// NamesIDs reports whether rows are selected by their ids.
func (e *Expr) NamesIDs() (names bool) {
	e.walk(func(e *Expr) { names = names || e.op == hasID })
	return names
}

// IsAlwaysTrue reports whether the expression is true of every row without a comparison that says so: a filter in JSON of
// which every list of conditions is empty, or one that excludes what no row can be, such as {"must_not": [{"has_id": []}]}.
func (e *Expr) IsAlwaysTrue() bool {
	always, _ := e.constant()
	return always
}

// constant reports whether an expression is true, or false, of every row whatever their values are.
func (e *Expr) constant() (always, never bool) {
	trues, falses := 0, 0
	for _, part := range e.parts {
		t, f := part.constant()
		if t {
			trues++
		}
		if f {
			falses++
		}
	}
	n := len(e.parts)
	switch e.op {
	case allOf:
		return trues == n, falses > 0
	case anyOf:
		return trues > 0, falses == n
	case fewest:
		return trues >= e.least, n-falses < e.least
	case negation:
		return falses == n, trues == n
	case hasID, match:
		return false, len(e.values) == 0
	}
	return false, false
}

func (e *Expr) walk(visit func(e *Expr)) {
	visit(e)
	for _, part := range e.parts {
		part.walk(visit)
	}
}

package columns

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"thresher/dataset/jsonscan"
)

// ParseJSON reads a filter in the form of Qdrant: an object with must, should and must_not, each a condition or a list
// of them, and min_should, {"conditions": [..], "min_count": 2}. A condition is a filter again, or one of
//
//	{"key": "year", "range": {"gte": 1999, "lt": 2005}}       lt, lte, gt, gte with numbers or times of RFC 3339
//	{"key": "lang", "match": {"value": "go"}}                 or {"any": [..]}, {"except": [..]}
//	{"key": "tags", "values_count": {"gte": 1}}
//	{"is_null": {"key": "year"}}, {"is_empty": {"key": "tags"}}, or {"key": .., "is_null": true}
//	{"has_id": [7, 9]}
//
// Of a list a comparison matches if it does one of the values. Errors are of type *ExprError and name the path of the
// member. Members that have no meaning here, such as those of places and of texts within texts, are errors.
func ParseJSON(text []byte) (*Expr, error) {
	if len(text) > MaxLength {
		return nil, expression{}.wrong("a filter of %d bytes, at most %d are read", len(text), MaxLength)
	}
	if !utf8.Valid(text) {
		return nil, expression{}.wrong("the filter is no UTF-8")
	}
	j := &jsonParser{text: text}
	start := jsonscan.Space(text, 0)
	end, err := jsonscan.Value(text, start) // what follows may rely on values that are whole
	if err == nil && jsonscan.Space(text, end) != len(text) {
		err = jsonscan.Wanted(text, end, "the end")
	}
	if err != nil {
		return nil, expression{}.wrong("%w", err)
	}
	return j.filter(start, "", 0)
}

// jsonParser reads a filter that is well-formed JSON.
type jsonParser struct{ text []byte }

func below(path, member string) string {
	if path == "" {
		return member
	}
	return path + "." + member
}

func (j *jsonParser) wrong(path, format string, args ...any) error {
	return expression{path: path}.wrong(format, args...)
}

// isA refuses a value that does not begin with a bracket.
func (j *jsonParser) isA(i int, bracket byte, path, what string) error {
	if j.text[i] != bracket {
		return j.wrong(path, "%s is wanted", what)
	}
	return nil
}

// members calls visit with the members of the object at i, each of which appears once.
func (j *jsonParser) members(i int, path, what string, visit func(name string, at int) error) error {
	if err := j.isA(i, '{', path, what); err != nil {
		return err
	}
	seen := map[string]bool{}
	_, err := jsonscan.Fields(j.text, i, func(key []byte, at int) (int, error) {
		name := string(key)
		if seen[name] {
			return at, j.wrong(below(path, name), "the member appears twice")
		}
		seen[name] = true
		if !jsonscan.Literal(j.text, at, "null") {
			if err := visit(name, at); err != nil {
				return at, err
			}
		}
		return jsonscan.Value(j.text, at)
	})
	return j.located(path, err)
}

// elements calls visit with the elements of the array at i.
func (j *jsonParser) elements(i int, path, what string, visit func(path string, at int) error) error {
	if err := j.isA(i, '[', path, what); err != nil {
		return err
	}
	_, err := jsonscan.Elements(j.text, i, func(n, at int) (int, error) {
		if err := visit(path+"["+strconv.Itoa(n)+"]", at); err != nil {
			return at, err
		}
		return jsonscan.Value(j.text, at)
	})
	return j.located(path, err)
}

// located makes an error one of a place, if it is none.
func (j *jsonParser) located(path string, err error) error {
	var of *ExprError
	if err == nil {
		return nil
	}
	if errors.As(err, &of) { // an error of an element has its number, which the path has too
		return of
	}
	return j.wrong(path, "%w", err)
}

// filter reads the filter at i.
func (j *jsonParser) filter(i int, path string, depth int) (*Expr, error) {
	e := &Expr{op: allOf, at: expression{path: path}}
	if depth >= MaxDepth {
		return nil, j.wrong(path, "more than %d filters lie within each other", MaxDepth)
	}
	err := j.members(i, path, "an object with must, should, must_not or min_should", func(name string, at int) error {
		here := below(path, name)
		if name == "min_should" {
			part, err := j.minShould(at, here, depth)
			e.parts = append(e.parts, part)
			return err
		}
		if name != "must" && name != "should" && name != "must_not" {
			return j.wrong(here, "there is no member %q; those of a filter are must, should, must_not and min_should", name)
		}
		parts, err := j.conditions(at, here, depth)
		if err != nil || len(parts) == 0 {
			return err
		}
		switch name {
		case "must":
			e.parts = append(e.parts, parts...)
		case "should":
			e.parts = append(e.parts, &Expr{op: anyOf, parts: parts, at: expression{path: here}})
		default:
			for _, part := range parts {
				e.parts = append(e.parts, &Expr{op: negation, parts: []*Expr{part}, at: part.at})
			}
		}
		return nil
	})
	return e, err
}

// conditions reads a condition, or a list of them.
func (j *jsonParser) conditions(i int, path string, depth int) (parts []*Expr, err error) {
	if j.text[i] != '[' {
		part, err := j.condition(i, path, depth)
		return []*Expr{part}, err
	}
	err = j.elements(i, path, "a list", func(path string, at int) error {
		part, err := j.condition(at, path, depth)
		parts = append(parts, part)
		return err
	})
	return parts, err
}

func (j *jsonParser) minShould(i int, path string, depth int) (*Expr, error) {
	e := &Expr{op: fewest, least: -1, at: expression{path: path}}
	err := j.members(i, path, "an object with conditions and min_count", func(name string, at int) (err error) {
		switch here := below(path, name); name {
		case "conditions":
			e.parts, err = j.conditions(at, here, depth)
		case "min_count":
			var v literal
			if v, err = j.value(at, here); err == nil && (v.kind != integerLiteral || v.integer < 0 || v.integer > MaxLength) {
				err = j.wrong(here, "a number of conditions is wanted")
			}
			e.least = int(v.integer)
		default:
			err = j.wrong(here, "there is no member %q; those of min_should are conditions and min_count", name)
		}
		return err
	})
	if err == nil && e.least < 0 {
		err = j.wrong(path, "min_count is missing")
	}
	return e, err
}

// condition reads a condition: a filter, or one that is told by a member.
func (j *jsonParser) condition(i int, path string, depth int) (*Expr, error) {
	c := &jsonCondition{parser: j, path: path, at: map[string]int{}}
	err := j.members(i, path, "a condition, an object,", func(name string, at int) error {
		c.at[name] = at
		c.names = append(c.names, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"must", "should", "must_not", "min_should"} {
		if _, ok := c.at[name]; ok {
			return j.filter(i, path, depth+1)
		}
	}
	return c.read()
}

// jsonCondition is the members of a condition.
type jsonCondition struct {
	parser *jsonParser
	path   string
	names  []string // in the order of the text
	at     map[string]int
	key    string
}

// read reads a condition that is no filter.
func (c *jsonCondition) read() (*Expr, error) {
	j := c.parser
	if at, ok := c.at["has_id"]; ok && len(c.names) == 1 {
		e := &Expr{op: hasID, at: expression{path: below(c.path, "has_id")}}
		err := j.elements(at, e.at.path, "a list of ids", func(path string, at int) error {
			v, err := j.id(at, path)
			e.values = append(e.values, v)
			return err
		})
		return e, err
	}
	at, ok := c.at["key"]
	if !ok {
		return c.ofKey()
	}
	v, err := j.value(at, below(c.path, "key"))
	if err != nil || v.kind != textLiteral || v.text == "" {
		return nil, j.wrong(below(c.path, "key"), "the name of a column is wanted")
	}
	c.key = v.text
	whole := &Expr{op: allOf, at: expression{path: c.path}}
	for _, name := range c.names {
		if name == "key" {
			continue
		}
		part, err := c.comparison(name)
		if err != nil {
			return nil, err
		}
		whole.parts = append(whole.parts, part)
	}
	switch len(whole.parts) {
	case 0:
		return nil, j.wrong(c.path, "the condition has a key and nothing that its values are compared with: match, range, values_count, is_null or is_empty")
	case 1:
		return whole.parts[0], nil
	}
	return whole, nil
}

// id reads an id. An integer from 2^63 on is its digits, and no row number.
func (j *jsonParser) id(i int, path string) (literal, error) {
	if end := jsonscan.Number(j.text, i); end > 0 {
		digits := string(j.text[i:end])
		id, err := strconv.ParseUint(digits, 10, 64)
		switch _, signed := strconv.ParseInt(digits, 10, 64); {
		case err == nil && id > math.MaxInt64:
			return literal{kind: integerLiteral, integer: -1, text: digits, at: expression{path: path}}, nil
		case err != nil && errors.Is(signed, strconv.ErrRange):
			return literal{}, j.wrong(path, "%.40s is beyond the integers of 64 bits", digits)
		}
	}
	v, err := j.value(i, path)
	if err == nil && (v.kind == floatLiteral || v.kind == boolLiteral || v.kind == textLiteral && v.text == "") {
		err = j.wrong(path, "an id, an integer or a text, is wanted")
	}
	return v, err
}

// ofKey reads {"is_null": {"key": ..}} and the like.
func (c *jsonCondition) ofKey() (*Expr, error) {
	j := c.parser
	if len(c.names) == 1 && (c.names[0] == "is_null" || c.names[0] == "is_empty") {
		name := c.names[0]
		e := &Expr{op: isNull, at: expression{path: below(c.path, name)}}
		if name == "is_empty" {
			e.op = isEmpty
		}
		err := j.members(c.at[name], e.at.path, "an object with the key of a column", func(member string, at int) error {
			v, err := j.value(at, below(e.at.path, member))
			if err == nil && (member != "key" || v.kind != textLiteral) {
				err = j.wrong(below(e.at.path, member), "the key, a name of a column, is all that is wanted here")
			}
			e.column = v.text
			return err
		})
		if err == nil && e.column == "" {
			err = j.wrong(e.at.path, "the key of a column is missing")
		}
		return e, err
	}
	found := "nothing"
	if len(c.names) > 0 {
		found = fmt.Sprintf("%q", c.names)
	}
	return nil, j.wrong(c.path, "the condition has %s; conditions are a filter, a key with match, range, values_count, is_null or is_empty, or one of is_null, is_empty and has_id", found)
}

// comparison reads what the values of the key are compared with.
func (c *jsonCondition) comparison(name string) (*Expr, error) {
	j, at, path := c.parser, c.at[name], below(c.path, name)
	e := &Expr{column: c.key, at: expression{path: path}}
	switch name {
	case "match":
		return e, j.match(e, at)
	case "range", "values_count":
		return j.rangeOf(e, at, name == "values_count")
	case "is_null", "is_empty":
		v, err := j.value(at, path)
		if err != nil || v.kind != boolLiteral {
			return nil, j.wrong(path, "true or false is wanted")
		}
		if e.op = isNull; name == "is_empty" {
			e.op = isEmpty
		}
		if v.integer == 0 {
			return &Expr{op: negation, parts: []*Expr{e}, at: e.at}, nil
		}
		return e, nil
	}
	return nil, j.wrong(path, "there is no condition %q here; those of a key are match, range, values_count, is_null and is_empty", name)
}

// match reads {"value": ..}, {"any": [..]} or {"except": [..]}.
func (j *jsonParser) match(e *Expr, i int) error {
	path, given := e.at.path, 0
	err := j.members(i, path, "an object with value, any or except", func(name string, at int) error {
		here := below(path, name)
		given++
		e.op = match
		switch name {
		case "value":
			v, err := j.value(at, here)
			e.values = append(e.values, v)
			return err
		case "except":
			e.op = except
		case "any":
		default:
			return j.wrong(here, "there is no match by %q here; there is by value, any and except", name)
		}
		return j.elements(at, here, "a list of values", func(path string, at int) error {
			v, err := j.value(at, path)
			e.values = append(e.values, v)
			return err
		})
	})
	if err == nil && given != 1 {
		err = j.wrong(path, "one of value, any and except is wanted, not %d", given)
	}
	return err
}

// rangeOf reads the limits of values, or of their number.
func (j *jsonParser) rangeOf(of *Expr, i int, counted bool) (*Expr, error) {
	whole := &Expr{op: allOf, at: of.at}
	err := j.members(i, of.at.path, "an object with lt, lte, gt or gte", func(name string, at int) error {
		here := below(of.at.path, name)
		op, ok := map[string]operator{"lt": less, "lte": atMost, "gt": greater, "gte": atLeast}[name]
		if !ok {
			return j.wrong(here, "there is no limit %q; there are lt, lte, gt and gte", name)
		}
		v, err := j.value(at, here)
		part := &Expr{op: op, column: of.column, values: []literal{v}, at: v.at}
		if counted {
			part.op, part.compare = count, op
		}
		whole.parts = append(whole.parts, part)
		return err
	})
	if err == nil && len(whole.parts) == 0 {
		err = j.wrong(of.at.path, "a limit is missing: lt, lte, gt or gte")
	}
	return whole, err
}

// value reads a text, a number, true or false.
func (j *jsonParser) value(i int, path string) (v literal, err error) {
	v.at = expression{path: path}
	switch j.text[i] {
	case '"':
		text, _, err := jsonscan.Name(j.text, i)
		if err != nil {
			return v, j.wrong(path, "%w", err)
		}
		v.kind, v.text = textLiteral, string(text)
	case 't', 'f':
		if v.kind = boolLiteral; j.text[i] == 't' {
			v.integer = 1
		}
	default:
		end := jsonscan.Number(j.text, i)
		if end < 0 {
			return v, j.wrong(path, "a text, a number, true or false is wanted")
		}
		err = v.number(string(j.text[i:end]))
	}
	return v, err
}

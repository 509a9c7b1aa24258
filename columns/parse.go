package columns

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parse reads an expression as the command line has them:
//
//	year >= 1999 and lang in ('go', 'rust') and not (draft or score < .5)
//
// A comparison is the name of a column and one of: = != < <= > >= with a value; in (values); between a and b, which
// belong to it; starts with 'text'; has 'text' or has (texts), of a list that holds one of them; is null. All but the
// first six, and is null, take not before them (is not null). The name of a bool column stands for itself. Comparisons
// are joined by not, and, or, which bind in this order, and parentheses. Texts stand in single quotes, in which two of
// them are one; times are texts of RFC 3339. Names stand in double quotes if they are no words, or are words of
// expressions. Words of expressions may be in any case of letters.
//
// Errors are of type *ExprError.
func Parse(text string) (*Expr, error) {
	p := &parser{lexer: lexer{text: text}}
	switch {
	case len(text) > MaxLength:
		return nil, expression{}.wrong("an expression of %d bytes, at most %d are read", len(text), MaxLength)
	case !utf8.ValidString(text):
		return nil, expression{}.wrong("the expression is no UTF-8")
	case strings.TrimSpace(text) == "":
		return nil, expression{}.wrong("the expression is empty; one is: year >= 1999 and lang in ('go', 'rust')")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	e, err := p.disjunction(0)
	if err != nil {
		return nil, err
	}
	if p.token.kind != endToken {
		return nil, p.expected("and, or, or the end")
	}
	return e, nil
}

// parser reads expressions by recursive descent; a method for each rule begins at the present token and ends after
// its own.
type parser struct {
	lexer
	token token
}

func (p *parser) advance() (err error) {
	p.token, err = p.next()
	return err
}

// take advances past a keyword or symbol, if that is the present token.
func (p *parser) take(word string) (bool, error) {
	if !p.token.is(word) && !(p.token.kind == symbolToken && p.token.text == word) {
		return false, nil
	}
	return true, p.advance()
}

// need advances past a keyword or symbol, which must be the present token.
func (p *parser) need(word string) error {
	ok, err := p.take(word)
	if err == nil && !ok {
		err = p.expected(word)
	}
	return err
}

// expected returns the error of a token where another thing is wanted.
func (p *parser) expected(what string) error {
	found := "the expression ends"
	if p.token.kind != endToken {
		found = fmt.Sprintf("%q stands", p.token.text)
	}
	return p.place(p.token.at).wrong("%s where %s is wanted", found, what)
}

func (p *parser) disjunction(depth int) (*Expr, error) { return p.joined(anyOf, depth, p.conjunction) }
func (p *parser) conjunction(depth int) (*Expr, error) { return p.joined(allOf, depth, p.part) }

// joined reads parts with and, or or, between them.
func (p *parser) joined(op operator, depth int, part func(depth int) (*Expr, error)) (*Expr, error) {
	e := &Expr{op: op, at: p.place(p.token.at)}
	for {
		next, err := part(depth)
		if err != nil {
			return nil, err
		}
		e.parts = append(e.parts, next)
		if more, err := p.take(op.String()); err != nil {
			return nil, err
		} else if !more {
			break
		}
	}
	if len(e.parts) == 1 {
		return e.parts[0], nil
	}
	return e, nil
}

// part reads a comparison, what is in parentheses, or either after not.
func (p *parser) part(depth int) (*Expr, error) {
	at := p.place(p.token.at)
	if depth >= MaxDepth {
		return nil, at.wrong("more than %d expressions lie within each other", MaxDepth)
	}
	negated, err := p.take("not")
	if err != nil {
		return nil, err
	}
	if negated {
		e, err := p.part(depth + 1)
		return &Expr{op: negation, parts: []*Expr{e}, at: at}, err
	}
	inner, err := p.take("(")
	if err != nil {
		return nil, err
	}
	if !inner {
		return p.comparison()
	}
	e, err := p.disjunction(depth + 1)
	if err != nil {
		return nil, err
	}
	return e, p.need(")")
}

// keywords are words that name no column unless they are quoted.
var keywords = map[string]bool{"and": true, "or": true, "not": true, "in": true, "between": true, "starts": true, "with": true, "has": true, "is": true, "null": true, "true": true, "false": true}

func (p *parser) comparison() (*Expr, error) {
	e := &Expr{op: isTrue, column: p.token.text, at: p.place(p.token.at)}
	switch {
	case p.token.kind == numberToken || p.token.kind == textToken || p.token.is("true") || p.token.is("false"):
		return nil, e.at.wrong("a comparison begins with the name of a column, and a value stands after the operator")
	case p.token.kind == quotedToken && e.column == "":
		return nil, e.at.wrong("the name of the column is empty")
	case p.token.kind != quotedToken && (p.token.kind != nameToken || keywords[strings.ToLower(p.token.text)]):
		return nil, p.expected("the name of a column")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	operated := p.place(p.token.at)
	if p.token.kind == symbolToken {
		return e, p.symbol(e)
	}
	var err error
	if e.negated, err = p.take("not"); err != nil {
		return nil, err
	}
	switch word := strings.ToLower(p.token.text); {
	case p.token.kind == nameToken && (word == "in" || word == "between" || word == "starts" || word == "has"):
		e.at = operated
		if err := p.advance(); err != nil {
			return nil, err
		}
		return e, p.operands(e, word)
	case e.negated:
		return nil, p.expected("in, between, starts with or has")
	case p.token.is("is"):
		e.at = operated
		return e, p.null(e)
	}
	return e, nil
}

// null reads the rest of is null.
func (p *parser) null(e *Expr) (err error) {
	if err = p.advance(); err != nil {
		return err
	}
	e.op = isNull
	if e.negated, err = p.take("not"); err != nil {
		return err
	}
	return p.need("null")
}

// symbol reads a comparison by a symbol.
func (p *parser) symbol(e *Expr) (err error) {
	op, ok := map[string]operator{"=": equal, "==": equal, "!=": equal, "<>": equal, "<": less, "<=": atMost, ">": greater, ">=": atLeast}[p.token.text]
	if !ok {
		return nil // of what comes after a bool
	}
	e.op, e.negated, e.at = op, p.token.text == "!=" || p.token.text == "<>", p.place(p.token.at)
	if err = p.advance(); err != nil {
		return err
	}
	e.values, err = p.value(nil)
	return err
}

// operands reads what stands after an operator that is a word.
func (p *parser) operands(e *Expr, word string) (err error) {
	switch word {
	case "in":
		e.op = in
		e.values, err = p.list()
	case "has":
		if e.op = has; p.token.kind == symbolToken && p.token.text == "(" {
			e.values, err = p.list()
		} else {
			e.values, err = p.value(nil)
		}
	case "starts":
		e.op = startsWith
		if err = p.need("with"); err == nil {
			e.values, err = p.value(nil)
		}
	default:
		e.op = between
		if e.values, err = p.value(nil); err != nil {
			return err
		}
		if err = p.need("and"); err == nil {
			e.values, err = p.value(e.values)
		}
	}
	return err
}

// list reads values in parentheses.
func (p *parser) list() (values []literal, err error) {
	if err := p.need("("); err != nil {
		return nil, err
	}
	for {
		if values, err = p.value(values); err != nil {
			return nil, err
		}
		if more, err := p.take(","); err != nil {
			return nil, err
		} else if !more {
			return values, p.need(")")
		}
	}
}

// value reads a value and appends it.
func (p *parser) value(values []literal) ([]literal, error) {
	v := literal{at: p.place(p.token.at)}
	switch {
	case p.token.kind == textToken:
		v.kind, v.text = textLiteral, p.token.text
	case p.token.kind == numberToken:
		if err := v.number(p.token.text); err != nil {
			return nil, err
		}
	case p.token.is("true"), p.token.is("false"):
		if v.kind = boolLiteral; p.token.is("true") {
			v.integer = 1
		}
	case p.token.is("null"):
		return nil, v.at.wrong("no comparison matches null; is null does")
	case p.token.kind == quotedToken || p.token.kind == nameToken:
		return nil, v.at.wrong("%s stands where a value is wanted; a text stands in single quotes: '%s'", p.token.text, strings.ReplaceAll(p.token.text, "'", "''"))
	default:
		return nil, p.expected("a value")
	}
	return append(values, v), p.advance()
}

// number reads an integer that fits int64, or a float with a point or an exponent.
func (l *literal) number(text string) (err error) {
	digits := strings.TrimLeft(text, "+-")
	if len(text)-len(digits) > 1 || strings.ContainsAny(digits, "_xXpPiInN") {
		return l.at.wrong("%.40q is no number", text)
	}
	if !strings.ContainsAny(text, ".eE") {
		l.kind = integerLiteral
		l.integer, err = strconv.ParseInt(text, 10, 64)
	} else {
		l.kind = floatLiteral
		l.float, err = strconv.ParseFloat(text, 64)
		if errors.Is(err, strconv.ErrRange) && !math.IsInf(l.float, 0) {
			err = nil // a tiny number is the nearest that there is
		}
	}
	switch {
	case errors.Is(err, strconv.ErrRange) && l.kind == integerLiteral:
		return l.at.wrong("%.40s does not fit int64", text)
	case errors.Is(err, strconv.ErrRange):
		return l.at.wrong("%.40s is beyond the range of float64", text)
	case err != nil:
		return l.at.wrong("%.40q is no number", text)
	}
	return nil
}

package columns

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"thresher/dataset"
)

// columnsOf makes columns of rows of values.
func columnsOf(t testing.TB, names []string, rows [][]dataset.Value, untyped bool) *Columns {
	t.Helper()
	c := &Columns{rows: len(rows)}
	for i, name := range names {
		b := newBuilder(name)
		for row := range rows {
			if err := b.add(&rows[row][i]); err != nil {
				t.Fatalf("row %d: %v", row, err)
			}
		}
		c.of = append(c.of, b.column(untyped))
	}
	return c
}

// naive evaluates expressions row by row, as their documentation defines them.
type naive struct {
	names []string
	rows  [][]dataset.Value
}

func (n *naive) selected(e *Expr) (rows []uint32) {
	for row := range n.rows {
		if n.true(e, row) {
			rows = append(rows, uint32(row))
		}
	}
	return rows
}

func (n *naive) true(e *Expr, row int) bool {
	holds := 0
	for _, part := range e.parts {
		if n.true(part, row) {
			holds++
		}
	}
	switch e.op {
	case allOf:
		return holds == len(e.parts)
	case anyOf:
		return holds > 0
	case fewest:
		return holds >= e.least
	case negation:
		return holds == 0
	case hasID:
		return slices.ContainsFunc(e.values, func(l literal) bool { return l.integer == int64(row) })
	}
	v := n.rows[row][slices.Index(n.names, e.column)]
	switch null := v.Kind == dataset.NullValue; {
	case e.op == isNull:
		return null != e.negated
	case e.op == isEmpty:
		return null || v.Kind == dataset.ListValue && len(v.Texts) == 0
	case e.op == count:
		n := 1
		if null {
			n = 0
		} else if v.Kind == dataset.ListValue {
			n = len(v.Texts)
		}
		return compared(e.compare, big.NewFloat(float64(n)).Cmp(number(&e.values[0])))
	case null || math.IsNaN(v.Float):
		return false
	case v.Kind == dataset.ListValue:
		return listed(e, v.Texts)
	case e.op == except:
		return !slices.ContainsFunc(e.values, func(l literal) bool { return order(&v, &l) == 0 })
	}
	return matches(e, &v) != e.negated
}

// listed compares a list.
func listed(e *Expr, texts []string) bool {
	among := func(text string) bool {
		return slices.ContainsFunc(e.values, func(l literal) bool { return l.text == text })
	}
	if e.op == except {
		return slices.ContainsFunc(texts, func(text string) bool { return !among(text) })
	}
	return slices.ContainsFunc(texts, among) != e.negated
}

func matches(e *Expr, v *dataset.Value) bool {
	switch e.op {
	case isTrue:
		return v.Integer == 1
	case between:
		return order(v, &e.values[0]) >= 0 && order(v, &e.values[1]) <= 0
	case startsWith:
		return strings.HasPrefix(v.Text, e.values[0].text)
	case in, match:
		return slices.ContainsFunc(e.values, func(l literal) bool { return order(v, &l) == 0 })
	}
	return compared(e.op, order(v, &e.values[0]))
}

func compared(op operator, order int) bool {
	return op == equal && order == 0 || op == less && order < 0 || op == atMost && order <= 0 || op == greater && order > 0 || op == atLeast && order >= 0
}

// number is an exact value.
func number(l *literal) *big.Float {
	if l.kind == floatLiteral {
		return new(big.Float).SetPrec(200).SetFloat64(l.float)
	}
	return new(big.Float).SetPrec(200).SetInt64(l.integer)
}

// order compares a value that is not null with a literal.
func order(v *dataset.Value, l *literal) int {
	switch v.Kind {
	case dataset.TextValue:
		return strings.Compare(v.Text, l.text)
	case dataset.BoolValue:
		return int(v.Integer - l.integer)
	case dataset.TimeValue:
		at, exact, _ := dataset.ParseTime(l.text, true)
		if v.Integer != at || exact {
			return big.NewInt(v.Integer).Cmp(big.NewInt(at))
		}
		return -1 // the literal is a fraction of a microsecond later
	case dataset.IntegerValue:
		return new(big.Float).SetPrec(200).SetInt64(v.Integer).Cmp(number(l))
	case dataset.SingleValue:
		x, _ := number(l).Float64()
		return big.NewFloat(v.Float).Cmp(big.NewFloat(float64(float32(x))))
	}
	return new(big.Float).SetPrec(200).SetFloat64(v.Float).Cmp(number(l))
}

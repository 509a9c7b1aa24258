package columns

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/dataset"
	_ "thresher/internal/draws"
	"thresher/internal/race"
)

// kinds are columns of every type, by name, with values that literals hit and miss.
var kinds = map[string][]dataset.Value{
	"year":    integers(math.MinInt64, -3, 0, 1, 2, 1999, 2000, 1<<53, 1<<53+1, math.MaxInt64),
	"score":   floats(dataset.FloatValue, math.Inf(-1), -1.5, math.Copysign(0, -1), 0, .1, .5, 2, 1<<53, math.NaN(), math.Inf(1)),
	"single":  floats(dataset.SingleValue, -1.5, 0, float64(float32(.1)), .5, 2, math.NaN(), math.Inf(1)),
	"lang":    texts("", "c", "go", "goal", "gone", "rust", "é", "\xff"),
	"draft":   {{Kind: dataset.BoolValue}, {Kind: dataset.BoolValue, Integer: 1}},
	"created": {{Kind: dataset.TimeValue, Integer: -1}, {Kind: dataset.TimeValue}, {Kind: dataset.TimeValue, Integer: 1}, {Kind: dataset.TimeValue, Integer: 946684800000000}},
	"tags":    {{Kind: dataset.ListValue}, {Kind: dataset.ListValue, Texts: []string{"go"}}, {Kind: dataset.ListValue, Texts: []string{"go", "c"}}, {Kind: dataset.ListValue, Texts: []string{"rust", "rust", ""}}},
}

func integers(all ...int64) (values []dataset.Value) {
	for _, x := range all {
		values = append(values, dataset.Value{Kind: dataset.IntegerValue, Integer: x})
	}
	return values
}

func floats(kind dataset.ValueKind, all ...float64) (values []dataset.Value) {
	for _, x := range all {
		values = append(values, dataset.Value{Kind: kind, Float: x})
	}
	return values
}

func texts(all ...string) (values []dataset.Value) {
	for _, x := range all {
		values = append(values, dataset.Value{Kind: dataset.TextValue, Text: x})
	}
	return values
}

// literals are values that each column is compared with.
var literals = map[string][]literal{
	"year":    {{integer: math.MinInt64}, {integer: -3}, {integer: 1}, {integer: 1999}, {integer: 1<<53 + 1}, {integer: math.MaxInt64}, {kind: floatLiteral, float: 1.5}, {kind: floatLiteral, float: 1999}, {kind: floatLiteral, float: 1e300}, {kind: floatLiteral, float: -1e300}, {kind: floatLiteral, float: 1 << 63}},
	"score":   {{integer: 0}, {integer: 2}, {integer: 1 << 53}, {kind: floatLiteral, float: .1}, {kind: floatLiteral, float: -1.5}, {kind: floatLiteral, float: .3}, {kind: floatLiteral, float: math.MaxFloat64}},
	"single":  {{integer: 0}, {kind: floatLiteral, float: .1}, {kind: floatLiteral, float: .5}, {kind: floatLiteral, float: .3}},
	"lang":    {textOf(""), textOf("a"), textOf("go"), textOf("goa"), textOf("rust"), textOf("\xff"), textOf("\xff\xff"), textOf("é")},
	"draft":   {{kind: boolLiteral}, {kind: boolLiteral, integer: 1}},
	"created": {textOf("1970-01-01"), textOf("2000-01-01T00:00:00Z"), textOf("1970-01-01T00:00:00.0000005Z"), textOf("1999-12-31T23:00:00-01:00"), textOf("2000-01-01 00:00:00")},
	"tags":    {textOf("go"), textOf("c"), textOf("x"), textOf("")},
}

func textOf(text string) literal { return literal{kind: textLiteral, text: text} }

var names = []string{"year", "score", "single", "lang", "draft", "created", "tags"}

// drawRows draws rows with nulls.
func drawRows(t *rapid.T) [][]dataset.Value {
	n := rapid.IntRange(0, 200).Draw(t, "rows")
	rows := make([][]dataset.Value, n)
	seed := rapid.Uint64().Draw(t, "seed")
	for i := range rows {
		for at, name := range names {
			seed = seed*6364136223846793005 + 1442695040888963407
			of := kinds[name]
			v := dataset.Value{}
			if pick := int(seed >> 33 % uint64(len(of)+1)); pick < len(of) {
				v = of[pick]
			}
			if at == 0 && i == 0 && v.Kind == dataset.NullValue {
				v = of[0]
			}
			rows[i] = append(rows[i], v)
		}
	}
	return rows
}

// drawExpr draws an expression that suits the columns.
func drawExpr(t *rapid.T, depth int) *Expr {
	if depth > 0 && rapid.IntRange(0, 2).Draw(t, "joined") > 0 {
		e := &Expr{op: rapid.SampledFrom([]operator{allOf, allOf, anyOf, fewest, negation}).Draw(t, "joint"), least: rapid.IntRange(0, 4).Draw(t, "least")}
		n := rapid.IntRange(0, 4).Draw(t, "parts")
		if e.op == negation {
			n = 1
		}
		for range n {
			e.parts = append(e.parts, drawExpr(t, depth-1))
		}
		return e
	}
	name := rapid.SampledFrom(append(slices.Clone(names), "id")).Draw(t, "column")
	if name == "id" {
		return &Expr{op: hasID, values: []literal{{integer: rapid.Int64Range(-1, 200).Draw(t, "id")}}}
	}
	e := &Expr{column: name, negated: rapid.Bool().Draw(t, "negated")}
	ops := []operator{equal, less, atMost, greater, atLeast, in, between, match, except, isNull, isEmpty, count}
	switch name {
	case "lang":
		ops = append(ops, startsWith)
	case "draft":
		ops = []operator{isTrue, equal, in, match, except, isNull, isEmpty, count}
	case "tags":
		ops = []operator{has, match, except, isNull, isEmpty, count}
	}
	e.op = rapid.SampledFrom(ops).Draw(t, "operator")
	n := 1
	switch e.op {
	case between:
		n = 2
	case in, match, except, has:
		n = rapid.IntRange(1, 4).Draw(t, "values")
	}
	if e.op == isEmpty || e.op == match || e.op == except || e.op == count {
		e.negated = false
	}
	if e.op == count {
		e.compare = rapid.SampledFrom([]operator{less, atMost, greater, atLeast}).Draw(t, "compare")
		e.values = []literal{{integer: rapid.Int64Range(-1, 3).Draw(t, "count")}}
		return e
	}
	for range n {
		e.values = append(e.values, rapid.SampledFrom(literals[name]).Draw(t, "value"))
	}
	return e
}

// TestSelectEqualsNaive: the rows of an expression are those for which it is true row by row, by scans and by indexes.
func TestSelectEqualsNaive(t *testing.T) {
	race.Skip(t, "one goroutine")
	rapid.Check(t, func(t *rapid.T) {
		n := &naive{names: names, rows: drawRows(t)}
		c := &Columns{rows: len(n.rows)}
		for i, name := range names {
			b := newBuilder(name)
			for row := range n.rows {
				if err := b.add(&n.rows[row][i]); err != nil {
					t.Fatal(err)
				}
			}
			col := b.column(false)
			if col.filled.IsEmpty() { // of no type, for which literals need not suit
				return
			}
			c.of = append(c.of, col)
		}
		for range 4 {
			e := drawExpr(t, 3)
			want := n.selected(e)
			for range scansBeforeIndex + 1 { // the last ones by an index
				got, err := c.Select(e)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got.ToArray(), want) && (len(want) > 0 || !got.IsEmpty()) {
					t.Fatalf("%s: rows %v, want %v", shownExpr(e), got.ToArray(), want)
				}
			}
		}
	})
}

// shownExpr is an expression for messages of tests.
func shownExpr(e *Expr) string {
	if e.column != "" || e.op == hasID {
		return fmt.Sprint(e.column, " ", e, " ", e.compare, " ", e.values)
	}
	s := fmt.Sprint(e.op, e.least, "(")
	for _, part := range e.parts {
		s += shownExpr(part) + "; "
	}
	return s + ")"
}

// TestSelectIsTheCallers: what is done with the rows of one selection does not change those of the next.
func TestSelectIsTheCallers(t *testing.T) {
	rows := [][]dataset.Value{}
	for i := range 100 {
		rows = append(rows, []dataset.Value{{Kind: dataset.IntegerValue, Integer: int64(i)}})
	}
	c := columnsOf(t, []string{"x"}, rows, false)
	for _, text := range []string{"x >= 0", "not (x < 0)", "x is not null", "x between 10 and 20", "x in (1, 2)"} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		first, err := c.Select(e)
		if err != nil {
			t.Fatal(err)
		}
		want := first.ToArray()
		first.Clear()
		again, err := c.Select(e)
		if err != nil || len(want) == 0 || !slices.Equal(again.ToArray(), want) {
			t.Errorf("%s: %v %v, want %v", text, again, err, want)
		}
	}
}

func BenchmarkSelect(b *testing.B) {
	const n = 1_000_000
	build := newBuilder("x")
	for i := range n {
		v := dataset.Value{Kind: dataset.IntegerValue, Integer: int64(uint32(i)*2654435761) % 10_000}
		if err := build.add(&v); err != nil {
			b.Fatal(err)
		}
	}
	c := &Columns{rows: n, of: []*Column{build.column(false)}}
	e, err := Parse("x >= 0 and x < 100")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"scan", "index"} {
		b.Run(name, func(b *testing.B) {
			of := c.of[0].integers
			if of.scans, of.index = 0, nil; name == "index" {
				of.index = of.sort()
			}
			for b.Loop() {
				if of.scans = 0; name == "scan" {
					of.index = nil
				}
				if _, err := c.Select(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("sort", func(b *testing.B) {
		for b.Loop() {
			c.of[0].integers.sort()
		}
	})
}

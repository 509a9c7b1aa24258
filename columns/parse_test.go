package columns

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/dataset"
)

// books are rows that tests of both languages select from.
func books(t testing.TB) *Columns {
	t.Helper()
	null := dataset.Value{}
	integer := func(x int64) dataset.Value { return dataset.Value{Kind: dataset.IntegerValue, Integer: x} }
	float := func(x float64) dataset.Value { return dataset.Value{Kind: dataset.FloatValue, Float: x} }
	text := func(x string) dataset.Value { return dataset.Value{Kind: dataset.TextValue, Text: x} }
	flag := func(x int64) dataset.Value { return dataset.Value{Kind: dataset.BoolValue, Integer: x} }
	list := func(x ...string) dataset.Value { return dataset.Value{Kind: dataset.ListValue, Texts: x} }
	return columnsOf(t, []string{"year", "lang", "score", "draft", "added", "tags", "my column"}, [][]dataset.Value{
		{integer(1999), text("go"), float(.5), flag(0), text("2024-01-01"), list("a", "b"), integer(0)},
		{integer(2005), text("rust"), float(.25), flag(1), text("2024-01-02T12:00:00Z"), list(), integer(1)},
		{null, text("it's"), null, null, null, null, null},
		{integer(1998), text("gopher"), float(1), flag(0), text("2024-01-03T00:00:00+02:00"), list("b"), integer(3)},
	}, false)
}

func TestParseSelects(t *testing.T) {
	c := books(t)
	for _, test := range []struct {
		text string
		want []uint32
	}{
		{"year >= 1999", []uint32{0, 1}},
		{"year>=1999 and lang in ('go','rust') and not (draft or score < .3)", []uint32{0}},
		{"YEAR_X = 1 or year = 1998", nil}, // no such column
		{"year = 1998 OR NOT year >= 0", []uint32{2, 3}},
		{"year != 1998", []uint32{0, 1}},
		{"year <> 1998 and year == 1999", []uint32{0}},
		{"not year = 1998", []uint32{0, 1, 2}},
		{"year < 1998.5", []uint32{3}},
		{"year between 1998 and 1999", []uint32{0, 3}},
		{"year not between 1998 and 1999", []uint32{1}},
		{"year between 1999 and 1998", []uint32{}},
		{"lang = 'it''s'", []uint32{2}},
		{"lang starts with 'go'", []uint32{0, 3}},
		{"lang not starts with 'go'", []uint32{1, 2}},
		{"lang not in ('go')", []uint32{1, 2, 3}},
		{"lang < 'h'", []uint32{0, 3}},
		{"draft", []uint32{1}},
		{"not draft", []uint32{0, 2, 3}},
		{"draft = false", []uint32{0, 3}},
		{"year is null", []uint32{2}},
		{"year is not null", []uint32{0, 1, 3}},
		{"tags has 'b'", []uint32{0, 3}},
		{"tags has ('a', 'x')", []uint32{0}},
		{"tags not has 'a'", []uint32{1, 3}},
		{"tags is null", []uint32{2}},
		{"added >= '2024-01-02'", []uint32{1, 3}},
		{"added = '2024-01-02T22:00:00Z'", []uint32{3}},
		{`"my column" > 0 and "my column" <= +1e0`, []uint32{1}},
		{"score <= -0 or score > .5", []uint32{3}},
		{"year = 1999 or year = 2005 and draft", []uint32{0, 1}}, // and binds before or
		{"((draft))", []uint32{1}},
	} {
		e, err := Parse(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		got, err := c.Select(e)
		if test.want == nil {
			if err == nil {
				t.Errorf("%s: %v, want an error", test.text, got)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
		} else if !slices.Equal(got.ToArray(), test.want) && (len(test.want) > 0 || !got.IsEmpty()) {
			t.Errorf("%s: rows %v, want %v", test.text, got.ToArray(), test.want)
		}
	}
}

// TestParseErrors: errors name the place, and what is wanted there.
func TestParseErrors(t *testing.T) {
	c := books(t)
	for _, test := range []struct {
		text, want string
		at         int
	}{
		{"", "the expression is empty", 0},
		{"year", `column "year" is int64, and only a bool stands by itself`, 0},
		{"year >=", "the expression ends where a value is wanted", 7},
		{"year >= '1999'", `column "year" is int64, and >= compares it with a text`, 8},
		{"year = 1 and lagn = 'x'", `there is no column "lagn"; the columns are year, lang, score, draft, added, tags, my column`, 18},
		{"lang = go", "a text stands in single quotes: 'go'", 7},
		{`lang = "go"`, "a text stands in single quotes: 'go'", 7},
		{"lang = null", "is null does", 7},
		{"1999 <= year", "a comparison begins with the name of a column", 0},
		{"year >= 1 year < 3", `"year" stands where and, or, or the end is wanted`, 10},
		{"year in 3", `"3" stands where ( is wanted`, 8},
		{"year in (3", "the expression ends where ) is wanted", 10},
		{"year in ()", `")" stands where a value is wanted`, 9},
		{"(year = 3", "the expression ends where ) is wanted", 9},
		{"year = 99999999999999999999", "does not fit int64", 7},
		{"score = 9007199254740993", "9007199254740993, which is no float64; the nearest is 9007199254740992", 8},
		{"score = 1e999", "beyond the range of float64", 8},
		{"year = 0x10", `"0x10" is no number`, 7},
		{"year = 1_000", `"1_000" is no number`, 7},
		{"year = 1.2.3", `"1.2.3" is no number`, 7},
		{"lang = 'x", "the quote is not closed", 7},
		{"year ~ 3", `'~' begins nothing`, 5},
		{"year not = 3", `"=" stands where in, between, starts with or has is wanted`, 9},
		{"tags = 'a'", `column "tags" is list of texts, which has no =; has finds a list that holds a text`, 5},
		{"lang has 'a'", `column "lang" is text, which has no has; has is for lists`, 5},
		{"year starts with 'a'", `column "year" is int64, which has no starts with`, 5},
		{"draft < true", `column "draft" is bool, which has no <`, 6},
		{"draft = 1", `column "draft" is bool, and = compares it with an integer`, 8},
		{"added > 5", `column "added" is timestamp, and > compares it with an integer; a time is a text of RFC 3339`, 8},
		{"added > 'May'", "which is no time of RFC 3339", 8},
		{"year is 3", `"3" stands where null is wanted`, 8},
		{"and = 3", `"and" stands where the name of a column is wanted`, 0},
		{`"" = 3`, "the name of the column is empty", 0},
		{"year = 3)", `")" stands where and, or, or the end is wanted`, 8},
		{strings.Repeat("not ", MaxDepth+1) + "draft", "more than 100 expressions lie within each other", 400},
		{strings.Repeat("(", 1e5), "more than 100 expressions lie within each other", 100},
		{"é = 3 and é = 'x'", `there is no column "é"`, 3},
		{"\xff = 3", "no UTF-8", 0},
		{strings.Repeat(" ", MaxLength+1), "at most 1048576 are read", 0},
	} {
		e, err := Parse(test.text)
		if err == nil {
			err = c.Check(e)
		}
		var of *ExprError
		if !errors.As(err, &of) {
			t.Errorf("%.40s: error %v, want an ExprError", test.text, err)
		} else if !strings.Contains(of.Err.Error(), test.want) || of.Offset != test.at {
			t.Errorf("%.40s: at %d: %v; want %d: %s", test.text, of.Offset, of.Err, test.at, test.want)
		}
	}
}

// TestErrorShowsThePlace: a caret stands below the character, also of a long expression and beside wide characters.
func TestErrorShowsThePlace(t *testing.T) {
	_, err := Parse("größe >= 'a'\nand x = y")
	want := "filter, character 22: y stands where a value is wanted; a text stands in single quotes: 'y'\n  größe >= 'a' and x = y\n                       ^"
	if err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
	_, err = Parse(strings.Repeat("a = 1 and ", 100) + "b = c")
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || len(lines[1]) > 2*shown+2 || lines[1][strings.Index(lines[2], "^")] != 'c' {
		t.Errorf("error\n%v", err)
	}
}

func TestColumnsOfExpr(t *testing.T) {
	e, err := Parse("b = 1 and (a = 2 or b = 3) and not c")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, e.Columns()); diff != "" || e.NamesIDs() {
		t.Errorf("columns: %s", diff)
	}
}

// FuzzParse: no text makes the parser or what follows panic, and what is selected is what the naive evaluation selects.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"year >= 1999 and lang in ('go', 'rust') and not (draft or score < .5)", "tags has ('a','b') or added between '2024-01-01' and '2024-02-01T00:00:00Z'",
		`"my column" is not null and lang not starts with 'a''b'`, "year != -5 or year <> 1e3", "((((draft))))", "year = 9223372036854775808", "not not not draft", "x", "'", `"`, "year in (", "é.b-c = 3"} {
		f.Add(text)
	}
	c := books(f)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		checkFuzzed(t, c, e, err)
	})
}

// checkFuzzed checks an expression that was made of any text.
func checkFuzzed(t *testing.T, c *Columns, e *Expr, err error) {
	t.Helper()
	if err == nil {
		err = c.Check(e)
	}
	if err != nil {
		var of *ExprError
		if !errors.As(err, &of) || of.Offset < 0 || of.Offset > len(of.Text) || of.Error() == "" {
			t.Fatalf("error %#v", err)
		}
		return
	}
	rows, err := c.Select(e)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Select(&Expr{op: negation, parts: []*Expr{e}}); err != nil || rows.GetCardinality()+got.GetCardinality() != uint64(c.rows) || rows.Intersects(got) {
		t.Fatal(fmt.Sprint("an expression and its negation select ", rows, " and ", got))
	}
}

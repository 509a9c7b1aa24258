package columns

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/dataset"
)

// TestGatherAppend: rows keep their values and columns their types, also where no value is left.
func TestGatherAppend(t *testing.T) {
	names, rows := savedRows()
	c := columnsOf(t, names, rows, false)
	for _, order := range [][]int64{{3, 1, 0, 3}, {1, 1}, {}} {
		got := c.Gather(order)
		if got.Rows() != len(order) || !slices.Equal(got.Fields(), c.Fields()) {
			t.Errorf("%v: %d rows of %v", order, got.Rows(), got.Fields())
		}
		both, err := got.Append(c, len(rows))
		if err != nil {
			t.Fatal(err)
		}
		if both, err = both.Append(nil, 1); err != nil {
			t.Fatal(err)
		}
		want := make([][]dataset.Value, 0, len(order)+len(rows)+1)
		for _, row := range order {
			want = append(want, rows[row])
		}
		want = append(append(want, rows...), rows[1])
		if both.Rows() != len(want) || !slices.Equal(both.Fields(), c.Fields()) {
			t.Fatalf("%v: %d rows of %v", order, both.Rows(), both.Fields())
		}
		for row := range want {
			for i, of := range both.All() {
				if diff := cmp.Diff(want[row][i], of.Value(row), cmpopts.EquateNaNs()); diff != "" {
					t.Errorf("%v, %s, row %d: %s", order, of.Name, row, diff)
				}
			}
		}
	}
	wider := columnsOf(t, []string{"integer"}, [][]dataset.Value{{{Kind: dataset.TextValue, Text: "x"}}}, false)
	if _, err := c.Append(wider, 1); err == nil || err.Error() != `row 0 (0-based): column "integer": a text, where the rows before have an integer` {
		t.Errorf("error %v", err)
	}
	if _, err := c.Append(columnsOf(t, []string{"new"}, [][]dataset.Value{{{}}}, false), 1); err == nil || !strings.Contains(err.Error(), `there is no column "new"; the columns are integer`) {
		t.Errorf("error %v", err)
	}
	if _, err := c.Append(wider, 2); err == nil || !strings.Contains(err.Error(), "1 rows for 2 vectors") {
		t.Errorf("error %v", err)
	}
}

// TestFromJSON: the values of an object of arrays, and what is refused.
func TestFromJSON(t *testing.T) {
	c, err := FromJSON([]byte(`{"i":[1,null,-9223372036854775808],"f":[1,2.5,1e300],"t":["a",null,""],"b":[true,false,null],"d":["2024-05-01",null,"2024-05-01T00:00:01Z"],"l":[["a",null],[],null]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Field{{"i", Integer}, {"f", Float}, {"t", Text}, {"b", Bool}, {"d", Time}, {"l", TextList}}
	if !slices.Equal(c.Fields(), want) || c.Rows() != 3 || c.All()[4].Value(2).Integer-c.All()[4].Value(0).Integer != 1e6 || len(c.All()[5].Value(0).Texts) != 1 {
		t.Errorf("%d rows of %v", c.Rows(), c.Fields())
	}
	for text, want := range map[string]string{
		`[1]`:                         `columns: an object of columns is wanted: "["`,
		`{"a":1}`:                     `columns.a: an array of values is wanted: "1"`,
		`{"a":[1,"b"]}`:               `columns.a[1]: column "a": a text, where the rows before have an integer`,
		`{"a":[{"b":1}]}`:             `columns.a[0]: "{", where a number`,
		`{"a":[["b",1]]}`:             `columns.a[0]: "1" in a list, where a text is wanted`,
		`{"a":[9223372036854775808]}`: `columns.a[0]: 9223372036854775808 does not fit int64`,
		`{"a":[1e999]}`:               `columns.a[0]: 1e999 is beyond the range of float64`,
		`{"a":[1],"b":[1,2]}`:         `column "b" has 2 rows, "a" has 1`,
		`{"a":[1],"a":[1]}`:           `two columns are called "a"`,
		`{"a":[1]`:                    `columns: unexpected EOF`,
		`{"a":[1]} {}`:                `columns: more than one value`,
		``:                            `columns: an object of columns is wanted: unexpected EOF`,
	} {
		if _, err := FromJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

// TestTextsStayTexts: a column of texts stays one where all that is left of it are times, and numbers that are added to
// floats of 32 bits become such.
func TestTextsStayTexts(t *testing.T) {
	days, err := New(Of("day", []string{"2024-05-01T10:00:00+02:00", "unknown"}), Of("score", []float32{.1, .2}))
	if err != nil {
		t.Fatal(err)
	}
	kept := days.Gather([]int64{0})
	if v := kept.All()[0].Value(0); kept.Fields()[0].Type != Text || v.Text != "2024-05-01T10:00:00+02:00" {
		t.Errorf("%v: %+v", kept.Fields(), v)
	}
	more, err := FromJSON([]byte(`{"score":[0.3,7]}`))
	if err != nil {
		t.Fatal(err)
	}
	all, err := days.Append(more, 2)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Parse("score in (0.3, 7)")
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := all.RowsFor(e); err != nil || !slices.Equal(rows, []int64{2, 3}) {
		t.Errorf("rows %v, %v", rows, err)
	}
}

// TestUntypedEdges: times finer than a microsecond are times, and -0 is a number.
func TestUntypedEdges(t *testing.T) {
	c, err := FromJSON([]byte(`{"at":["2024-05-01T00:00:00.000000999Z","2024-05-01T00:00:01Z"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if c.Fields()[0].Type != Time {
		t.Errorf("%v", c.Fields())
	}
	if x, ok := floatText("-0"); !ok || x != 0 {
		t.Errorf("-0 is %v, %v", x, ok)
	}
}

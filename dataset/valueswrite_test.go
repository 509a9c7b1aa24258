package dataset

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// everyKind are columns of all kinds, and rows with null, empty and extreme values.
func everyKind() ([]ValueColumn, [][]Value) {
	columns := []ValueColumn{{"n", IntegerValue}, {"x", FloatValue}, {"single", SingleValue}, {"a \"text\", quoted", TextValue}, {"yes", BoolValue}, {"at", TimeValue}, {"tags", ListValue}}
	return columns, [][]Value{
		{{Kind: IntegerValue, Integer: math.MinInt64}, {Kind: FloatValue, Float: .1}, {Kind: SingleValue, Float: float64(float32(.1))}, {Kind: TextValue, Text: "a,\"b\"\nc"}, {Kind: BoolValue, Integer: 1}, {Kind: TimeValue, Integer: 1700000000123456}, {Kind: ListValue, Texts: []string{"p", ""}}},
		{{}, {}, {}, {}, {}, {}, {}},
		{{Kind: IntegerValue, Integer: 1<<53 + 1}, {Kind: FloatValue, Float: 1e300}, {Kind: SingleValue, Float: -2}, {Kind: TextValue}, {Kind: BoolValue}, {Kind: TimeValue, Integer: -1}, {Kind: ListValue}},
	}
}

// TestWriteValues reads back what was written, where formats have types, and what they say in place of a value.
func TestWriteValues(t *testing.T) {
	columns, rows := everyKind()
	each := func(do func(row []Value) error) error {
		for _, row := range rows {
			if err := do(row); err != nil {
				return err
			}
		}
		return nil
	}
	for format, want := range map[Format]string{
		JSONL: `{"n":-9223372036854775808,"x":0.1,"single":0.1,"a \"text\", quoted":"a,\"b\"\u000ac","yes":true,"at":"2023-11-14T22:13:20.123456Z","tags":["p",""]}
{}
{"n":9007199254740993,"x":1e+300,"single":-2,"a \"text\", quoted":"","yes":false,"at":"1969-12-31T23:59:59.999999Z","tags":[]}
`,
		CSV: `n,x,single,"a ""text"", quoted",yes,at
-9223372036854775808,0.1,0.1,"a,""b""
c",true,2023-11-14T22:13:20.123456Z
,,,,,
9007199254740993,1e+300,-2,"",false,1969-12-31T23:59:59.999999Z
`,
	} {
		var b strings.Builder
		of, all := columns, each
		if format == CSV {
			of = columns[:6]
			all = func(do func([]Value) error) error { return each(func(row []Value) error { return do(row[:6]) }) }
		}
		if err := WriteValues(&b, format, of, nil, all); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}

	for ending, format := range map[string]Format{".parquet": Parquet, ".arrow": Arrow, ".arrows": ArrowStream} {
		readValuesBack(t, filepath.Join(t.TempDir(), "rows"+ending), format, columns, rows, each)
	}
}

// readValuesBack writes a table to a file, and compares what is read with the rows.
func readValuesBack(t *testing.T, path string, format Format, columns []ValueColumn, rows [][]Value, each func(do func(row []Value) error) error) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(WriteValues(f, format, columns, []Fact{{"who", "me"}}, each), f.Close()); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	r, err := OpenValues(path, "", nil, names...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, want := range rows {
		got, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: row %d: %s", format, i, diff)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("%s: after the last row: %v", format, err)
	}
}

// TestWriteValuesRefuses: what a format does not hold is an error that names the column, and not lost.
func TestWriteValuesRefuses(t *testing.T) {
	one := func(v Value) func(do func([]Value) error) error {
		return func(do func([]Value) error) error { return do([]Value{v}) }
	}
	for name, c := range map[string]struct {
		format Format
		value  Value
		says   string
	}{
		"list":     {CSV, Value{Kind: ListValue}, `"c" has lists`},
		"infinity": {JSONL, Value{Kind: FloatValue, Float: math.Inf(1)}, `"c": +Inf`},
		"npz":      {NPZ, Value{Kind: TextValue}, "rows are not written as npz"},
	} {
		err := WriteValues(io.Discard, c.format, []ValueColumn{{"c", c.value.Kind}}, nil, one(c.value))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	var b strings.Builder
	if err := WriteValues(&b, CSV, []ValueColumn{{"c", FloatValue}}, nil, one(Value{Kind: FloatValue, Float: math.Inf(-1)})); err != nil || b.String() != "c\n-Inf\n" {
		t.Errorf("an infinity as CSV: %q, error %v", b.String(), err)
	}
}

package dataset

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
)

// described is a row of a Parquet file with columns of all types.
type described struct {
	Vec   []float32 `parquet:"vec,list"`
	Year  *int64    `parquet:"year,optional"`
	Small uint32    `parquet:"small"`
	Score float64   `parquet:"score"`
	Half  float32   `parquet:"half"`
	Lang  *string   `parquet:"lang,optional,dict"`
	Draft *bool     `parquet:"draft,optional"`
	Added time.Time `parquet:"added,timestamp(microsecond)"`
	Fine  time.Time `parquet:"fine,timestamp(nanosecond)"`
	Day   int32     `parquet:"day,date"`
	Tags  []string  `parquet:"tags,list,optional"`
	Bare  []string  `parquet:"bare"`
}

// columnsRead returns the columns of a file, by rows.
func columnsRead(t *testing.T, name string, data []byte, columns ...string) (rows [][]Value, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := OpenValues(path, "", nil, columns...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		row, err := r.Next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			if _, again := r.Next(); !errors.Is(again, err) {
				t.Errorf("the error %v is not final", err)
			}
			return rows, err
		}
		row = slices.Clone(row)
		for i := range row {
			row[i].Texts = slices.Clone(row[i].Texts)
		}
		rows = append(rows, row)
	}
}

func sameRows(t *testing.T, got, want [][]Value) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

var instant = time.Date(2024, 5, 1, 12, 0, 0, 123456789, time.UTC)

func TestValuesOfParquet(t *testing.T) {
	year, lang, draft := int64(1999), "go", true
	var b bytes.Buffer
	w := parquet.NewGenericWriter[described](&b)
	if _, err := w.Write([]described{
		{Vec: []float32{1}, Year: &year, Small: math.MaxUint32, Score: math.NaN(), Half: .1, Lang: &lang, Draft: &draft, Added: instant, Fine: instant, Day: -1, Tags: []string{"a", "b"}, Bare: []string{"x"}},
		{Vec: []float32{2}, Added: instant.AddDate(-100, 0, 0), Fine: time.Unix(0, -1)},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := columnsRead(t, "a.parquet", b.Bytes(), "year", "small", "score", "half", "lang", "draft", "added", "fine", "day", "tags", "bare")
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, got, [][]Value{
		{{Kind: IntegerValue, Integer: 1999}, {Kind: IntegerValue, Integer: math.MaxUint32}, {Kind: FloatValue, Float: math.NaN()}, {Kind: SingleValue, Float: float64(float32(.1))}, {Kind: TextValue, Text: "go"}, {Kind: BoolValue, Integer: 1},
			{Kind: TimeValue, Integer: instant.UnixMicro()}, {Kind: TimeValue, Integer: instant.UnixMicro(), Finer: true}, {Kind: TimeValue, Integer: -86400 * 1e6}, {Kind: ListValue, Texts: []string{"a", "b"}}, {Kind: ListValue, Texts: []string{"x"}}},
		{{}, {Kind: IntegerValue}, {Kind: FloatValue}, {Kind: SingleValue}, {}, {},
			{Kind: TimeValue, Integer: instant.AddDate(-100, 0, 0).UnixMicro()}, {Kind: TimeValue, Integer: -1, Finer: true}, {Kind: TimeValue}, {}, {Kind: ListValue}},
	})
	for column, want := range map[string]string{"vec": `column "vec" is a list of FLOAT`, "none": `no column "none"; the file has added, bare, day`} {
		if _, err := columnsRead(t, "a.parquet", b.Bytes(), column); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", column, err, want)
		}
	}
}

func TestValuesOfArrow(t *testing.T) {
	text := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "year", Type: arrow.PrimitiveTypes.Int16, Nullable: true}, {Name: "big", Type: arrow.PrimitiveTypes.Uint64}, {Name: "score", Type: arrow.PrimitiveTypes.Float32},
		{Name: "lang", Type: text, Nullable: true}, {Name: "draft", Type: arrow.FixedWidthTypes.Boolean}, {Name: "added", Type: arrow.FixedWidthTypes.Timestamp_ms},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32}, {Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}, {Name: "bytes", Type: arrow.BinaryTypes.Binary},
	}, nil)
	make := func(big uint64) []byte {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer b.Release()
		b.Field(0).(*array.Int16Builder).AppendValues([]int16{-3, 0}, []bool{true, false})
		b.Field(1).(*array.Uint64Builder).AppendValues([]uint64{7, big}, nil)
		b.Field(2).(*array.Float32Builder).AppendValues([]float32{.1, float32(math.Inf(1))}, nil)
		if err := b.Field(3).(*array.BinaryDictionaryBuilder).AppendString("go"); err != nil {
			t.Fatal(err)
		}
		b.Field(3).AppendNull()
		b.Field(4).(*array.BooleanBuilder).AppendValues([]bool{false, true}, nil)
		b.Field(5).(*array.TimestampBuilder).AppendValues([]arrow.Timestamp{1500, -1}, nil)
		b.Field(6).(*array.Date32Builder).AppendValues([]arrow.Date32{1, 2}, nil)
		list := b.Field(7).(*array.ListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.StringBuilder).AppendValues([]string{"a", ""}, []bool{true, false})
		list.AppendNull()
		b.Field(8).(*array.BinaryBuilder).AppendValues([][]byte{{1}, {2}}, nil)
		rec := b.NewRecordBatch()
		defer rec.Release()
		var out bytes.Buffer
		w := ipc.NewWriter(&out, ipc.WithSchema(schema))
		if err := errors.Join(w.Write(rec), w.Close()); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	got, err := columnsRead(t, "a.arrows", make(8), "year", "big", "score", "lang", "draft", "added", "day", "tags")
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, got, [][]Value{
		{{Kind: IntegerValue, Integer: -3}, {Kind: IntegerValue, Integer: 7}, {Kind: SingleValue, Float: float64(float32(.1))}, {Kind: TextValue, Text: "go"}, {Kind: BoolValue}, {Kind: TimeValue, Integer: 1500000}, {Kind: TimeValue, Integer: 86400 * 1e6}, {Kind: ListValue, Texts: []string{"a"}}},
		{{}, {Kind: IntegerValue, Integer: 8}, {Kind: SingleValue, Float: math.Inf(1)}, {}, {Kind: BoolValue, Integer: 1}, {Kind: TimeValue, Integer: -1000}, {Kind: TimeValue, Integer: 2 * 86400 * 1e6}, {}},
	})
	if _, err := columnsRead(t, "a.arrows", make(math.MaxUint64), "big"); err == nil || !strings.Contains(err.Error(), `row 1 (0-based): column "big": 18446744073709551615 does not fit int64`) {
		t.Errorf("error %v", err)
	}
	if _, err := columnsRead(t, "a.arrows", make(8), "bytes"); err == nil || !strings.Contains(err.Error(), `column "bytes" is binary`) {
		t.Errorf("error %v", err)
	}
}

func TestValuesOfText(t *testing.T) {
	got, err := columnsRead(t, "a.csv", []byte("d0,year,lang\n1,1999, go\n2,,\"a,b\"\n"), "lang", "year")
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, got, [][]Value{{{Kind: TextValue, Text: "go"}, {Kind: TextValue, Text: "1999"}}, {{Kind: TextValue, Text: "a,b"}, {}}})
	got, err = columnsRead(t, "a.jsonl", []byte(`{"v":[1],"year":1999,"Year":3,"tags":["a",null,"b"]}
{"v":[1],"tags":null,"year":-2.5e0}
{"v":[1],"tags":[],"year":9223372036854775807}
{"v":[1],"year":true,"tags":"x"}
`), "tags", "year")
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, got, [][]Value{
		{{Kind: ListValue, Texts: []string{"a", "b"}}, {Kind: IntegerValue, Integer: 1999}}, {{}, {Kind: FloatValue, Float: -2.5}},
		{{Kind: ListValue}, {Kind: IntegerValue, Integer: math.MaxInt64}}, {{Kind: TextValue, Text: "x"}, {Kind: BoolValue, Integer: 1}},
	})
	for _, c := range []struct{ name, data, column, want string }{
		{"a.csv", "d0,year,year\n1,2,3\n", "year", `2 columns are called "year"`},
		{"a.csv", "d0,year\n1,2\n", "yeer", `no column "yeer"; the file has d0, year`},
		{"a.jsonl", "{\"year\":99999999999999999999}\n", "year", "does not fit int64"},
		{"a.jsonl", "{\"year\":1e999}\n", "year", "beyond the range of float64"},
		{"a.jsonl", "{\"year\":{}}\n", "year", "object, where a number, a text, true, false or a list of texts is wanted"},
		{"a.jsonl", "{\"year\":[1]}\n", "year", "number 1, where a text is wanted"},
		{"a.jsonl", "[1]\n", "year", "is not an object"},
	} {
		if _, err := columnsRead(t, c.name, []byte(c.data), c.column); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want %s", c.name, c.data, err, c.want)
		}
	}
}

func TestParseTime(t *testing.T) {
	for _, c := range []struct {
		text          string
		loose         bool
		want          int64
		exact, parsed bool
	}{
		{"1970-01-02", false, 86400e6, true, true},
		{"1970-01-01T00:00:00.000001Z", false, 1, true, true},
		{"1970-01-01T00:00:00.0000019Z", false, 1, false, true},
		{"1970-01-01T01:00:00+01:00", false, 0, true, true},
		{"1970-01-01T00:00:01", false, 0, false, false},
		{"1970-01-01T00:00:01", true, 1e6, true, true},
		{"1970-01-01 00:01", true, 60e6, true, true},
		{"May", true, 0, false, false},
	} {
		at, exact, ok := ParseTime(c.text, c.loose)
		if at != c.want || exact != c.exact || ok != c.parsed {
			t.Errorf("%s: %d %v %v", c.text, at, exact, ok)
		}
	}
}

// TestValuesUnheld: a value that no column holds is an error of its column and row, of whichever format.
func TestValuesUnheld(t *testing.T) {
	type row struct {
		Big   uint64 `parquet:"big"`
		Bytes []byte `parquet:"bytes"`
		Time  int64  `parquet:"time,timestamp(millisecond)"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	if _, err := w.Write([]row{{1, []byte("é"), 1}, {1 << 63, []byte("\xff"), math.MaxInt64}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, column string
		data         []byte
		want         string
	}{
		{"a.parquet", "big", b.Bytes(), "9223372036854775808 does not fit int64"},
		{"a.parquet", "bytes", b.Bytes(), `"\xff" is bytes that are not UTF-8`},
		{"a.parquet", "time", b.Bytes(), "is beyond the range of microseconds"},
		{"a.csv", "x", []byte("x,y\ntext,1\n\xe9t\xe9,1\n"), `"\xe9t\xe9" is bytes that are not UTF-8`},
	} {
		_, err := columnsRead(t, c.name, c.data, c.column)
		var at *Error
		var value *ValueError
		if !errors.As(err, &value) || value.Column != c.column || !errors.As(err, &at) || at.Row != 1 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, column %s: error %v, want %s of row 1", c.name, c.column, err, c.want)
		}
	}
}

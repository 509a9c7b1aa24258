package dataset

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"
)

func TestCheckIDs(t *testing.T) {
	for _, c := range []struct {
		ids  string
		want string // "" is none
	}{
		{"1,2,18446744073709551615", ""}, {"a,-1,0.5", ""}, {"1,x", ""}, {"007,1.5x", ""}, {"", ""},
		{"1,2.5,3", "f: row 1 (0-based): id 2.5 is a float"}, {"1e3,2", "row 0 (0-based): id 1e3 is a float"}, {"1.0", "row 0 (0-based): id 1.0"},
		{"a,\xe9", `row 1 (0-based): id "\xe9" is no UTF-8`}, {"1,\xff", "row 1 (0-based)"},
		{"4,-5,-6", "row 1 (0-based): id -5 is negative"}, {"-1", "row 0 (0-based): id -1"}, {"-1,1.5", "row 1 (0-based): id 1.5 is a float"},
	} {
		err := CheckIDs("f", IDsOf(strings.Split(c.ids, ",")))
		if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.ids, err, c.want)
		}
	}
}

// twoIDs is a row of a Parquet file whose second column a test renames.
type twoIDs struct {
	ID    int64     `parquet:"id"`
	Other int64     `parquet:"ie"`
	V     []float32 `parquet:"v,list"`
}

// TestColumnsOfIDsOfOneName: of two columns called id neither is taken.
func TestColumnsOfIDsOfOneName(t *testing.T) {
	var files [2]bytes.Buffer
	list := arrow.ListOf(arrow.PrimitiveTypes.Float32)
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: list}}, nil)
	build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer build.Release()
	for i := range 2 {
		build.Field(i).(*array.Int64Builder).Append(int64(1 + i))
	}
	vectors := build.Field(2).(*array.ListBuilder)
	vectors.Append(true)
	vectors.ValueBuilder().(*array.Float32Builder).AppendValues([]float32{1, 0}, nil)
	rows := build.NewRecordBatch()
	defer rows.Release()
	stream := ipc.NewWriter(&files[0], ipc.WithSchema(schema))
	table := parquet.NewGenericWriter[twoIDs](&files[1])
	_, err := table.Write([]twoIDs{{1, 2, []float32{1, 0}}})
	if err := errors.Join(err, stream.Write(rows), stream.Close(), table.Close()); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a.arrow": files[0].String(), "a.parquet": strings.ReplaceAll(files[1].String(), "\x02ie", "\x02id"), "a.csv": "id,id,d0,d1\n1,2,1,0\n",
		"a.jsonl": `{"id":1,"id":2,"v":[1,0]}`,
	} {
		_, err := ReadAll(context.Background(), writeTemp(t, name, text), &Options{FindIDs: true})
		if err == nil || !strings.Contains(err.Error(), `2 columns are called "id"`) && !strings.Contains(err.Error(), `field "id" appears twice`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIDsOfColumnsAreChecked: in every format that has columns.
func TestIDsOfColumnsAreChecked(t *testing.T) {
	for name, text := range map[string]string{
		"a.csv":   "key,d0,d1\n1.5,1,2\n2.5,3,4\n",
		"b.csv":   "key,d0,d1\n3,1,2\n-2,3,4\n",
		"c.jsonl": `{"key":3,"v":[1,2]}` + "\n" + `{"key":-2,"v":[3,4]}` + "\n",
	} {
		_, err := ReadAll(context.Background(), writeTemp(t, name, text), &Options{IDs: "key"})
		if err == nil || !strings.Contains(err.Error(), "ids are integers from 0 on, or texts") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckUnique: both rows of an id are named, and an empty id is none.
func TestCheckUnique(t *testing.T) {
	for _, c := range []struct{ ids, want string }{
		{"1,2,3,a", ""},
		{"a", ""},
		{"1,2,1", `f: row 2 (0-based): has the id "1", which row 0 has already`},
		{"a,b,c,d,b", `f: row 4 (0-based): has the id "b", which row 1 has already`},
		{"a,,c", "f: row 1 (0-based): id is empty"},
	} {
		err := CheckUnique("f", IDsOf(strings.Split(c.ids, ",")))
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.ids, err, c.want)
		}
	}
	many := make([]string, 1000)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	if err := CheckUnique("f", IDsOf(many)); err != nil {
		t.Error(err)
	}
	many[999] = "500"
	if err := CheckUnique("f", IDsOf(many)); err == nil || !strings.Contains(err.Error(), "row 500 has already") {
		t.Error(err)
	}
}

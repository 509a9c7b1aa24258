package dataset

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"
)

// limited is a query with limits, either of which may be null.
type limited struct {
	K      *int32    `parquet:"k,optional"`
	Vector []float32 `parquet:"vector,list"`
	Floor  *float64  `parquet:"floor,optional"`
	Text   string    `parquet:"text"`
	Day    int32     `parquet:"day,date"`
	Half   int64     `parquet:"half"`
}

func parquetNumbers(t testing.TB, rows ...limited) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[limited](&b)
	for i := range rows { // two rows a group
		if i%2 == 0 && i > 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Write(rows[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// arrowNumbers writes columns k (uint16) and floor (float32), a row a record batch.
func arrowNumbers(t testing.TB, rows ...limited) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "floor", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
		{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "k", Type: arrow.PrimitiveTypes.Uint16, Nullable: true},
	}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	for _, row := range rows {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		if floor := b.Field(0).(*array.Float32Builder); row.Floor == nil {
			floor.AppendNull()
		} else {
			floor.Append(float32(*row.Floor))
		}
		b.Field(1).(*array.StringBuilder).Append(row.Text)
		if k := b.Field(2).(*array.Uint16Builder); row.K == nil {
			k.AppendNull()
		} else {
			k.Append(uint16(*row.K))
		}
		rec := b.NewRecordBatch()
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
		b.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func drainNumbers(r NumberReader) (all [][]float64, err error) {
	for {
		row, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, slices.Clone(row))
	}
}

func readNumbers(path string, columns ...string) ([][]float64, error) {
	r, err := OpenNumbers(path, nil, columns...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return drainNumbers(r)
}

func TestNumbers(t *testing.T) {
	seven, floor, ceiling := int32(7), .25, -1.5
	rows := []limited{{K: &seven, Floor: &floor, Vector: []float32{1}}, {Vector: []float32{2}, Floor: &ceiling}, {K: &seven, Vector: []float32{3}}}
	null := math.NaN()
	want := [][]float64{{.25, 7}, {-1.5, null}, {null, 7}}
	csv := "k,floor,x,y\n7,.25,1,2\n,-1.5,1,2\n7, ,1,2\n"
	for path, want := range map[string][][]float64{
		writeTemp(t, "a.parquet", string(parquetNumbers(t, rows...))): want,
		writeTemp(t, "a.arrows", string(arrowNumbers(t, rows...))):    want,
		writeTemp(t, "a.csv", csv):                                    want,
		writeTemp(t, "a.csv.gz", string(gzipped([]byte(csv)))):        want,
		writeTemp(t, "a.jsonl", `{"k":7,"v":[1],"floor":0.25}`+"\n"+`{"floor":-15e-1,"k":null}`+"\n"+`{"k":7.0,"floor":null,"x":{}}`): want,
		writeTemp(t, "a.npz", string(npzOf(t, map[string][]byte{
			"k": npyOf("<u2", "False", "(2,)", []byte{7, 0, 9, 1}), "floor": npyOf(">f8", "False", "(2,)", []byte{0x3f, 0xd0, 0, 0, 0, 0, 0, 0, 0xbf, 0xf8, 0, 0, 0, 0, 0, 0}),
		}))): {{.25, 7}, {-1.5, 265}},
		writeTemp(t, "b.npz", string(npzOf(t, map[string][]byte{
			"k": npyOf("<i8", "False", "(2,)", le64(math.MaxUint64, 1<<40)), "floor": npyOf("<f4", "False", "(2,)", floats(.25, -1.5)),
		}))): {{.25, -1}, {-1.5, 1 << 40}},
	} {
		got, err := readNumbers(path, "floor", "k")
		if d := cmp.Diff(want, got, cmpopts.EquateNaNs()); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", filepath.Base(path), err, d)
		}
	}
}

func TestMalformedNumbers(t *testing.T) {
	infinite := math.Inf(1)
	for _, c := range []struct {
		file, data string
		columns    []string
		row        int64
		want       string
	}{
		{"a.csv", "k,x\n7,1\n7,1\nseven,1\n", []string{"k"}, 2, `column "k": "seven" is no number`},
		{"a.csv", "k,x\n7,1\nNaN,1\n", []string{"k"}, 1, `column "k": value is NaN`},
		{"a.csv", "k,x\n-inf,1\n", []string{"k"}, 0, `column "k": value is -Inf`},
		{"a.csv", "k,x\n1e999,1\n", []string{"k"}, 0, "beyond the range of float64"},
		{"a.csv", "k,x\n7,1\n7\n", []string{"k"}, 1, "1 fields, the header has 2"},
		{"a.csv", "k,x\n7,1\n", []string{"floor"}, -1, `no column "floor"; the file has k, x`},
		{"a.csv", "7,1\n", []string{"k"}, -1, "no header that names columns"},
		{"a.csv", "k,x\n", []string{"k"}, -1, "nothing below it"},
		{"a.jsonl", `{"k":7}` + "\n" + `{"v":[1]}`, []string{"k"}, 1, `no field "k"`},
		{"a.jsonl", `{"k":7,"k":7}`, []string{"k"}, 0, `"k" appears twice`},
		{"a.jsonl", `{"k":"7"}`, []string{"k"}, 0, `column "k"`},
		{"a.jsonl", `{"k":NaN}`, []string{"k"}, 0, `column "k"`},
		{"a.jsonl", `{"k":1e999}`, []string{"k"}, 0, "beyond the range of float64"},
		{"a.jsonl", `{"k":7}]`, []string{"k"}, 0, "end of the line"},
		{"a.jsonl", "[1,2]", []string{"k"}, 0, "line is not an object"},
		{"a.npz", string(npzOf(t, map[string][]byte{"k": npyOf("<f4", "False", "(2,)", floats(1, float32(math.NaN())))})), []string{"k"}, 1, "value is NaN"},
		{"a.npz", string(npzOf(t, map[string][]byte{"k": npyOf("<f4", "False", "(2,)", floats(1))})), []string{"k"}, 1, "truncated"},
		{"a.npz", string(npzOf(t, map[string][]byte{"k": npyOf("<f4", "False", "(1,)", floats(1, 2))})), []string{"k"}, -1, "data goes on after the 1 rows"},
		{"a.npz", string(npzOf(t, map[string][]byte{"k": npyOf("<f4", "False", "(1, 1)", floats(1))})), []string{"k"}, -1, "shape [1 1], one number a row is wanted"},
		{"a.npz", string(npzOf(t, map[string][]byte{"k": npyOf("|b1", "False", "(1,)", []byte{1})})), []string{"k"}, -1, "dtype"},
		{"a.npz", string(npzOf(t, map[string][]byte{"k": npyOf("<f4", "False", "(1,)", floats(1)), "l": npyOf("<f4", "False", "(2,)", floats(1, 2))})), []string{"k", "l"}, -1, "2 rows where k has 1"},
		{"a.npz", string(npzOf(t, map[string][]byte{"l": npyOf("<f4", "False", "(1,)", floats(1))})), []string{"k"}, -1, `no array "k"; the file holds l`},
		{"a.parquet", string(parquetNumbers(t, limited{}, limited{Floor: &infinite})), []string{"floor"}, 1, `column "floor": value is +Inf`},
		{"a.parquet", string(parquetNumbers(t, limited{})), []string{"text"}, -1, "not a column of numbers"},
		{"a.parquet", string(parquetNumbers(t, limited{})), []string{"day"}, -1, "not a column of numbers"},
		{"a.parquet", string(parquetNumbers(t, limited{})), []string{"vector"}, -1, `no column "vector" of single values`},
		{"a.arrows", string(arrowNumbers(t, limited{}, limited{Floor: &infinite})), []string{"floor"}, 1, `column "floor": value is +Inf`},
		{"a.arrows", string(arrowNumbers(t, limited{})), []string{"text"}, -1, "not a column of numbers"},
		{"a.arrows", string(arrowNumbers(t, limited{})), []string{"none"}, -1, "the file has floor, k, text"},
		{"a.npy", string(npyOf("<f4", "False", "(1, 1)", floats(1))), []string{"k"}, -1, `column "k": format npy has no columns; formats that have: npz, csv, parquet, arrow file, arrow stream, jsonl`},
		{"a.fvecs", string(join(le32(1), floats(1))), []string{"k", "floor"}, -1, `column "k", "floor": format fvecs has no columns`},
	} {
		path := writeTemp(t, c.file, c.data)
		_, err := readNumbers(path, c.columns...)
		t.Run(c.want, func(t *testing.T) { checkError(t, nil, err, path, c.row, -1, c.want) })
	}
}

// TestExceptedColumns: columns of other use are not taken for vectors.
func TestExceptedColumns(t *testing.T) {
	for _, c := range []struct {
		file, data string
		except     []string
	}{
		{"a.csv", "k,x,floor,y\n7,1,.5,2\n8,3,.5,4\n", []string{"k", "floor"}},
		{"a.npz", string(npzOf(t, map[string][]byte{"floor": npyOf("<f4", "False", "(2,)", floats(1, 2)), "k": npyOf("<f4", "False", "(2,)", floats(9, 9))})), []string{"k"}},
	} {
		m, err := ReadAll(t.Context(), writeTemp(t, c.file, c.data), &Options{Except: c.except, OneRow: true})
		if err != nil || m.Dim != 2 || m.Data[0] != 1 || m.Data[1] != 2 {
			t.Errorf("%s: %+v, %v", c.file, m, err)
		}
	}
}

// TestNumbersRoundTrip: numbers that a program prints are read back exactly.
func TestNumbersRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOfN(rapid.SliceOfN(rapid.Float64(), 2, 2), 1, 6).Draw(rt, "rows")
		csv, jsonl := []byte("x,a,b\n"), []byte{}
		for _, row := range want {
			csv = fmt.Appendf(csv, "0,%v,%v\n", row[0], row[1])
			jsonl = fmt.Appendf(jsonl, `{"b":%v,"a":%v}`+"\n", row[1], row[0])
		}
		for name, data := range map[string][]byte{"a.csv": csv, "a.jsonl": jsonl} {
			format, _ := FormatOf(name)
			r, err := openNumbersAs(memorySource(name, data), format, []string{"a", "b"})
			if err != nil {
				rt.Fatal(err)
			}
			got, err := drainNumbers(r)
			if err != nil || !slices.EqualFunc(want, got, slices.Equal[[]float64]) {
				rt.Fatalf("%s: %v (%v), want %v", name, got, err, want)
			}
		}
	})
}

func fuzzNumbers(f *testing.F, format Format, columns ...string) {
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		before := allocated()
		defer func() {
			if used := allocated() - before; used > fuzzMemory(len(data)) {
				t.Fatalf("%d bytes of memory for %d bytes of input", used, len(data))
			}
		}()
		src := memorySource("fuzz", bytes.Clone(data))
		src.limit(fuzzBudget())
		r, err := openNumbersAs(src, format, columns)
		if err != nil {
			checkFuzzError(t, located("fuzz", -1, err))
			return
		}
		defer r.Close()
		for range 10_000 {
			row, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				checkFuzzError(t, err)
				return
			}
			if len(row) != len(columns) || slices.ContainsFunc(row, func(v float64) bool { return math.IsInf(v, 0) }) {
				t.Fatalf("row %v", row)
			}
		}
	})
}

func FuzzNumbersCSV(f *testing.F) {
	f.Add([]byte("k,floor,x,y\n7,.25,1,2\n,-1.5,1,2\n"))
	fuzzNumbers(f, CSV, "k", "floor")
}

func FuzzNumbersJSONL(f *testing.F) {
	f.Add([]byte(`{"k":7,"v":[1],"floor":0.25}` + "\n" + `{"floor":-15e-1,"k":null}`))
	fuzzNumbers(f, JSONL, "k", "floor")
}

func FuzzNumbersParquet(f *testing.F) {
	floor := .5
	f.Add(parquetNumbers(f, limited{Floor: &floor}, limited{}, limited{}))
	fuzzNumbers(f, Parquet, "k", "floor")
}

func FuzzNumbersArrow(f *testing.F) {
	floor := .5
	f.Add(arrowNumbers(f, limited{Floor: &floor}, limited{}))
	fuzzNumbers(f, ArrowStream, "k", "floor")
}

func FuzzNumbersNPZ(f *testing.F) {
	addFixtures(f, ".npz")
	fuzzNumbers(f, NPZ, "exact", "pulls")
}

// TestNumbersThatFloatsRound: an integer that float64 cannot hold is an error in every format, and its
// neighbour is read.
func TestNumbersThatFloatsRound(t *testing.T) {
	for _, c := range []struct {
		digits string
		ok     bool
	}{{"9007199254740993", false}, {"9007199254740994", true}, {"-9007199254740993", false}, {"-9007199254740992", true}} {
		for name, text := range map[string]string{"a.csv": "d0,least\n1," + c.digits + "\n", "a.jsonl": `{"v":[1],"least":` + c.digits + "}\n"} {
			r, err := OpenNumbers(writeTemp(t, name, text), nil, "least")
			if err != nil {
				t.Fatal(err)
			}
			row, err := r.Next()
			if (err == nil) != c.ok || err == nil && fmt.Sprintf("%.0f", row[0]) != c.digits {
				t.Errorf("%s of %s: %v, %v", c.digits, name, row, err)
			}
			if err != nil && !strings.Contains(err.Error(), "is beyond 2^53 and no float64") {
				t.Error(err)
			}
			r.Close()
		}
	}
	for _, x := range []int64{1<<53 + 1, -(1<<53 + 1)} {
		if v, err := signedNumber(x); err == nil {
			t.Errorf("%d is read as %v", x, v)
		}
	}
	if v, err := signedNumber(math.MinInt64); err != nil || v != -1<<63 {
		t.Error(v, err)
	}
}

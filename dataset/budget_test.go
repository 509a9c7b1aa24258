package dataset

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

func TestBudgetOf(t *testing.T) {
	for _, c := range []struct {
		bytes int64
		want  Budget
	}{
		{0, Budget{Word: "w"}},
		{1, Budget{Columns: 65536, Row: 4 << 20, Block: 16 << 20, IDBytes: 1024, IDs: 16 << 20, Flight: 16 << 20, Word: "w"}},
		{1 << 30, Budget{Columns: 1 << 20, Row: 64 << 20, Block: 1 << 30, IDBytes: 16 << 10, IDs: 1 << 30, Flight: 16 << 20, Word: "w"}},
		{1 << 40, Budget{Columns: 1 << 22, Row: 64 << 30, Block: 1 << 40, IDBytes: 16 << 20, IDs: 1 << 40, Flight: 16 << 20, Word: "w"}},
	} {
		if d := cmp.Diff(&c.want, BudgetOf(c.bytes, "w")); d != "" {
			t.Errorf("%d bytes (-want +got):\n%s", c.bytes, d)
		}
	}
	if small, large := (*Budget)(nil).of(-1), (&Budget{Row: 7}).of(1<<40); small.Block != 4<<30 || large.Block != 16<<40 || large.IDs != 16<<40 || large.Row != 7 || large.Columns != small.Columns {
		t.Errorf("defaults %+v, of a large file %+v", small, large)
	}
}

// vectorOf is a row of a Parquet file whose values are not null.
type vectorOf struct {
	ID    string    `parquet:"id,dict"`
	Plain string    `parquet:"plain"`
	Vec   []float32 `parquet:"vec,list"`
}

// parquetWith returns rows of dim zeros with equal ids of so many bytes, of 0 with numbers.
func parquetWith(t *testing.T, rows, dim, id int, codec compress.Codec) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[vectorOf](&b, parquet.Compression(codec))
	for i := range rows {
		text := strings.Repeat("x", id)
		if id == 0 {
			text = fmt.Sprintf("%08d", i)
		}
		if _, err := w.Write([]vectorOf{{text, text, make([]float32, dim)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// arrowWith returns batches of rows of dim zeros with an id each, a text or a dictionary of one.
func arrowWith(t *testing.T, batches, rows, dim int, id string, dictionary bool, opts ...ipc.Option) []byte {
	t.Helper()
	var ids arrow.DataType = arrow.BinaryTypes.String
	if dictionary {
		ids = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: ids}
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: ids}, {Name: "vec", Type: arrow.FixedSizeListOf(int32(dim), arrow.PrimitiveTypes.Float32)}}, nil)
	var b bytes.Buffer
	w := ipc.NewWriter(&b, append(opts, ipc.WithSchema(schema))...)
	build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for range batches {
		for range rows {
			switch f := build.Field(0).(type) {
			case *array.StringBuilder:
				f.Append(id)
			case *array.BinaryDictionaryBuilder:
				if err := f.AppendString(id); err != nil {
					t.Fatal(err)
				}
			}
			list := build.Field(1).(*array.FixedSizeListBuilder)
			list.Append(true)
			list.ValueBuilder().(*array.Float32Builder).AppendValues(make([]float32, dim), nil)
		}
		if err := w.Write(build.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// deflatedNPZ returns an npz whose arrays are compressed.
func deflatedNPZ(t *testing.T, arrays map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for name, data := range arrays {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Deflate})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// columnsOf joins d0, d1, .. or as many equal texts.
func columnsOf(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		if all[i] = format; strings.Contains(format, "%d") {
			all[i] = fmt.Sprintf(format, i)
		}
	}
	return strings.Join(all, ",")
}

// checkLimit checks that an error is that of the limit, says what sets it, and where it is.
func checkLimit(t *testing.T, err error, row, limit int64, want string) {
	t.Helper()
	var e *Error
	var l *LimitError
	if !errors.As(err, &e) || !errors.As(err, &l) {
		t.Fatalf("%v is no error of a limit", err)
	}
	if e.Row != row || l.Limit != limit || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--word sets the limit") {
		t.Errorf("row %d (want %d), limit %d (want %d), or no %q: %v", e.Row, row, l.Limit, limit, want, err)
	}
}

// TestBudgets: every reader refuses what exceeds its budget, with a position, the limit and what sets it; and reads
// the same file with the default.
func TestBudgets(t *testing.T) {
	const hundred = 100
	nine := npyOf("<f4", "False", "(1, 9)", make([]byte, 36))
	codecs := map[string]compress.Codec{"none": &parquet.Uncompressed, "snappy": &parquet.Snappy, "gzip": &parquet.Gzip, "zstd": &parquet.Zstd}
	named := &Options{IDs: "id"}
	type budgeted struct {
		test, file string
		data       []byte
		opt        *Options
		budget     Budget
		row, limit int64
		want       string
	}
	cases := []budgeted{
		{"npy", "a.npy", nine, nil, Budget{Columns: 8}, -1, 8, "9 columns exceed the limit of 8"},
		{"npy in gzip", "a.npy.gz", gzipped(nine), nil, Budget{Columns: 8}, -1, 8, "9 columns exceed"},
		{"npz deflated", "a.npz", deflatedNPZ(t, map[string][]byte{"a": nine}), nil, Budget{Columns: 8}, -1, 8, "9 columns exceed"},
		{"npz names", "a.npz", deflatedNPZ(t, map[string][]byte{"a": nine, "ids": npyOf("<U9", "False", "(1,)", make([]byte, 36))}), &Options{IDs: "ids"}, Budget{IDBytes: 8}, -1, 8, "ids of 9 characters"},
		{"npz directory", "a.npz", deflatedNPZ(t, map[string][]byte{"a": nine}), nil, Budget{Block: 16 * hundred}, -1, hundred, "directory of the zip"},
		{"fvecs", "a.fvecs", join(le32(9), make([]byte, 36)), nil, Budget{Columns: 8}, -1, 8, "9 columns exceed"},
		{"fvecs in gzip", "a.fvecs.gz", gzipped(join(le32(9), make([]byte, 36))), nil, Budget{Columns: 8}, -1, 8, "9 columns exceed"},
		{"fbin", "a.fbin", join(le32(1, 9), make([]byte, 36)), nil, Budget{Columns: 8}, -1, 8, "9 columns exceed"},
		{"safetensors header", "a.safetensors", tensorBytes(`{"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}`, make([]byte, 4)), nil, Budget{Block: 16 * 50}, -1, 50, "safetensors header of 56 bytes"},
		{"safetensors tensors", "a.safetensors", tensorBytes(`{"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},"b":{"dtype":"I64","shape":[0],"data_offsets":[0,0]}}`, make([]byte, 4)), nil, Budget{Columns: 1}, -1, 1, "2 columns exceed"},
		{"safetensors columns", "a.safetensors", tensorBytes(`{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, make([]byte, 8)), nil, Budget{Columns: 1}, -1, 1, "2 columns exceed"},

		{"jsonl line", "a.jsonl", []byte("[1,2]\n[1," + strings.Repeat(" ", hundred) + "2]\n"), nil, Budget{Row: hundred}, 1, hundred, "line 2 is longer than 100 bytes"},
		{"jsonl long line", "a.jsonl.gz", gzipped([]byte("[1,2]\n[1," + strings.Repeat(" ", 2*streamBuffer) + "2]\n")), nil, Budget{Row: streamBuffer + hundred}, 1, streamBuffer + hundred, "line 2 is longer"},
		{"jsonl vector", "a.jsonl", []byte("[1,2,3,4,5,6,7,8,9]"), nil, Budget{Columns: 8}, 0, 8, "a row has more than 8 columns"},
		{"jsonl vector of a field", "a.jsonl", []byte(`{"v":[1,2,3,4,5,6,7,8,9]}`), &Options{Column: "v"}, Budget{Columns: 8}, 0, 8, "a row has more than 8 columns"},
		{"jsonl fields", "a.jsonl", []byte("{" + columnsOf(8, `"f%d":0`) + `,"v":[1]}`), nil, Budget{Columns: 8}, 0, 8, "more than 8 fields"},
		{"jsonl id", "a.jsonl", []byte(`{"v":[1],"id":"aaaaaaaa"}` + "\n" + `{"v":[1],"id":"aaaaaaaaa"}`), named, Budget{IDBytes: 8}, 1, 8, "id of 9 bytes, at most 8"},
		{"jsonl ids", "a.jsonl", []byte(strings.Repeat(`{"v":[1],"id":"aaaa"}`+"\n", 6)), named, Budget{IDs: hundred}, 5, hundred, "ids take more than"},

		{"csv line", "a.csv", []byte("1,2\n1,2" + strings.Repeat(" ", hundred) + "\n"), &Options{Header: HeaderNo}, Budget{Row: hundred}, 1, hundred, "longer than 100 bytes"},
		{"csv line in gzip", "a.csv.gz", gzipped([]byte("1,2\n1,2" + strings.Repeat(" ", hundred) + "\n")), &Options{Header: HeaderNo}, Budget{Row: hundred}, 1, hundred, "longer than 100 bytes"},
		{"csv quoted field", "a.csv", []byte("x,y\n1,2\n1,\"" + strings.Repeat("\n", hundred) + "2\"\n"), nil, Budget{Row: hundred}, 1, hundred, "longer than 100 bytes"},
		{"csv columns", "a.csv", []byte(columnsOf(9, "5")), nil, Budget{Columns: 8}, 0, 8, "more than 8 columns"},
		{"csv semicolons", "a.csv", []byte(strings.ReplaceAll(columnsOf(9, "5"), ",", ";")), nil, Budget{Columns: 8}, 0, 8, "more than 8 columns"},
		{"csv header", "a.csv", []byte(columnsOf(9, "d%d") + "\n" + columnsOf(9, "5")), nil, Budget{Columns: 8}, 0, 8, "more than 8 columns"},
		{"csv array", "a.csv", []byte("id,v\n1,\"[" + columnsOf(9, "5") + "]\"\n"), nil, Budget{Columns: 8}, 0, 8, "more than 8 columns"},
		{"csv id", "a.csv", []byte("id,x\naaaaaaaaa,1\n"), named, Budget{IDBytes: 8}, 0, 8, "id of 9 bytes, at most 8"},

		{"parquet footer", "a.parquet", parquetWith(t, 1, 1, 1, &parquet.Snappy), nil, Budget{Block: 200}, -1, 200, "the footer takes"},
		{"parquet footer decoded", "a.parquet", parquetWith(t, 1, 1, 1, &parquet.Snappy), nil, Budget{Block: 4000}, -1, 4000, "footer: decoding it takes"},
		{"parquet schema", "a.parquet", parquetWith(t, 1, 1, 1, &parquet.Snappy), nil, Budget{Columns: 2}, -1, 2, "3 columns exceed"},
		{"parquet vector", "a.parquet", parquetWith(t, 1, 9, 1, &parquet.Snappy), nil, Budget{Columns: 8}, 0, 8, "more than 8 columns"},
		{"parquet id", "a.parquet", parquetWith(t, 1, 1, 9, &parquet.Snappy), named, Budget{IDBytes: 8}, 0, 8, "id of 9 bytes, at most 8"},
		{"parquet dictionary", "a.parquet", parquetWith(t, 2000, 1, 0, &parquet.Zstd), named, Budget{Block: 20 << 10}, 0, 20 << 10, "dictionary of"},

		{"arrow metadata", "a.arrows", arrowWith(t, 1, 1, 1, "a", false), nil, Budget{Block: 16 * hundred}, -1, hundred, "message metadata of"},
		{"arrow schema", "a.arrows", arrowWith(t, 1, 1, 1, "a", false), nil, Budget{Columns: 1}, -1, 1, "columns exceed the limit"},
		{"arrow vector", "a.arrows", arrowWith(t, 1, 1, 9, "a", false), nil, Budget{Columns: 8}, 0, 8, "9 columns exceed"},
		{"arrow body", "a.arrows", arrowWith(t, 1, 1<<12, 8, "a", false), nil, Budget{Block: 64 << 10}, 0, 64 << 10, "message body of"},
		{"arrow body in gzip", "a.arrows.gz", gzipped(arrowWith(t, 1, 1<<12, 8, "a", false)), nil, Budget{Block: 64 << 10}, 0, 64 << 10, "message body of"},
		{"arrow lz4", "a.arrows", arrowWith(t, 1, 1<<12, 8, "a", false, ipc.WithLZ4()), nil, Budget{Block: 64 << 10}, 0, 64 << 10, "compressed buffers of"},
		{"arrow zstd", "a.arrows", arrowWith(t, 1, 1<<12, 8, "a", false, ipc.WithZstd()), nil, Budget{Block: 64 << 10}, 0, 64 << 10, "compressed buffers of"},
		{"arrow dictionary", "a.arrows", arrowWith(t, 1, 1, 1, strings.Repeat("a", 64<<10), true, ipc.WithZstd()), named, Budget{Block: 48 << 10}, 0, 48 << 10, "compressed buffers of"},
		{"arrow id", "a.arrows", arrowWith(t, 2, 1, 1, "aaaaaaaaa", false), named, Budget{IDBytes: 8}, 0, 8, "id of 9 bytes, at most 8"},
		{"arrow id of a dictionary", "a.arrows", arrowWith(t, 2, 1, 1, "aaaaaaaaa", true), named, Budget{IDBytes: 8}, 0, 8, "id of 9 bytes, at most 8"},
		{"arrow ids", "a.arrows", arrowWith(t, 2, 4, 1, "aaaa", true), named, Budget{IDs: hundred}, 5, hundred, "ids take more than"},
	}
	for name, codec := range codecs {
		cases = append(cases, budgeted{"parquet page, " + name, "a.parquet", parquetWith(t, 1<<12, 8, 1, codec), nil, Budget{Block: 64 << 10}, 0, 64 << 10, "page of"})
	}
	for _, c := range cases {
		t.Run(c.test, func(t *testing.T) {
			if _, _, err := readBytes(t, c.file, c.data, c.opt); err != nil {
				t.Fatalf("by default: %v", err)
			}
			opt := Options{}
			if c.opt != nil {
				opt = *c.opt
			}
			c.budget.Word = "--word"
			opt.Budget = &c.budget
			_, _, err := readBytes(t, c.file, c.data, &opt)
			checkLimit(t, err, c.row, c.limit, c.want)
		})
	}
}

// TestListBudgets: lists of ids, numbers and answers have budgets too.
func TestListBudgets(t *testing.T) {
	many := columnsOf(40, "1")
	lists := func(path string, b *Budget) error {
		r, err := OpenLists(path, &ListOptions{Budget: b, Zeros: ZerosKeep})
		if err != nil {
			return err
		}
		defer r.Close()
		for err == nil {
			_, err = r.Next()
		}
		return err
	}
	numbers := func(path string, b *Budget) error {
		r, err := OpenNumbers(path, b, "k")
		if err != nil {
			return err
		}
		defer r.Close()
		for err == nil {
			_, err = r.Next()
		}
		return err
	}
	results := func(path string, b *Budget) error {
		r, err := OpenResults(path, b)
		if err != nil {
			return err
		}
		defer r.Close()
		for err == nil {
			_, err = r.Next()
		}
		return err
	}
	hit := `{"id":7,"score":1}`
	ids := make([]uint64, 40)
	for _, c := range []struct {
		test, file string
		text       string
		read       func(string, *Budget) error
		budget     Budget
		row        int64
		want       string
	}{
		{"lists jsonl", "a.jsonl", "[1]\n[" + many + "]\n", lists, Budget{Row: 64}, 1, "line 2 is longer than 64 bytes"},
		{"lists ivecs", "a.ivecs", string(join(le32(1, 5), le32(40), make([]byte, 160))), lists, Budget{Row: 64}, 1, "the list takes 160 bytes"},
		{"lists npz", "a.npz", string(npzOf(t, map[string][]byte{"indptr": npyOf("<i8", "False", "(2,)", le64(0, 40)), "indices": npyOf("<i8", "False", "(40,)", le64(ids...))})), lists, Budget{Row: 64}, 0, "takes 320 bytes"},
		{"numbers jsonl", "a.jsonl", `{"k":1}` + "\n" + `{"k":1,"x":[` + many + "]}\n", numbers, Budget{Row: 64}, 1, "line 2 is longer"},
		{"numbers csv", "a.csv", "k,x\n1,2\n1," + strings.Repeat("2", 64) + "\n", numbers, Budget{Row: 64}, 1, "longer than 64 bytes"},
		{"results jsonl", "a.jsonl", `{"query":0,"ids":[1]}` + "\n" + `{"query":1,"ids":[` + many + "]}\n", results, Budget{Row: 64}, 1, "line 2 is longer"},
		{"results npy", "a.npy", string(npyOf("<i8", "False", "(1, 40)", le64(ids...))), results, Budget{Row: 64}, -1, "takes 320 bytes"},
		{"results table", "a.csv", "query,id,score\n" + strings.Repeat("0,1,1\n", 9), results, Budget{Block: 512}, 8, "the vectors of one query take more than 512 bytes"},
		{"results hits", "a.json", "[[" + hit + "],[" + strings.Join(slices.Repeat([]string{hit}, 9), ",") + "]]", results, Budget{Block: 512}, 1, "the vectors of one query take more than 512 bytes"},
		{"results parquet", "a.parquet", string(parquetAnswer(t, Result{Rows: make([]int64, 40)})), results, Budget{Row: 64}, 0, "column ids.list.element takes"},
	} {
		t.Run(c.test, func(t *testing.T) {
			path := writeTemp(t, c.file, c.text)
			if err := c.read(path, nil); err != io.EOF {
				t.Fatalf("by default: %v", err)
			}
			c.budget.Word = "--word"
			limit := max(c.budget.Row, c.budget.Block)
			checkLimit(t, c.read(path, &c.budget), c.row, limit, c.want)
		})
	}
}

// TestFlight: once the ids of a Read take enough memory it returns; all rows come all the same.
func TestFlight(t *testing.T) {
	var csv, lines strings.Builder
	csv.WriteString("id,x\n")
	var wide []byte
	for i := range 20 {
		fmt.Fprintf(&csv, "name%02d,%d\n", i, i)
		fmt.Fprintf(&lines, `{"id":"name%02d","v":[%d]}`+"\n", i, i)
		for _, c := range fmt.Sprintf("name%02d", i) {
			wide = append(wide, le32(uint32(c))...)
		}
	}
	matrix := npyOf("<f4", "False", "(20, 1)", make([]byte, 80))
	for file, data := range map[string][]byte{
		"a.csv": []byte(csv.String()), "a.jsonl": []byte(lines.String()),
		"a.parquet": parquetWith(t, 20, 1, 6, &parquet.Snappy), "a.arrows": arrowWith(t, 2, 10, 1, "name00", false),
		"a.npz": npzOf(t, map[string][]byte{"v": matrix, "id": npyOf("<U6", "False", "(20,)", wide)}),
	} {
		path := writeTemp(t, file, string(data))
		for _, centre := range []bool{false, true} {
			r, err := Open(path, &Options{IDs: "id", Centre: centre, Budget: &Budget{Flight: 60}})
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			dst := make([]float32, 100)
			rows := 0
			for err == nil {
				var n int
				if n, err = r.Read(dst); n > 4 || n == 0 && err == nil || len(r.IDs()) != n {
					t.Fatalf("%s: %d rows at once with %d ids, %v; want at most 4", file, n, len(r.IDs()), err)
				}
				rows += n
			}
			if err != io.EOF || rows != 20 {
				t.Errorf("%s: %d rows, %v", file, rows, err)
			}
			r.Close()
		}
	}
}

// TestDictionariesHeld: dictionaries are held together, those that are replaced are not.
func TestDictionariesHeld(t *testing.T) {
	m := &arrowMessages{budget: (&Budget{Block: 100}).of(-1), dictionaries: map[int64]int64{}}
	m.hold(&arrowInfo{kind: arrowDictionary, id: 1}, 30)
	m.hold(&arrowInfo{kind: arrowDictionary, id: 2}, 20)
	m.hold(&arrowInfo{kind: arrowDictionary, id: 2, delta: true}, 5)
	for _, c := range []struct {
		info arrowInfo
		want int64
	}{
		{arrowInfo{kind: arrowRecords}, 45}, {arrowInfo{kind: arrowDictionary, id: 1}, 75},
		{arrowInfo{kind: arrowDictionary, id: 2, delta: true}, 45}, {arrowInfo{kind: arrowDictionary, id: 3}, 45},
	} {
		if got := m.left(&c.info); got != c.want {
			t.Errorf("%+v: %d bytes are left, want %d", c.info, got, c.want)
		}
	}
}

// TestGunzip: a page that goes on after the announced size is refused before more of it is decompressed.
func TestGunzip(t *testing.T) {
	b := gzipped(make([]byte, 1000))
	for size, want := range map[int]string{1000: "", 999: "more than 999 bytes", 1001: ""} {
		got, err := gunzip(make([]byte, size), b)
		if want == "" && (err != nil || len(got) != 1000) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("into %d: %d bytes, %v", size, len(got), err)
		}
	}
	if _, err := gunzip(make([]byte, 9), b[:15]); err == nil {
		t.Error("a header that is cut short is accepted")
	}
}

// TestRecordGuard: the guard passes on what it accepts, in pieces of any size, and counts fields and bytes of records
// as csv.Reader splits them.
func TestRecordGuard(t *testing.T) {
	text := "1,2,3\n\"4,,,,,,\n\n,,\",5,6\r\n\"7\"\",,,,\",8,9\n"
	for size := 1; size < len(text)+2; size++ {
		for _, c := range []struct {
			budget Budget
			fails  bool
		}{{Budget{Columns: 3}, false}, {Budget{Columns: 2}, true}, {Budget{Row: 19}, false}, {Budget{Row: 18}, true}} {
			g := &recordGuard{r: strings.NewReader(text), comma: []byte(","), budget: c.budget.of(-1)}
			var got []byte
			var err error
			for p := make([]byte, size); err == nil; {
				var n int
				n, err = g.Read(p)
				got = append(got, p[:n]...)
			}
			if c.fails != (err != io.EOF) || !c.fails && string(got) != text || !strings.HasPrefix(text, string(got)) {
				t.Errorf("pieces of %d, %+v: %q, %v", size, c.budget, got, err)
			}
		}
	}
}

// TestShapeDimensions: a header cannot announce more dimensions than an array has.
func TestShapeDimensions(t *testing.T) {
	shape := "(" + strings.Repeat("1,", maxDims+1) + ")"
	_, err := NewReader(bytes.NewReader(npyOf("<f4", "False", shape, floats(1))), NPY, "a", nil)
	checkError(t, nil, err, "a", -1, -1, "more than 64 dimensions")
	if m, err := ReadAll(context.Background(), writeTemp(t, "a.npy", string(npyOf("<f4", "False", "(1, 1)", floats(1)))), nil); err != nil || m.Rows != 1 {
		t.Error(m, err)
	}
}

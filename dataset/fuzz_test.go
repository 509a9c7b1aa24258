package dataset

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"
)

// Every target asserts that there is no panic, that memory is bounded by the size of the
// input, and that the result is an *Error or a matrix of finite numbers.

// fuzzMemory is the memory allowed: sizes below the limits that need no proof, the windows of
// decompressors, and the greatest output of deflate for the input.
func fuzzMemory(input int) uint64 { return 400<<20 + 20_000*uint64(input) }

// fuzzBudget is that of a small service.
func fuzzBudget() *Budget { return BudgetOf(minBlock, "fuzz") }

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func addFixtures(f *testing.F, extensions ...string) {
	for _, ext := range extensions {
		paths, err := filepath.Glob(filepath.Join("testdata", "*"+ext))
		if err != nil || len(paths) == 0 {
			f.Fatalf("no fixtures *%s: %v", ext, err)
		}
		for _, p := range paths {
			b, err := os.ReadFile(p)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
}

// fuzzVectors reads every input as a file and, unless the format needs a file,
// as a stream.
func fuzzVectors(f *testing.F, format Format, opt *Options) {
	limited := Options{}
	if opt != nil {
		limited = *opt
	}
	limited.DenseLimit, opt = 1<<20, &limited // the memory for a sparse matrix is not that of its bytes
	limited.Budget = fuzzBudget()
	f.Fuzz(func(t *testing.T, data []byte) {
		before := allocated()
		checkVectors(t, data, func() (Reader, error) {
			return openFormat(memorySource("fuzz", data), format, opt)
		})
		if format != NPZ && format != Parquet {
			checkVectors(t, data, func() (Reader, error) {
				return NewReader(bytes.NewReader(data), format, "fuzz", opt)
			})
		}
		if used := allocated() - before; used > fuzzMemory(len(data)) {
			t.Fatalf("%d bytes of memory for %d bytes of input", used, len(data))
		}
	})
}

func checkVectors(t *testing.T, data []byte, open func() (Reader, error)) {
	t.Helper()
	r, err := open()
	if err != nil {
		checkFuzzError(t, err)
		return
	}
	defer r.Close()
	m, err := Drain(context.Background(), r)
	if err != nil {
		checkFuzzError(t, err)
		return
	}
	if m.Rows < 1 || m.Dim < 1 || len(m.Data) != m.Rows*m.Dim {
		t.Fatalf("%d rows of %d columns with %d elements", m.Rows, m.Dim, len(m.Data))
	}
	if r.Len() >= 0 && r.Len() != int64(m.Rows) {
		t.Fatalf("Len %d, but %d rows", r.Len(), m.Rows)
	}
	if m.IDs != nil && m.IDs.Len() != m.Rows {
		t.Fatalf("%d ids for %d rows", m.IDs.Len(), m.Rows)
	}
	for i, v := range m.Data {
		if v-v != 0 {
			t.Fatalf("element %d is %v", i, v)
		}
	}
}

func checkFuzzError(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%T is no *Error: %v", err, err)
	}
	if !strings.HasPrefix(e.File, "fuzz") {
		t.Fatalf("error names no file: %v", err)
	}
}

func FuzzNPY(f *testing.F) {
	addFixtures(f, ".npy")
	f.Add(npyOf("<f4", "False", "(2, 3)", floats(1, 2, 3, 4, 5, 6)))
	f.Add(npyOf("<f4", "True", "(2, 3)", floats(1, 2, 3, 4, 5, 6)))
	fuzzVectors(f, NPY, nil)
}

func FuzzNPZ(f *testing.F) {
	addFixtures(f, ".npz")
	fuzzVectors(f, NPZ, nil)
}

func FuzzIDX(f *testing.F) {
	f.Add([]byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 255, 5, 6, 7, 8})
	f.Add([]byte{0, 0, 0x0d, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0})
	f.Add([]byte{0, 0, 8, 4, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255})
	fuzzVectors(f, IDX, nil)
}

func FuzzFVecs(f *testing.F) {
	f.Add(join(le32(2), floats(1, 2), le32(2), floats(3, 4)))
	f.Add(le32(1 << 29))
	fuzzVectors(f, FVecs, nil)
}

func FuzzBVecs(f *testing.F) {
	f.Add(join(le32(2), []byte{1, 2}, le32(2), []byte{3, 4}))
	fuzzVectors(f, BVecs, nil)
}

func FuzzIVecs(f *testing.F) {
	f.Add(le32(2, 1, 2, 2, 3, 4))
	fuzzVectors(f, IVecs, nil)
}

func FuzzFBin(f *testing.F) {
	f.Add(join(le32(2, 2), floats(1, 2, 3, 4)))
	f.Add(le32(1<<31, 1<<29))
	fuzzVectors(f, FBin, nil)
}

func FuzzIBin(f *testing.F) {
	f.Add(le32(2, 2, 1, 2, 3, 4))
	fuzzVectors(f, IBin, nil)
}

func FuzzU8Bin(f *testing.F) {
	f.Add(join(le32(2, 2), []byte{1, 2, 3, 4}))
	fuzzVectors(f, U8Bin, nil)
}

func FuzzF16Bin(f *testing.F) {
	f.Add(join(le32(2, 2), []byte{0, 0x3c, 0, 0x40, 0, 0xbc, 1, 0}))
	fuzzVectors(f, F16Bin, nil)
}

func FuzzJSONL(f *testing.F) {
	f.Add([]byte("[1,2.5,-3e-4]\n\n[4,5,6]"))
	f.Add([]byte(`{"vec":[1,2],"s":"\u00e9\"","n":null,"o":{"a":[true,false]},"x":1}` + "\n" + `{"vec":[3,4]}`))
	f.Add([]byte("\xef\xbb\xbf[NaN]"))
	fuzzVectors(f, JSONL, nil)
}

func FuzzJSONLObjects(f *testing.F) {
	f.Add([]byte(`{"v":[1,2],"id":"a"}` + "\n" + `{"id":7,"v":[3,4]}`))
	fuzzVectors(f, JSONL, &Options{Column: "v", IDs: "id"})
}

func FuzzParquet(f *testing.F) {
	addFixtures(f, ".parquet")
	fuzzVectors(f, Parquet, nil)
}

func FuzzParquetIDs(f *testing.F) {
	addFixtures(f, ".parquet")
	fuzzVectors(f, Parquet, &Options{Column: "vec", IDs: "id"})
}

func FuzzArrow(f *testing.F) {
	addFixtures(f, ".arrow", ".arrows")
	fuzzVectors(f, Arrow, nil)
}

func FuzzArrowIDs(f *testing.F) {
	addFixtures(f, ".arrow", ".arrows")
	fuzzVectors(f, Arrow, &Options{Column: "vec", IDs: "id"})
}

func FuzzSafeTensors(f *testing.F) {
	addFixtures(f, ".safetensors")
	f.Add(tensorBytes(`{"a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}}`, []byte{0, 0, 0x80, 0x3f}))
	fuzzVectors(f, SafeTensors, nil)
}

// FuzzOpen lets the content choose the format.
func FuzzOpen(f *testing.F) {
	addFixtures(f, ".npy", ".npz", ".parquet", ".arrows", ".safetensors")
	f.Add([]byte(" \n[1]"))
	fuzzVectors(f, Unknown, nil)
}

func fuzzResults(f *testing.F, format Format) {
	f.Fuzz(func(t *testing.T, data []byte) {
		before := allocated()
		defer func() {
			if used := allocated() - before; used > fuzzMemory(len(data)) {
				t.Fatalf("%d bytes of memory for %d bytes of input", used, len(data))
			}
		}()
		src := memorySource("fuzz", data)
		src.limit(fuzzBudget())
		if len(data) == 0 {
			return
		}
		r, err := openResultsAs(src, format)
		if err != nil {
			checkFuzzError(t, err)
			return
		}
		defer r.Close()
		for n := int64(0); ; n++ {
			v, err := r.Next()
			if err == io.EOF {
				if r.Len() >= 0 && r.Len() != n {
					t.Fatalf("Len %d, but %d results", r.Len(), n)
				}
				return
			}
			if err != nil {
				checkFuzzError(t, err)
				return
			}
			if v.Rows == nil {
				v.Rows = make([]int64, len(v.IDs))
			}
			if err := checkResult(&v); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzResultsNPZ(f *testing.F) {
	addFixtures(f, "results.npz", "faiss.npz", "hnswlib.npz", "cuvs.npz", "sklearn.npz")
	fuzzResults(f, NPZ)
}

func FuzzResultsParquet(f *testing.F) {
	addFixtures(f, "results.parquet", "rows.parquet", "named.parquet")
	fuzzResults(f, Parquet)
}

func FuzzResultsJSONL(f *testing.F) {
	for _, r := range sampleResults() {
		f.Add(AppendJSONL(nil, &r, false))
	}
	fuzzResults(f, JSONL)
}

func FuzzResultsIVecs(f *testing.F) {
	f.Add(le32(2, 1, 0xffffffff, 2, 3, 4))
	fuzzResults(f, IVecs)
}

func FuzzResultsIBin(f *testing.F) {
	addFixtures(f, ".ibin")
	f.Add(le32(3, 3, 0, 1, 2, 4, 5, 6, 7, 8, 9))
	f.Add(le32(1<<31, 1<<29))
	fuzzResults(f, IBin)
}

func FuzzResultsNPY(f *testing.F) {
	addFixtures(f, "ids*.npy")
	f.Add(npyOf("<i4", "False", "(1, 2)", le32(1, 2)))
	fuzzResults(f, NPY)
}

func FuzzResultsHits(f *testing.F) {
	for _, c := range hitDocuments() {
		f.Add([]byte(c.text))
	}
	fuzzResults(f, JSONL)
}

func FuzzResultsLongCSV(f *testing.F) {
	for _, text := range longTexts(".csv") {
		f.Add([]byte(text))
	}
	fuzzResults(f, CSV)
}

func FuzzResultsLongJSONL(f *testing.F) {
	for _, text := range longTexts(".jsonl") {
		f.Add([]byte(text))
	}
	fuzzResults(f, JSONL)
}

func FuzzSpool(f *testing.F) {
	for _, r := range sampleResults() {
		f.Add(AppendRecord(nil, &r))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := spoolReader{r: bytes.NewReader(data)}
		for {
			var r Result
			err := s.next(&r)
			if err == io.EOF && s.offset == int64(len(data)) || errors.Is(err, ErrTorn) || errors.Is(err, ErrCorrupt) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			_ = AppendRecord(nil, &r)
		}
		// The payload alone, past a checksum that fuzzing cannot guess.
		var r Result
		if len(data) > 0 && decodeRecord(data, &r) {
			again := spoolReader{r: bytes.NewReader(AppendRecord(nil, &r))}
			var got Result
			if err := again.next(&got); err != nil || len(got.Rows) != len(r.Rows) {
				t.Fatalf("a decoded payload does not survive: %v", err)
			}
		}
	})
}

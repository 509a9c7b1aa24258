package dataset

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The matrices of testdata/make.py, written by NumPy, pyarrow and safetensors.
func matrixM() []float32 {
	m := make([]float32, 15)
	for i := range m {
		m[i] = float32(i*3 - 20)
	}
	return m
}

func matrixP() []float32 {
	p := make([]float32, 15)
	for i := range p {
		p[i] = float32(i * 17)
	}
	return p
}

type fixture struct {
	file   string
	opt    *Options
	want   []float32
	ids    []string
	length int64 // Len()
	stream bool  // can be read by NewReader
}

func fixtures() []fixture {
	m, p := matrixM(), matrixP()
	id := &Options{IDs: "id"}
	named := []string{"a", "bé", "c", "d", "e"}
	numbered := []string{"7", "8", "9", "10", "11"}
	return []fixture{
		{"f4.npy", nil, m, nil, 5, true},
		{"f2.npy", nil, m, nil, 5, true},
		{"f8.npy", nil, m, nil, 5, true},
		{"i1.npy", nil, m, nil, 5, true},
		{"u1.npy", nil, p, nil, 5, true},
		{"big.npy", nil, m, nil, 5, true},
		{"bigf8.npy", nil, m, nil, 5, true},
		{"fortran.npy", nil, m, nil, 5, false},
		{"fortranbig.npy", nil, m, nil, 5, false},
		{"row.npy", &Options{OneRow: true}, m[3:6], nil, 1, true},
		{"stored.npz", nil, m, nil, 5, false},
		{"storedfortran.npz", nil, m, nil, 5, false},
		{"deflated.npz", nil, m, nil, 5, false},
		{"two.npz", &Options{Column: "b"}, m, nil, 5, false},
		{"f2.safetensors", nil, m, nil, 5, true},
		{"two.safetensors", &Options{Column: "b"}, m, nil, 5, true},
		{"list.parquet", id, m, named, 5, false},
		{"list.parquet", nil, m, nil, 5, false},
		{"large.parquet", id, m, numbered, 5, false},
		{"fixed.parquet", nil, m, nil, 5, false},
		{"int8.parquet", nil, m, nil, 5, false},
		{"uint8.parquet", nil, p, nil, 5, false},
		{"dict.parquet", id, m, named, 5, false},
		{"two.parquet", &Options{Column: "b"}, m, nil, 5, false},
		{"zstdv2.parquet", id, m, named, 5, false},
		{"gzipplain.parquet", id, m, named, 5, false},
		{"none.parquet", id, m, named, 5, false},
		{"list.arrow", id, m, named, 5, true},
		{"large.arrow", id, m, numbered, 5, true},
		{"fixed.arrow", nil, m, nil, 5, true},
		{"int8.arrow", nil, m, nil, 5, true},
		{"uint8.arrow", nil, p, nil, 5, true},
		{"dict.arrow", id, m, named, 5, true},
		{"two.arrow", &Options{Column: "b"}, m, nil, 5, true},
		{"zstd.arrow", id, m, named, 5, true},
		{"lz4.arrow", id, m, named, 5, true},
		{"list.arrows", id, m, named, 5, true},
		{"view.arrows", id, m, append([]string{"a string beyond twelve bytes"}, named[1:]...), 5, true},
		{"tensor.arrows", nil, m, nil, 5, true},
	}
}

func TestFixtures(t *testing.T) {
	for _, f := range fixtures() {
		t.Run(f.file, func(t *testing.T) {
			path := filepath.Join("testdata", f.file)
			got, err := ReadAll(context.Background(), path, f.opt)
			if err != nil {
				t.Fatal(err)
			}
			want := &Matrix{Rows: len(f.want) / 3, Dim: 3, Data: f.want}
			if f.ids != nil {
				want.IDs = IDsOf(f.ids)
			}
			if d := cmp.Diff(want, got, byText); d != "" {
				t.Fatalf("ReadAll (-want +got):\n%s", d)
			}
			for rows := 1; rows <= 6; rows++ {
				r, err := Open(path, f.opt)
				if err != nil {
					t.Fatal(err)
				}
				if r.Len() != f.length {
					t.Fatalf("Len = %d, want %d", r.Len(), f.length)
				}
				if d := cmp.Diff(want, readChunks(t, r, rows), byText); d != "" {
					t.Fatalf("chunks of %d rows (-want +got):\n%s", rows, d)
				}
			}
			if f.stream {
				checkStream(t, path, f, want)
			}
		})
	}
}

// checkStream reads the file through NewReader, gzip, and one byte at a time.
func checkStream(t *testing.T, path string, f fixture, want *Matrix) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	format, _ := FormatOf(path)
	for _, ask := range []Format{format, Unknown} {
		r, err := NewReader(&dribble{data}, ask, "pipe", f.opt)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, readChunks(t, r, 2), byText); d != "" {
			t.Fatalf("stream (-want +got):\n%s", d)
		}
	}
	zipped := filepath.Join(t.TempDir(), f.file+".gz")
	if err := os.WriteFile(zipped, gzipped(data), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadAll(context.Background(), zipped, f.opt)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, byText); d != "" {
		t.Fatalf("gzip (-want +got):\n%s", d)
	}
}

// readChunks reads with room for the given rows and half a row more, the rest of
// which must stay untouched.
func readChunks(t *testing.T, r Reader, rows int) *Matrix {
	t.Helper()
	m, ids := &Matrix{Dim: r.Dim()}, IDsBuilder{}
	const guard = -12345
	buf := make([]float32, rows*r.Dim()+r.Dim()/2)
	for {
		for i := range buf {
			buf[i] = guard
		}
		n, err := r.Read(buf)
		for _, v := range buf[n*r.Dim():] {
			if err == nil && v != guard {
				t.Fatalf("Read of %d rows wrote behind them", n)
			}
		}
		m.Data = append(m.Data, buf[:n*r.Dim()]...)
		for _, id := range r.IDs() {
			ids.Add(id)
		}
		m.Rows += n
		if err == io.EOF {
			if n != 0 {
				t.Fatalf("io.EOF together with %d rows", n)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			t.Fatal("Read returned neither rows nor an error")
		}
	}
	if _, err := r.Read(buf); err != io.EOF {
		t.Fatalf("Read behind the end: %v, want io.EOF again", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatalf("second Close: %v", err)
	}
	if ids.Len() > 0 {
		m.IDs = ids.IDs()
	}
	return m
}

// dribble is a reader that returns one byte per call.
type dribble struct{ b []byte }

func (d *dribble) Read(p []byte) (int, error) {
	if len(d.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(1, len(p))], d.b)
	d.b = d.b[n:]
	return n, nil
}

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

// TestRefusedFixtures reads complete files that must be refused.
func TestRefusedFixtures(t *testing.T) {
	for _, c := range []struct {
		file string
		opt  *Options
		want string
	}{
		{"cube.npy", nil, "3-dimensional with shape [5 3 1]"},
		{"scalar.npy", nil, "0-dimensional"},
		{"complex.npy", nil, `dtype "<c8" is not supported`},
		{"struct.npy", nil, "structured dtype is not supported"},
		{"deflatedfortran.npz", nil, "Fortran order"},
		{"two.npz", nil, "several arrays could be the vectors, Options.Column names one: a, b"},
		{"two.npz", &Options{Column: "c"}, `no array "c"; the file holds a, b`},
		{"two.safetensors", nil, "several tensors could be the vectors, Options.Column names one: a, b"},
		{"two.safetensors", &Options{Column: "c"}, `no tensor "c"; the file holds a, b`},
		{"f2.safetensors", &Options{Column: "labels"}, `dtype "I64" is not supported`},
		{"two.parquet", nil, "several columns could be the vectors, Options.Column names one: a, b"},
		{"two.parquet", &Options{Column: "c"}, `no column "c"; the file has a, b`},
		{"list.parquet", &Options{Column: "id"}, `column "id" is not a list`},
		{"list.parquet", &Options{IDs: "vec"}, `no column "vec" of single values; the file has id`},
		{"two.arrow", nil, "several columns could be the vectors, Options.Column names one: a, b"},
		{"two.arrow", &Options{Column: "c"}, `no column "c"; the file has a, b`},
		{"list.arrow", &Options{Column: "id"}, `column "id" is not a list of numbers`},
		{"list.arrow", &Options{IDs: "nope"}, `no column "nope" for the ids`},
		{"list.arrow", &Options{Column: "vec", IDs: "vec"}, "neither string nor integer"},
		{"f4.npy", &Options{Column: "x"}, "format npy has no named columns or arrays"},
		{"f4.npy", &Options{IDs: "x"}, "format npy has no columns"},
		{"absent.npy", nil, "no such file"},
		{"", nil, "is a directory"},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join("testdata", c.file)
			m, err := ReadAll(context.Background(), path, c.opt)
			checkError(t, m, err, path, -1, -1, c.want)
		})
	}
}

// TestRealData reads embeddings that NumPy users made.
func TestRealData(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "..", "shared", "data", "*", "*.npy"))
	if len(paths) == 0 {
		t.Skip("needs the .npy files of ../shared/data beside the module")
	}
	for _, path := range paths {
		m, err := ReadAll(context.Background(), path, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if m.Rows < 100 || m.Dim < 100 {
			t.Errorf("%s: %d x %d", path, m.Rows, m.Dim)
		}
	}
}

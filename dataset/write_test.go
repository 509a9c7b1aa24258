package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"thresher/internal/vectors"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type writer func(w io.Writer, rows, dim int, data []float32) error

// writeArrays writes one array per line.
func writeArrays(w io.Writer, rows, dim int, data []float32) error {
	lines := json.NewEncoder(w)
	for i := range rows {
		if err := lines.Encode(data[i*dim : (i+1)*dim]); err != nil {
			return err
		}
	}
	return nil
}

// TestWriteRoundTrip: written matrices are read back unchanged, in chunks of any size.
func TestWriteRoundTrip(t *testing.T) {
	for name, write := range map[Format]writer{NPY: WriteNPY, FVecs: WriteFVecs, FBin: WriteFBin, JSONL: writeArrays} {
		t.Run(string(name), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				rows := rapid.IntRange(1, 7).Draw(rt, "rows")
				dim := rapid.IntRange(1, 7).Draw(rt, "dim")
				data := rapid.SliceOfN(rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32), rows*dim, rows*dim).Draw(rt, "data")
				var b bytes.Buffer
				if err := write(&b, rows, dim, data); err != nil {
					rt.Fatal(err)
				}
				r, err := openFormat(memorySource("a", b.Bytes()), name, nil)
				if err != nil {
					rt.Fatal(err)
				}
				got := readChunks(t, r, rapid.IntRange(1, 8).Draw(rt, "chunk"))
				if d := cmp.Diff(&Matrix{Rows: rows, Dim: dim, Data: data}, got); d != "" {
					rt.Fatalf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	for _, write := range []writer{WriteNPY, WriteFVecs, WriteFBin} {
		for _, c := range []struct{ rows, dim, n int }{{0, 1, 0}, {1, 0, 0}, {2, 2, 3}, {-1, -1, 1}, {1 << 40, 1 << 40, 0}} {
			if err := write(io.Discard, c.rows, c.dim, make([]float32, c.n)); err == nil {
				t.Errorf("%d x %d with %d elements was written", c.rows, c.dim, c.n)
			}
		}
	}
}

// TestLarge reads matrices beyond every buffer in each layout, and compares them
// with what was written.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short, with which race runs: long arithmetic of one goroutine")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shape := range [][2]int{{3, 400_000}, {5000, 97}, {400_000, 2}} {
		rows, dim := shape[0], shape[1]
		data := vectors.Gaussian(rng, rows, dim)
		want := &Matrix{Rows: rows, Dim: dim, Data: data}
		var npy, vec, bin bytes.Buffer
		if WriteNPY(&npy, rows, dim, data) != nil || WriteFVecs(&vec, rows, dim, data) != nil || WriteFBin(&bin, rows, dim, data) != nil {
			t.Fatal("writing failed")
		}
		flipped := make([]float32, len(data))
		for i := range rows {
			for j := range dim {
				flipped[j*rows+i] = data[i*dim+j]
			}
		}
		fortran := npyOf("<f4", "True", "("+strconv.Itoa(rows)+", "+strconv.Itoa(dim)+")", floats(flipped...))
		for name, b := range map[string][]byte{
			"a.npy": npy.Bytes(), "b.fvecs": vec.Bytes(), "c.fbin": bin.Bytes(), "fortran.npy": fortran,
			"d.npz": npzOf(t, map[string][]byte{"x": npy.Bytes()}),
		} {
			got, _, err := readBytes(t, name, b, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(want.Data, got.Data) || got.Rows != rows || got.Dim != dim {
				t.Fatalf("%s of %v: read differs from what was written", name, shape)
			}
			if strings.HasPrefix(name, "fortran") || strings.HasSuffix(name, ".npz") {
				continue
			}
			format, _ := FormatOf(name)
			r, err := NewReader(bytes.NewReader(b), format, name, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err = Drain(context.Background(), r); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(want.Data, got.Data) {
				t.Fatalf("%s of %v from a stream: read differs from what was written", name, shape)
			}
		}
	}
}

// TestBoundedMemory reads a Fortran-order file of 64 MiB in chunks: Open and Read may
// allocate little more than the block that they keep.
func TestBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: writes a file of 64 MiB")
	}
	const rows, dim = 1 << 20, 16
	path := filepath.Join(t.TempDir(), "a.npy")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	header := npyOf("<f4", "True", "(1048576, 16)", nil)
	if _, err := f.Write(header); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(int64(len(header)) + 4*rows*dim); err != nil {
		t.Fatal(err)
	}
	f.Close()
	buf := make([]float32, 1000*dim)
	before := allocated()
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for err = nil; err == nil; {
		var k int
		k, err = r.Read(buf)
		n += k
	}
	if err != io.EOF || n != rows {
		t.Fatalf("%d rows, %v", n, err)
	}
	if used := allocated() - before; used > 40<<20 {
		t.Errorf("%d MiB allocated, the block is 32", used>>20)
	}
}

// TestReadCancelled: a cancelled context stops ReadAll.
func TestReadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ReadAll(ctx, filepath.Join("testdata", "f4.npy"), nil); err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// TestShortBuffer: a buffer below one row is refused, and no row is lost.
func TestShortBuffer(t *testing.T) {
	for _, f := range fixtures() {
		r, err := Open(filepath.Join("testdata", f.file), f.opt)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := r.Read(make([]float32, 2)); n != 0 || err != io.ErrShortBuffer {
			t.Errorf("%s: Read gives %d, %v", f.file, n, err)
		}
		if n, err := r.Read(make([]float32, 3)); n != 1 || err != nil {
			t.Errorf("%s: Read behind it gives %d, %v", f.file, n, err)
		}
		r.Close()
	}
}

// TestLongRow: a row that is too long does not overwrite memory beyond the part that Read may
// fill.
func TestLongRow(t *testing.T) {
	r, err := NewReader(strings.NewReader("[1,2]\n[3,4,5,6]\n"), JSONL, "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	buf := []float32{-1, -1, -1, -1, -1, -1}
	n, err := r.Read(buf[:4])
	checkError(t, nil, err, "a", 1, -1, "row has 4 columns, the first has 2")
	if want := []float32{-1, -1}; n != 1 || !slices.Equal(buf[4:], want) {
		t.Errorf("%d rows, %v behind what Read may fill", n, buf[4:])
	}
}

// TestHalf checks every float16 against its definition.
func TestHalf(t *testing.T) {
	for u := range 1 << 16 {
		exp, frac := u>>10&31, float64(u&1023)
		if exp == 31 {
			continue
		}
		want := math.Ldexp(1024+frac, exp-25)
		if exp == 0 {
			want = math.Ldexp(frac, -24)
		}
		if u&0x8000 != 0 {
			want = math.Copysign(want, -1)
		}
		if got := half(uint16(u)); math.Float32bits(got) != math.Float32bits(float32(want)) {
			t.Fatalf("half(%#x) = %v, want %v", u, got, want)
		}
	}
}

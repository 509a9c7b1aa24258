package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"testing"
)

// readAllTyped reads all rows in their type, so many at a time, and their ids.
func readAllTyped(t *testing.T, r Reader, rows int) (Vectors, []string, error) {
	t.Helper()
	typed, ok := r.(TypedReader)
	if !ok {
		t.Fatalf("%T is no TypedReader", r)
	}
	size := r.Dim() * typed.Elem().Size()
	var all []byte
	var ids []string
	for {
		buf := make([]byte, rows*size+size-1)
		n, err := typed.ReadTyped(buf)
		all, ids = append(all, buf[:n*size]...), append(ids, r.IDs()...)
		if err != nil {
			v, bad := NewVectors(typed.Elem(), r.Dim(), all)
			if bad != nil {
				t.Fatal(bad)
			}
			if err == io.EOF {
				err = nil
			}
			return v, ids, err
		}
	}
}

// TestReadTyped: what other programs wrote is handed on in its type, with the values and ids that Read gives.
func TestReadTyped(t *testing.T) {
	elems := map[Elem]int{}
	for _, f := range fixtures() {
		for _, rows := range []int{1, 2, 100} {
			t.Run(fmt.Sprintf("%s in %d", f.file, rows), func(t *testing.T) {
				r, err := Open(filepath.Join("testdata", f.file), f.opt)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if _, ok := kindOf(sourceOf(r)).elem(); !ok {
					if _, ok := r.(TypedReader); ok {
						t.Errorf("a TypedReader of %s", TypeOf(r))
					}
					return
				}
				v, ids, err := readAllTyped(t, r, rows)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := r.(TypedReader).ReadTyped(make([]byte, 1<<10)); err != io.EOF {
					t.Errorf("after the last row: %v", err)
				}
				got := make([]float32, v.Len()*v.Dim())
				v.Read32(got, 0)
				if !slices.Equal(got, f.want) || !slices.Equal(ids, f.ids) {
					t.Errorf("%v: %v, %v, want %v, %v", v.Elem(), got, ids, f.want, f.ids)
				}
				if n := TypeOf(r); n != v.Elem().String() && v.Elem() != ElemFloat32 {
					t.Errorf("the type is %s, the rows are %v", n, v.Elem())
				}
				elems[v.Elem()]++
			})
		}
	}
	for e := ElemFloat32; e.valid(); e++ {
		if elems[e] == 0 && e != ElemBFloat16 {
			t.Errorf("no file holds %v", e)
		}
	}
}

// sourceOf is the reader of a format behind r.
func sourceOf(r Reader) Reader {
	if n := narrowingOf(r); n != nil {
		return n.reader()
	}
	if own, ok := r.(*typed); ok {
		return own.Reader
	}
	return r
}

// TestReadTypedOfText: what has no type of its own is rounded to float32, which counts what that changes.
func TestReadTypedOfText(t *testing.T) {
	inFolder(t, map[string][]byte{"a.csv": []byte("0.1,2\n"), "a.jsonl": []byte("[0.1,2]\n"), "a.ivecs": le32(1, 7), "short.npy": npyOf("<i2", "False", "(1, 2)", []byte{1, 0, 0xff, 0xff})})
	for name, want := range map[string]string{"a.csv": "text", "a.jsonl": "text", "a.ivecs": "int32", "short.npy": "int16"} {
		r, err := Open(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		typed, ok := r.(TypedReader)
		if TypeOf(r) != want || ok != (want == "int16") {
			t.Errorf("%s holds %s, not %s, or is a TypedReader: %v", name, TypeOf(r), want, ok)
		}
		if !ok {
			continue
		}
		v, _, err := readAllTyped(t, r, 1)
		got := make([]float32, 2)
		if v.Read32(got, 0); err != nil || typed.Elem() != ElemFloat32 || !slices.Equal(got, []float32{1, -1}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestReadTypedRefuses: values that are not finite, and files that end early, are refused where they are.
func TestReadTypedRefuses(t *testing.T) {
	inFolder(t, map[string][]byte{
		"f2.npy":      npyOf("<f2", "False", "(3, 2)", bytesOf16(0x3c00, 0, 0, 0x7e01, 0, 0)),
		"big.npy":     npyOf(">f2", "False", "(2, 2)", []byte{0x3c, 0, 0, 0, 0xfc, 0, 0, 0}),
		"v2.npy":      npyOf("<V2", "False", "(2, 2)", bytesOf16(0x3f80, 0, 0, 0x7fc0)),
		"f4.npy":      npyOf("<f4", "False", "(2, 2)", floats(1, 2, 3, float32(math.NaN()))),
		"f8.npy":      npyOf("<f8", "False", "(2, 2)", wideBytes(1, math.Inf(1), 3, 4)),
		"fortran.npy": npyOf("<f2", "True", "(2, 2)", bytesOf16(0, 0x7e00, 0, 0)),
		"half.f16bin": join(le32(2, 2), bytesOf16(0x3c00, 0, 0x7e00, 0)),
	})
	for name, c := range map[string]struct {
		row, column int64
		want        string
	}{
		"f2.npy": {1, 1, "value is NaN"}, "big.npy": {1, 0, "value is -Inf"}, "v2.npy": {1, 1, "value is NaN"}, "f4.npy": {1, 1, "value is NaN"},
		"f8.npy": {0, 1, "value is +Inf"}, "fortran.npy": {1, 0, "value is NaN"}, "half.f16bin": {1, 0, "value is NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Open(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			v, _, err := readAllTyped(t, r, 3)
			checkError(t, nil, err, name, c.row, c.column, c.want)
			if int64(v.Len()) != c.row && name != "fortran.npy" { // which is read by blocks
				t.Errorf("%d rows before row %d", v.Len(), c.row)
			}
			if _, again := r.(TypedReader).ReadTyped(make([]byte, 100)); !errors.Is(again, errors.Unwrap(err)) {
				t.Errorf("and then %v", again)
			}
		})
	}
	r, err := NewReader(io.LimitReader(bytes.NewReader(npyOf("<f2", "False", "(3, 2)", bytesOf16(1, 2, 3, 4, 5, 6))), int64(len(npyOf("<f2", "False", "(3, 2)", nil))+7)), NPY, "cut", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = readAllTyped(t, r, 3)
	checkError(t, nil, err, "cut", 1, 1, "truncated")
}

// TestTypedFiles: several files hand their rows on in their type.
func TestTypedFiles(t *testing.T) {
	inFolder(t, map[string][]byte{
		"h/1.npy": npyOf("<f2", "False", "(1, 2)", bytesOf16(0x3c00, 0x4000)), "h/2.npy": npyOf(">f2", "True", "(2, 2)", []byte{0x42, 0, 0x45, 0, 0x44, 0, 0x46, 0}),
		"b/1.bvecs": join(le32(2), []byte{1, 2}), "b/2.bvecs": join(le32(2), []byte{3, 4}, le32(2), []byte{5, 6}),
		"w/1.npy": npyOf("<f8", "False", "(1, 2)", wideBytes(1, 2)), "w/2.npy": npyOf("<f8", "False", "(2, 2)", wideBytes(3, 4, 5, 6)),
	})
	for folder, elem := range map[string]Elem{"h": ElemFloat16, "b": ElemUint8, "w": ElemFloat64} {
		set, err := FindFiles(folder)
		if err != nil {
			t.Fatal(err)
		}
		r, err := OpenFiles(set.Paths(), &Options{Centre: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		v, _, err := readAllTyped(t, r, 2)
		if err != nil || v.Elem() != elem {
			t.Fatalf("%s: %v, %v", folder, v.Elem(), err)
		}
		got := make([]float64, v.Len()*v.Dim())
		if v.Read64(got, 0); !slices.Equal(got, []float64{1, 2, 3, 4, 5, 6}) {
			t.Errorf("%s: %v", folder, got)
		}
	}
}

// TestDrainVectors: bytes stay bytes, and float64 are rounded as Drain does it.
func TestDrainVectors(t *testing.T) {
	inFolder(t, map[string][]byte{"a.bvecs": join(le32(2), []byte{1, 2}, le32(2), []byte{3, 4}), "a.npy": npyOf("<f2", "False", "(2, 2)", bytesOf16(0x3c00, 0x4000, 0x4200, 0x4400)), "w.npy": npyOf("<f8", "False", "(2, 2)", wideBytes(1, 2, 3, 4)), "a.csv": []byte("id,x,y\n7,1,2\n8,3,4\n")})
	for name, elem := range map[string]Elem{"a.bvecs": ElemUint8, "a.npy": ElemFloat16, "w.npy": ElemFloat32, "a.csv": ElemFloat32} {
		r, err := Open(name, &Options{FindIDs: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		v, ids, err := DrainVectors(context.Background(), r, ElemFloat32)
		if err != nil || v.Elem() != elem || v.Len() != 2 || (ids != nil) != (name == "a.csv") {
			t.Fatalf("%s: %v of %d, %v, %v", name, v.Elem(), v.Len(), ids, err)
		}
		got := make([]float32, 4)
		if v.Read32(got, 0); !slices.Equal(got, []float32{1, 2, 3, 4}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Open("a.bvecs", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, _, err := DrainVectors(ctx, r, ElemFloat32); !errors.Is(err, context.Canceled) {
		t.Errorf("when nobody waits: %v", err)
	}
}

// TestHalfOf: every finite float16 is what its value is converted back to.
func TestHalfOf(t *testing.T) {
	for u := range uint16(0xffff) {
		if back, ok := halfOf(half(u)); u&0x7c00 != 0x7c00 && (!ok || back != u) {
			t.Fatalf("%#04x is %v, and that %#04x", u, half(u), back)
		}
	}
}

package dataset

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLike: coordinates are read by the names that those of other vectors have.
func TestLike(t *testing.T) {
	xyz := []string{"x", "y", "z"}
	for _, c := range []struct {
		name, text string
		opt        Options
		first      []float32
		want       string // of the error
	}{
		{"another order", "z,y,x\n3,2,1\n", Options{Like: xyz}, []float32{1, 2, 3}, ""},
		{"more columns", "movie_id,z,w,y,x\n7,3,9,2,1\n", Options{Like: xyz}, []float32{1, 2, 3}, ""},
		{"no header", "3,2,1\n", Options{Like: xyz}, []float32{3, 2, 1}, ""},
		{"a list", "v\n\"[3,2,1]\"\n", Options{Like: xyz}, []float32{3, 2, 1}, ""},
		{"other names", "a,b,c\n3,2,1\n", Options{Like: xyz}, nil, "a, b, c"},
		{"other names, listed", "a,b,c\n3,2,1\n", Options{Like: xyz, Column: "a,b,c"}, []float32{3, 2, 1}, ""},
		{"listed in another order", "x,y,z\n3,2,1\n", Options{Like: xyz, Column: "z,y,x"}, []float32{1, 2, 3}, ""},
		{"a pattern", "z,y,x\n3,2,1\n", Options{Like: xyz, Column: "[x-z]"}, []float32{1, 2, 3}, ""},
		{"one is missing", "x,y\n3,2\n", Options{Like: xyz}, nil, "x, y, z"},
		{"counted from 1", "1,2,3\n7,8,9\n", Options{Like: []string{"0", "1", "2"}}, nil, "0..2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeTemp(t, "q.csv", c.text)
			_, _, first, err := readFirst(t, path, &c.opt)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Options.Column") {
					t.Errorf("%v (%v), want an error with %s", first, err, c.want)
				}
				return
			}
			if err != nil || cmp.Diff(c.first, first) != "" {
				t.Errorf("%v, %v; want %v", first, err, c.first)
			}
		})
	}
}

// TestColumnsAreNamed: a reader says which columns made the vector.
func TestColumnsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"id,d0,title,d1,d2\n7,1,a,2,3\n":   "d0..d2",
		"x,y\n1,2\n":                       "x, y",
		"9,8\n1,2\n":                       "all fields of a line, there is no header",
		"v,n\n\"[1,2]\",3\n":               "v",
		"1x1,1x2,2x1,2x2,2x3\n1,2,3,4,5\n": "1x1, 1x2, 2x1..2x3",
	} {
		r, err := Open(writeTemp(t, "a.csv", text), &Options{FindIDs: true})
		if err != nil {
			t.Error(err)
			continue
		}
		if got := LayoutOf(r).String(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		r.Close()
	}
}

// TestDenseLimit: a sparse matrix is written out up to the limit, which the error names.
func TestDenseLimit(t *testing.T) {
	path := "../internal/sniffers/testdata/sparse.npz" // 4 x 3
	rows, dim, _, err := readFirst(t, path, &Options{DenseLimit: 48})
	if err != nil || rows != 4 || dim != 3 {
		t.Errorf("%d x %d, %v", rows, dim, err)
	}
	_, _, _, err = readFirst(t, path, &Options{DenseLimit: 47, Words: Words{DenseLimit: "--dense-limit"}})
	for _, word := range []string{"sparse matrix of 4 x 3", "--dense-limit", "MB"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v lacks %q", err, word)
		}
	}
}

// sparseMatrix is a 2 x 3 matrix of values in rows, two in the first and one in the second.
func sparseMatrix(t *testing.T, columns []uint32, values []byte, dtype string) []byte {
	return npzOf(t, map[string][]byte{
		"indptr": npyOf("<i4", "False", "(3,)", le32(0, 2, 3)), "indices": npyOf("<i4", "False", "(3,)", le32(columns...)),
		"shape": npyOf("<i8", "False", "(2,)", le64(2, 3)), "data": npyOf(dtype, "False", "(3,)", values),
	})
}

// TestSparseRows: stored values are placed, whatever their order and type, and repeated ones refused.
func TestSparseRows(t *testing.T) {
	for _, c := range []struct {
		name  string
		data  []byte
		first []float32
		want  string
	}{
		{"floats", sparseMatrix(t, []uint32{2, 0, 1}, floats(5, 6, 7), "<f4"), []float32{6, 0, 5}, ""},
		{"a stored zero", sparseMatrix(t, []uint32{0, 2, 1}, floats(0, 6, 7), "<f4"), []float32{0, 0, 6}, ""},
		{"integers", sparseMatrix(t, []uint32{0, 1, 1}, le64(5, 6, 7), "<i8"), []float32{5, 6, 0}, ""},
		{"large integers", sparseMatrix(t, []uint32{0, 1, 1}, le64(5, 1<<24+1, 7), "<i8"), nil, "cannot be held by float32 exactly"},
		{"twice", sparseMatrix(t, []uint32{1, 1, 1}, floats(5, 6, 7), "<f4"), nil, "sum_duplicates()"},
		{"outside", sparseMatrix(t, []uint32{0, 3, 1}, floats(5, 6, 7), "<f4"), nil, "outside [0, 3)"},
		{"too few values", sparseMatrix(t, []uint32{0, 1, 1}, floats(5, 6), "<f4"), nil, "truncated"},
		{"texts", sparseMatrix(t, []uint32{0, 1, 1}, floats(5, 6, 7), "<U1"), nil, "not supported"},
	} {
		rows, dim, first, err := readFirst(t, writeTemp(t, "a.npz", string(c.data)), nil)
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %d x %d (%v), want an error with %s", c.name, rows, dim, err, c.want)
		case c.want == "" && (err != nil || rows != 2 || dim != 3 || !slices.Equal(first, c.first)):
			t.Errorf("%s: %d x %d %v (%v), want %v", c.name, rows, dim, first, err, c.first)
		}
	}
}

// TestStoredZeros: a zero that a sparse matrix of ids stores is refused unless the user decides.
func TestStoredZeros(t *testing.T) {
	lists := func(dtype string, values []byte, opt *ListOptions) ([][]int64, error) {
		r, err := OpenLists(writeTemp(t, "a.npz", string(sparseMatrix(t, []uint32{0, 2, 1}, values, dtype))), opt)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return drainLists(r)
	}
	negative := bytes.Clone(floats(1, 0, 1))
	negative[7] = 0x80 // -0
	for _, c := range []struct {
		dtype  string
		values []byte
		zeros  string
		want   [][]int64 // nil is an error
	}{
		{"<f4", floats(1, 2, 3), "", [][]int64{{0, 2}, {1}}},
		{"<f4", floats(1, 0, 1), "", nil},
		{"<f4", negative, "", nil},
		{"<f4", floats(1, 0, 1), ZerosKeep, [][]int64{{0, 2}, {1}}},
		{"<f4", floats(1, 0, 0), ZerosDrop, [][]int64{{0}, {}}},
		{"|b1", []byte{1, 0, 1}, ZerosDrop, [][]int64{{0}, {1}}},
		{"<i8", le64(1, 0, 1), "", nil},
		{"<i8", le64(1, 1<<63, 1), "", [][]int64{{0, 2}, {1}}},
		{"<f4", floats(1, 0, 1), "maybe", nil},
		{"<f4", floats(1, 0), ZerosDrop, nil},
	} {
		got, err := lists(c.dtype, c.values, &ListOptions{Zeros: c.zeros, ZerosWord: "--zeros"})
		if c.want == nil {
			if err == nil || c.zeros != ZerosDrop && !strings.Contains(err.Error(), "--zeros") {
				t.Errorf("%s %v, zeros %q: %v, %v", c.dtype, c.values, c.zeros, got, err)
			}
			continue
		}
		if d := cmp.Diff(c.want, got); err != nil || d != "" {
			t.Errorf("%s %v, zeros %q: %v %s", c.dtype, c.values, c.zeros, err, d)
		}
	}
}

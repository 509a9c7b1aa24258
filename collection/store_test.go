package collection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rowsSource returns rows a few at a time.
type rowsSource struct {
	rows []float32
	dim  int
	fail int   // after that many rows Read fails; 0 = never
	eof  bool  // EOF comes with the last rows, not after
	err  error // what Read fails with
	done int
	then func(done int)
}

func (s *rowsSource) Dim() int { return s.dim }

func (s *rowsSource) Read(dst []float32) (int, error) {
	left := len(s.rows)/s.dim - s.done
	if s.fail > 0 && s.done >= s.fail {
		return 0, s.err
	}
	if left == 0 {
		return 0, io.EOF
	}
	n := min(37, left, len(dst)/s.dim)
	copy(dst, s.rows[s.done*s.dim:(s.done+n)*s.dim])
	s.done += n
	if s.then != nil {
		s.then(s.done)
	}
	if s.eof && n == left {
		return n, io.EOF
	}
	return n, nil
}

// checkNames fails if dir contains anything but the named files.
func checkNames(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if !slices.Equal(have, names) {
		t.Errorf("the folder holds %v, want %v", have, names)
	}
}

func TestCreateOpenEqualsBuild(t *testing.T) {
	for _, s := range []struct {
		dim   int
		basis Basis
	}{{7, Rotated}, {40, Rotated}, {300, Rotated}, {40, Raw}, {100, Rotated}} {
		for i, m := range metrics {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.thresher")
			rows := data("powerlaw", 333, s.dim, 1)
			o := Options{Metric: m, Basis: s.basis, Seed: 9, Threads: 1 + i}
			want := build(t, rows, s.dim, &o)
			name := fmt.Sprintf("dimension %d, %v, %v", s.dim, s.basis, m)
			o.Threads = 3 - i
			got, err := Create(context.Background(), path, &rowsSource{rows: rows, dim: s.dim, eof: i == 1}, false, &o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if why := differ(want, got); why != "" {
				t.Errorf("%s: built and created: %s", name, why)
			}
			again, err := Open(path)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if why := differ(want, again); why != "" {
				t.Errorf("%s: built and opened: %s", name, why)
			}
			if want.Coded() {
				q := data("gaussian", 1, s.dim, 2)
				var a, b Query
				want.Prepare(&a, q, 1, nil)
				again.Prepare(&b, q, 1, nil)
				if !slices.Equal(a.Head, b.Head) || !slices.Equal(a.Rest, b.Rest) || a.Norm != b.Norm {
					t.Errorf("%s: queries are prepared differently", name)
				}
			}
			info, err := Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if info.N != 333 || info.Dim != s.dim || info.Metric != m.String() || info.Basis != s.basis.String() || info.Seed != 9 ||
				info.Head != want.R || info.Rotated != want.D || info.FileBytes != st.Size() || info.Sections["rows"] != int64(4*len(rows)) || info.Path != path {
				t.Errorf("%s: Stat says %+v", name, info)
			}
			if st.Mode().Perm()&0o444 != 0o444 {
				t.Errorf("%s: mode %v", name, st.Mode())
			}
			checkNames(t, dir, "a.thresher")
			for _, c := range []*Collection{got, again, got} { // twice is harmless
				if err := c.Close(); err != nil {
					t.Errorf("%s: closing: %v", name, err)
				}
			}
		}
	}
}

func TestCreateLeavesExistingFilesAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.thresher")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	src := func() *rowsSource { return &rowsSource{rows: data("gaussian", 50, 20, 1), dim: 20} }
	untouched := func() {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || string(b) != "precious" {
			t.Errorf("the file holds %q, %v", b, err)
		}
		checkNames(t, dir, "a.thresher")
	}
	_, err := Create(context.Background(), path, src(), false, &Options{Metric: InnerProduct})
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("existing file: %v", err)
	}
	untouched()
	bad := src()
	bad.fail, bad.err = 37, errors.New("torn")
	if _, err := Create(context.Background(), path, bad, true, &Options{Metric: InnerProduct}); err == nil {
		t.Error("created from a torn source")
	}
	untouched() // even with force, until the new one is complete
	c, err := Create(context.Background(), path, src(), true, &Options{Metric: InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.N != 50 {
		t.Errorf("%d atoms", c.N)
	}
	checkNames(t, dir, "a.thresher")
	if _, err := Create(context.Background(), filepath.Join(dir, "no", "b"), src(), false, &Options{Metric: InnerProduct}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

func TestFailedCreateLeavesNothing(t *testing.T) {
	torn := errors.New("torn")
	rows := data("gaussian", 400, 40, 1)
	withNaN := slices.Clone(rows)
	withNaN[200*40+7] = float32(math.NaN())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	late, lateCancel := context.WithCancel(context.Background())
	defer lateCancel()
	before, beforeCancel := context.WithCancel(context.Background())
	beforeCancel()
	ip := &Options{Metric: InnerProduct}
	for _, c := range []struct {
		name string
		ctx  context.Context
		src  *rowsSource
		o    *Options
		want error
		says string
	}{
		{"source fails midway", context.Background(), &rowsSource{rows: rows, dim: 40, fail: 111, err: torn}, ip, torn, "torn"},
		{"source fails at once", context.Background(), &rowsSource{rows: rows, dim: 40, fail: -1 + 1, err: torn}, ip, nil, ""},
		{"empty", context.Background(), &rowsSource{dim: 40}, ip, nil, "no rows"},
		{"no columns", context.Background(), &rowsSource{dim: 0}, ip, nil, "0 columns"},
		{"fewer than none", context.Background(), &rowsSource{rows: rows, dim: -1}, ip, nil, "-1 columns"},
		{"too wide", context.Background(), &rowsSource{dim: MaxDim + 1}, ip, nil, "columns"},
		{"NaN", context.Background(), &rowsSource{rows: withNaN, dim: 40}, ip, nil, "row 200, column 7: value NaN"},
		{"cancelled before", before, &rowsSource{rows: rows, dim: 40}, ip, context.Canceled, ""},
		{"cancelled in the stream", ctx, &rowsSource{rows: rows, dim: 40, then: func(n int) {
			if n > 100 {
				cancel()
			}
		}}, ip, context.Canceled, ""},
		{"cancelled while coding", late, &rowsSource{rows: rows, dim: 40}, &Options{Metric: InnerProduct, Progress: func(done, _ int64) {
			if done > 500 {
				lateCancel()
			}
		}}, context.Canceled, ""},
		{"no options", context.Background(), &rowsSource{rows: rows, dim: 40}, nil, ErrNoMetric, "ip (largest inner product)"},
		{"no metric", context.Background(), &rowsSource{rows: rows, dim: 40, fail: 0, err: torn}, &Options{Seed: 1}, ErrNoMetric, ""},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.thresher")
		got, err := Create(c.ctx, path, c.src, false, c.o)
		if c.says == "" && c.want == nil {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			} else {
				got.Close()
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: created", c.name)
			continue
		}
		if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", c.name, err)
		}
		checkNames(t, dir)
	}
}

// TestSmallFilesAreSmall: a file has few bytes besides its sections, and Bytes counts all
// that is mapped. With each section on a page of its own 100 x 32 took 856,064 bytes.
func TestSmallFilesAreSmall(t *testing.T) {
	for _, s := range []struct{ n, dim int }{{1, 1}, {100, 32}, {1000, 128}, {64, 4096}} {
		path := filepath.Join(t.TempDir(), "a.thresher")
		c, err := Create(context.Background(), path, &rowsSource{rows: data("gaussian", s.n, s.dim, 1), dim: s.dim}, false, &Options{Metric: InnerProduct})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		held := c.Bytes() - c.unusedBytes
		if info.Size() > held+fileOverhead(held) || c.Bytes() < info.Size() {
			t.Errorf("%v: a file of %d bytes for sections of %d, %d are said to be taken", s, info.Size(), held, c.Bytes())
		}
		if s.n == 100 && info.Size() > 50_000 {
			t.Errorf("%d bytes for 100 x 32", info.Size())
		}
	}
}

package batch_test

import (
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/draws"
)

// far are rows of float64 numbers around a point far from zero.
type far struct {
	rows    []float64
	dim     int
	queries []float64
	offset  float64
}

func farRows(n, m, dim int, offset float64) far {
	r := draws.Rand(11)
	f := far{rows: make([]float64, n*dim), dim: dim, queries: make([]float64, m*dim), offset: offset}
	for i := range f.rows {
		f.rows[i] = r.NormFloat64() + offset
	}
	for i := range f.queries {
		f.queries[i] = f.rows[i] + 1e-3*r.NormFloat64()
	}
	return f
}

// nearest returns the k rows nearest to query j, by float64 differences.
func (f *far) nearest(j, k int) []int64 {
	n := len(f.rows) / f.dim
	ids, squares := make([]int64, n), make([]float64, n)
	for i := range n {
		ids[i] = int64(i)
		for d := range f.dim {
			x := f.queries[j*f.dim+d] - f.rows[i*f.dim+d]
			squares[i] += x * x
		}
	}
	slices.SortFunc(ids, func(a, b int64) int {
		switch {
		case squares[a] < squares[b]:
			return -1
		case squares[a] > squares[b]:
			return 1
		}
		return int(a - b)
	})
	return ids[:k]
}

// wrong counts the answers that are not the k nearest as sets.
func (f *far) wrong(answers []batch.Answer, k int) int {
	wrong := 0
	for j := range answers {
		want, got := f.nearest(j, k), slices.Clone(answers[j].IDs)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			wrong++
		}
	}
	return wrong
}

func narrowed(values []float64) []float32 {
	out := make([]float32, len(values))
	for i, x := range values {
		out[i] = float32(x)
	}
	return out
}

func placedEngine(t *testing.T, c *collection.Collection) *batch.Engine {
	t.Helper()
	e, err := batch.Open(context.Background(), c, cpu.New(cpu.Options{Threads: 2}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestFarRowsOfFloat64 searches float64 rows and queries around 1e6, and again in a file: all lists are
// right, where rounding them as they are makes many wrong, and certificates say what was rounded.
func TestFarRowsOfFloat64(t *testing.T) {
	const k = 10
	f := farRows(2000, 100, 32, 1e6)
	ctx, o := context.Background(), &collection.Options{Metric: collection.Euclidean, Seed: 1}
	built, err := collection.BuildFloat64(ctx, f.rows, f.dim, o)
	if err != nil {
		t.Fatal(err)
	}
	if built.Origin == nil || built.Change.Values == 0 || built.Change.Largest > 1e-6 {
		t.Fatalf("origin %v, change %+v", built.Origin != nil, built.Change)
	}
	path := filepath.Join(t.TempDir(), "far.thresher")
	saved, err := collection.Create(ctx, path, &rowsOf{built.Rows, f.dim}, false,
		&collection.Options{Metric: collection.Euclidean, Seed: 1, Origin: built.Origin, Change: built.Change})
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	rough, err := collection.Build(ctx, narrowed(f.rows), f.dim, o)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := placedEngine(t, rough).Search(ctx, batch.Request{Queries: narrowed(f.queries), K: k, Method: batch.Exact})
	if err != nil {
		t.Fatal(err)
	}
	if n := f.wrong(resp.Answers, k); n < 10 {
		t.Errorf("%d lists of rows rounded as they are are wrong: the rows are not far enough for this test", n)
	}
	for name, c := range map[string]*collection.Collection{"built": built, "saved": saved} {
		e := placedEngine(t, c)
		coalescer := batch.NewCoalescer(e, nil)
		defer coalescer.Close()
		for method, search := range map[string]func(context.Context, batch.Request) (*batch.Response, error){
			"exact": e.Search, "certain": e.Search, "auto": coalescer.Search,
		} {
			resp, err := search(ctx, batch.Request{Queries64: f.queries, K: k, Method: batch.Method(method)})
			if err != nil {
				t.Fatal(err)
			}
			if n := f.wrong(resp.Answers, k); n > 0 {
				t.Errorf("%s, %s: %d wrong lists", name, method, n)
			}
			cert := resp.Answers[0].Certificate
			if cert.VectorsChange != built.Change.Largest || cert.QueryChange == 0 || cert.QueryChange > 1e-6 {
				t.Errorf("%s, %s: changes %g and %g, want %g and a small one", name, method, cert.VectorsChange, cert.QueryChange, built.Change.Largest)
			}
			if resp.Stats.VectorsChange != cert.VectorsChange || resp.Stats.QueriesChange < cert.QueryChange {
				t.Errorf("%s, %s: stats have %g and %g", name, method, resp.Stats.VectorsChange, resp.Stats.QueriesChange)
			}
		}
		// float32 queries are given as the rows were, and stored rows are not shifted again.
		own := c.Row(3)
		resp, err := e.Search(ctx, batch.Request{Queries: own, Stored: true, K: 1, Method: batch.Exact})
		if err != nil || resp.Answers[0].IDs[0] != 3 || resp.Answers[0].Scores[0] != 0 {
			t.Errorf("%s: row 3 finds %v: %v", name, resp.Answers, err)
		}
		resp, err = e.Search(ctx, batch.Request{Queries: own, Stored: true, Changes: []float64{.5}, K: 1, Method: batch.Exact})
		if err != nil || resp.Answers[0].Scores[0] != 0 || resp.Answers[0].Certificate.QueryChange != .5 {
			t.Errorf("%s: row 3 with a change of .5: %+v, %v", name, resp.Answers, err)
		}
		given := narrowed(c.Given(3))
		resp, err = e.Search(ctx, batch.Request{Queries: given, K: 1, Method: batch.Exact})
		if err != nil || resp.Answers[0].IDs[0] != 3 || resp.Answers[0].Scores[0] > 1 {
			t.Errorf("%s: row 3 as given finds %v: %v", name, resp.Answers[0].IDs, err)
		}
	}
}

// rowsOf is a Source.
type rowsOf struct {
	rows []float32
	dim  int
}

func (r *rowsOf) Dim() int { return r.dim }

func (r *rowsOf) Read(dst []float32) (int, error) {
	n := copy(dst[:len(dst)/r.dim*r.dim], r.rows)
	if r.rows = r.rows[n:]; n == 0 {
		return 0, io.EOF
	}
	return n / r.dim, nil
}

// TestPlaced refuses queries that cannot be placed, and leaves others alone.
func TestPlaced(t *testing.T) {
	c, err := collection.BuildFloat64(context.Background(), []float64{1, 2, 3, 4}, 2, &collection.Options{Metric: collection.InnerProduct})
	if err != nil || c.Origin != nil || c.Change != (dataset.Change{}) {
		t.Fatal(err, c.Origin, c.Change)
	}
	for _, bad := range []struct {
		r    batch.Request
		want string
	}{
		{batch.Request{Queries: []float32{1, 2}, Queries64: []float64{1, 2}}, "both"},
		{batch.Request{Queries64: []float64{1, 2, 3}}, "no rows"},
		{batch.Request{Queries64: []float64{1, 2, 1, 1e39}}, "query 1: column 1"},
		{batch.Request{Queries64: []float64{math.NaN(), 2}}, "query 0: column 0"},
		{batch.Request{Queries: []float32{1, 2}, Changes: []float64{0, 0}}, "2 changes"},
	} {
		_, err := bad.r.Placed(c)
		var at *batch.RequestError
		if !errors.As(err, &at) || at.Field != "queries" || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v: want %q", err, bad.want)
		}
	}
	q := []float32{1, 2}
	if r, err := (batch.Request{Queries: q}).Placed(c); err != nil || &r.Queries[0] != &q[0] || r.Changes != nil {
		t.Errorf("queries that need nothing were copied: %v", err)
	}
	// Each query has its own change, also where they want different numbers of atoms.
	resp, err := placedEngine(t, c).Search(context.Background(), batch.Request{Queries64: []float64{.1, 0, 1, 0, .7, 0}, Method: batch.Exact, K: 1,
		Goals: []batch.QueryGoal{{K: 1}, {K: 2}, {K: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for j, x := range []float64{.1, 1, .7} {
		if want := math.Abs(x - float64(float32(x))); resp.Answers[j].Certificate.QueryChange != want {
			t.Errorf("query %d: change %g, want %g", j, resp.Answers[j].Certificate.QueryChange, want)
		}
	}
}

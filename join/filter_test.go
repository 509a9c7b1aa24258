package join_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/vectors"
	"thresher/join"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestFiltered: graphs and pairs of the vectors that a filter allows are those of these vectors alone, by the numbers that they
// have among all; of a graph the others have empty rows.
func TestFiltered(t *testing.T) {
	const n, dim = 2500, 12
	rows := vectors.Gaussian(vectors.Rand(1), n, dim)
	var filter []int64
	var some []float32
	for i := range n {
		if i%3 == 1 || i < 40 {
			filter = append(filter, int64(i))
			some = append(some, rows[i*dim:][:dim]...)
		}
	}
	all, part := engineOf(t, rows, dim, collection.Cosine), engineOf(t, some, dim, collection.Cosine)
	for _, undirected := range []bool{false, true} {
		of := func(e *batch.Engine, filter []int64) (found [][]int64) {
			g, err := join.NewGraph(e, join.GraphOptions{K: 4, Filter: filter})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			each := dataset.EachResult(func(do func(int64, *dataset.Result) error) error {
				_, err := g.Each(t.Context(), nil, func(r *dataset.Result) error { return do(r.Query, r) })
				return err
			})
			if undirected {
				u, err := join.NewUndirected(each, e.Collection().N, g.K(), false, true)
				if err != nil {
					t.Fatal(err)
				}
				each = u.Each
			}
			if err := each(func(i int64, r *dataset.Result) error {
				if i != r.Query || i != int64(len(found)) {
					t.Fatalf("row %d is that of %d", i, r.Query)
				}
				found = append(found, slices.Clone(r.Rows))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return found
		}
		got, alone := of(all, filter), of(part, nil)
		want := make([][]int64, n)
		for i, neighbours := range alone {
			for _, j := range neighbours {
				want[filter[i]] = append(want[filter[i]], filter[j])
			}
		}
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Fatalf("undirected %v: row %d has %v, want %v", undirected, i, got[i], want[i])
			}
		}
	}

	of := func(e *batch.Engine, filter []int64, other []float32) (pairs []dataset.Pair, density *join.Density) {
		o := join.PairOptions{MinScore: .6, Filter: filter, Rows: 100}
		density, err := join.Sample(t.Context(), e, o)
		if err != nil {
			t.Fatal(err)
		}
		var s *join.PairSource
		if other == nil {
			s, err = join.SelfPairs(e, o, density)
		} else {
			s, err = join.TablePairs(e, dataset.FromMemory(other, dim, nil), o, density)
		}
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, _, err := s.Next(t.Context())
			if err != nil {
				break
			}
			pairs = append(pairs, b.Pairs...)
		}
		slices.SortFunc(pairs, func(x, y dataset.Pair) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
		return pairs, density
	}
	for _, other := range [][]float32{nil, rows[:300*dim]} {
		got, density := of(all, filter, other)
		want, _ := of(part, nil, other)
		for i := range want {
			want[i].A = filter[want[i].A]
			if other == nil {
				want[i].B = filter[want[i].B]
			}
		}
		if diff := gocmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-7)); diff != "" || len(got) == 0 || density.N != len(filter) {
			t.Fatalf("%d pairs of %d: %s", len(got), density.N, diff)
		}
	}
}

// engineOf opens an engine over rows.
func engineOf(t *testing.T, rows []float32, dim int, metric collection.Metric) *batch.Engine {
	t.Helper()
	c, err := collection.Build(t.Context(), slices.Clone(rows), dim, &collection.Options{Metric: metric, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	processor := cpu.New(cpu.Options{Threads: 2})
	e, err := batch.Open(t.Context(), c, processor, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(), processor.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestFilterRefused: a filter of rows that are not there, out of order or too few is refused.
func TestFilterRefused(t *testing.T) {
	e := engineOf(t, vectors.Gaussian(vectors.Rand(1), 9, 3), 3, collection.InnerProduct)
	for _, c := range []struct {
		filter []int64
		err    string
	}{
		{[]int64{}, "allows 0 of the vectors"}, {[]int64{1, 9}, "entry 1: row 9 of 9"}, {[]int64{-1, 2}, "entry 0: row -1"}, {[]int64{3, 3}, "row 3 after row 3; rows ascend"},
	} {
		_, graph := join.NewGraph(e, join.GraphOptions{K: 1, Filter: c.filter})
		_, pairs := join.Sample(t.Context(), e, join.PairOptions{MinScore: 1, Filter: c.filter})
		for _, err := range []error{graph, pairs} {
			var invalid *batch.RequestError
			if !errors.As(err, &invalid) || invalid.Field != "filter" || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: %v, want %q", c.filter, err, c.err)
			}
		}
	}
	if _, err := join.NewGraph(e, join.GraphOptions{K: 1, Filter: []int64{4}}); err == nil {
		t.Error("a graph of one vector")
	}
}

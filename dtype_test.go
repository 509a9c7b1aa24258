package thresher_test

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher"
)

// farRows are rows around a million, whose differences of about a thousandth float32 does not hold.
func farRows(n, dim int) []float64 {
	r := rand.New(rand.NewPCG(1, 64))
	rows := make([]float64, n*dim)
	for i := range rows {
		rows[i] = 1e6 + 1e-3*r.NormFloat64()
	}
	return rows
}

// nearest are the k nearest rows of each query, by differences in float64.
func nearest(rows, queries []float64, dim, k int) (all [][]int64) {
	for q := range slices.Chunk(queries, dim) {
		far, order := make([]float64, len(rows)/dim), make([]int64, len(rows)/dim)
		for i := range far {
			order[i] = int64(i)
			for j, x := range rows[i*dim : (i+1)*dim] {
				far[i] += (q[j] - x) * (q[j] - x)
			}
		}
		slices.SortStableFunc(order, func(a, b int64) int {
			if far[a] < far[b] {
				return -1
			}
			return 1
		})
		all = append(all, order[:k])
	}
	return all
}

// TestDtype: vectors kept as float64 are found by the values given, also once they are saved; what does not take them
// says so.
func TestDtype(t *testing.T) {
	const n, dim, k = 500, 40, 5
	rows := farRows(n, dim)
	queries := slices.Clone(rows[:7*dim])
	for i := range queries {
		queries[i] += 2e-4
	}
	want := nearest(rows, queries, dim, k)
	x, err := thresher.New(t.Context(), rows, dim, thresher.Options{Metric: thresher.Euclidean, Dtype: thresher.Float64})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "far.thresher")
	if err := x.Save(t.Context(), path, false); err != nil {
		t.Fatal(err)
	}
	again, err := thresher.Open(t.Context(), path, thresher.Options{})
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := thresher.New(t.Context(), []float32{1, 2, 3, 4}, 2, thresher.Options{Metric: thresher.Euclidean, Dtype: thresher.Float64})
	if err != nil || narrow.Dtype() != thresher.Float64 {
		t.Errorf("of float32: %v, %v", narrow.Dtype(), err)
	}
	if err := narrow.Close(); err != nil {
		t.Error(err)
	}
	for _, x := range []*thresher.Index{x, again} {
		if x.Dtype() != thresher.Float64 {
			t.Errorf("dtype %v", x.Dtype())
		}
		for _, method := range []thresher.Method{thresher.Exact, thresher.Certain, thresher.Adaptive} {
			req := thresher.Request{Queries64: queries, K: k, Method: method}
			resp, err := x.Search(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			for j, a := range resp.Answers {
				if !slices.Equal(a.Rows, want[j]) || a.Certificate.VectorsChange != 0 || a.Certificate.QueryChange != 0 {
					t.Errorf("%s, query %d: %v, want %v; changes %g and %g", method, j, a.Rows, want[j], a.Certificate.VectorsChange, a.Certificate.QueryChange)
				}
			}
			sum, err := x.Verify(t.Context(), req, resp.Answers, nil)
			if err != nil || sum.Wrong != 0 || sum.Malformed != 0 {
				t.Errorf("%s: %+v, %v", method, sum, err)
			}
		}
		self := thresher.Request{Queries64: rows[:3*dim], K: 1, ExcludeSelf: true}
		if resp, err := x.Search(t.Context(), self); err != nil || resp.Answers[1].Rows[0] == 1 {
			t.Errorf("a vector is its own neighbour: %v, %v", resp, err)
		}
		self.SelfFirst = 1
		if _, err := x.Search(t.Context(), self); err == nil {
			t.Error("queries that are not the vectors they stand for are answered")
		}
		checkStated(t, x, queries, want)
		checkJoins(t, x, rows, want)
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

// checkStated compares answers of which one lacks the best vector: they are told from it though float32 does not.
func checkStated(t *testing.T, x *thresher.Index, queries []float64, want [][]int64) {
	t.Helper()
	stated := make([]thresher.Stated, len(want))
	for j := range want {
		stated[j].Rows = slices.Clone(want[j])
	}
	stated[2].Rows[0] = 499
	req := thresher.Request{Queries64: queries}
	found, err := x.Recall(t.Context(), req, stated, nil)
	if err != nil || found.Complete != 6 {
		t.Errorf("recall: %+v, %v; all but one answer are right", found, err)
	}
	resp, certified, err := x.Certify(t.Context(), req, stated, nil)
	if err != nil || certified.Right != 6 {
		t.Fatalf("certify: %+v, %v; all but one answer are right", certified, err)
	}
	for j, a := range resp.Answers {
		if !slices.Equal(a.Rows, want[j]) {
			t.Errorf("certify, query %d: %v, want %v", j, a.Rows, want[j])
		}
	}
}

// checkJoins compares the pairs of the first vectors, as another table, with those of the graph.
func checkJoins(t *testing.T, x *thresher.Index, rows []float64, want [][]int64) {
	t.Helper()
	const dim = 40
	var first []int64
	if _, err := x.Graph(t.Context(), thresher.GraphOptions{K: 5}, func(row int64, neighbours []int64, _ []float32) error {
		if row == 0 {
			first = slices.Clone(neighbours)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	all := nearest(rows, rows[:dim], dim, 6)[0]
	if !slices.Equal(first, all[1:]) {
		t.Errorf("graph: row 0 has %v, want %v", first, all[1:])
	}
	limit := 0.
	for j, v := range rows[all[5]*dim:][:dim] {
		limit += (v - rows[j]) * (v - rows[j])
	}
	var pairs []int64
	if _, err := x.Pairs(t.Context(), thresher.PairOptions{MinScore: limit, WithFloat64: rows[:dim]}, func(p thresher.Pair) error {
		pairs = append(pairs, p.A)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(pairs)
	slices.Sort(all)
	if !slices.Equal(pairs, all) {
		t.Errorf("pairs: row 0 with %v, want %v", pairs, all)
	}
}

// TestDtypeRefused: what float32 cannot bound is refused by row and column, and other types are none.
func TestDtypeRefused(t *testing.T) {
	for name, c := range map[string]struct {
		metric thresher.Metric
		dtype  thresher.Dtype
		rows   []float64
		want   string
	}{
		"beyond float32": {thresher.Euclidean, thresher.Float64, []float64{1, 2, 3, 1e300}, "row 1, column 1: value 1e+300 is not finite as float32"},
		"tiny":           {thresher.Cosine, thresher.Float64, []float64{1, 2, 1e-200, 0}, "row 1: norm is not 0"},
		"another type":   {thresher.Cosine, 5, []float64{1, 2}, "Options.Dtype uint8 is none of float32, float64"},
	} {
		_, err := thresher.New(t.Context(), c.rows, 2, thresher.Options{Metric: c.metric, Dtype: c.dtype})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

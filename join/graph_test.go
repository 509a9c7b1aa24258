package join_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/race"
	"thresher/internal/vectors"
	"thresher/join"
)

func open(t testing.TB, rows []float32, dim int, metric collection.Metric, threads int) *batch.Engine {
	t.Helper()
	c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: metric, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	e, err := batch.Open(t.Context(), c, cpu.New(cpu.Options{Threads: threads}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func metrics() []collection.Metric {
	return []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean}
}

// naive returns the k other atoms of each atom that score best, by scoring all.
func naive(c *collection.Collection, k int) []dataset.Result {
	all := make([]uint32, c.N)
	for i := range all {
		all[i] = uint32(i)
	}
	scores := make([]float64, c.N)
	var out []dataset.Result
	for i := range c.N {
		c.Scores(scores, c.Row(i), all)
		order := slices.Delete(slices.Clone(all), i, i+1)
		slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
		r := dataset.Result{Query: int64(i)}
		for _, id := range order[:min(k, len(order))] {
			r.Rows, r.Scores = append(r.Rows, int64(id)), append(r.Scores, float32(c.Metric.Shown(scores[id])))
		}
		out = append(out, r)
	}
	return out
}

// graph returns the rows of a graph, without the figures of their search.
func graph(t testing.TB, e *batch.Engine, o join.GraphOptions) ([]dataset.Result, join.GraphCertificate) {
	t.Helper()
	g, err := join.NewGraph(e, o)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var rows []dataset.Result
	cert, err := g.Each(t.Context(), nil, func(r *dataset.Result) error {
		rows = append(rows, dataset.Result{Query: r.Query, Rows: slices.Clone(r.Rows), Scores: slices.Clone(r.Scores)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, cert
}

// TestGraph: the rows are those of a naive graph, with ties, duplicates and zero vectors.
func TestGraph(t *testing.T) {
	const n, dim = 1500, 48 // more rows than a block
	rows := vectors.Ties(vectors.Rand(5), n, dim)
	clear(rows[7*dim : 8*dim])
	clear(rows[900*dim : 901*dim])
	metrics := metrics()
	if race.Enabled { // goroutines divide the rows alike in all of them
		metrics = metrics[:1]
	}
	for _, metric := range metrics {
		e := open(t, rows, dim, metric, 2)
		want := naive(e.Collection(), 12)
		for _, method := range []batch.Method{"", batch.Exact} {
			t.Run(fmt.Sprint(metric, method), func(t *testing.T) {
				got, cert := graph(t, e, join.GraphOptions{K: 12, Method: method})
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("(-naive +graph):\n%.2000s", diff)
				}
				if cert.Rows != n || cert.Exact != n || cert.Delta != 0 || cert.WrongAllowed != 0 || cert.K != 12 {
					t.Errorf("%+v", cert)
				}
			})
		}
	}
}

// TestGraphOfDuplicates: duplicates are each other's neighbours, and no atom is its own.
func TestGraphOfDuplicates(t *testing.T) {
	const n, dim = 40, 8
	rows := make([]float32, n*dim)
	for i := range rows {
		rows[i] = float32(i % dim)
	}
	for _, metric := range metrics() {
		e := open(t, rows, dim, metric, 1)
		got, _ := graph(t, e, join.GraphOptions{K: 5})
		want := map[collection.Metric]float32{collection.InnerProduct: 140, collection.Cosine: 1, collection.Euclidean: 0}[metric]
		for i, r := range got {
			if len(r.Rows) != 5 || slices.Contains(r.Rows, int64(i)) || slices.ContainsFunc(r.Scores, func(s float32) bool { return s != want }) {
				t.Fatalf("%s: row %d: %v %v", metric, i, r.Rows, r.Scores)
			}
		}
	}
}

// TestGraphOfFew: k of the number of atoms or more takes all others.
func TestGraphOfFew(t *testing.T) {
	e := open(t, []float32{1, 0, 0, 1, 1, 1}, 2, collection.InnerProduct, 1)
	got, cert := graph(t, e, join.GraphOptions{K: 9})
	want := []dataset.Result{
		{Query: 0, Rows: []int64{2, 1}, Scores: []float32{1, 0}}, {Query: 1, Rows: []int64{2, 0}, Scores: []float32{1, 0}}, {Query: 2, Rows: []int64{0, 1}, Scores: []float32{1, 1}},
	}
	if diff := gocmp.Diff(want, got); diff != "" || cert.K != 2 {
		t.Error(diff, cert.K)
	}
}

func TestGraphRefuses(t *testing.T) {
	e := open(t, []float32{1, 0, 0, 1}, 2, collection.InnerProduct, 1)
	one := open(t, []float32{1, 0}, 2, collection.InnerProduct, 1)
	for field, make := range map[string]func() (*join.Graph, error){
		"k":       func() (*join.Graph, error) { return join.NewGraph(e, join.GraphOptions{}) },
		"vectors": func() (*join.Graph, error) { return join.NewGraph(one, join.GraphOptions{K: 1}) },
	} {
		var bad *batch.RequestError
		if _, err := make(); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	g, err := join.NewGraph(e, join.GraphOptions{K: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range [][2]int{{-1, 1}, {0, 0}, {0, 3}, {2, 1}} {
		if _, err := g.Search(t.Context(), int64(block[0]), block[1]); err == nil {
			t.Errorf("rows %v were searched", block)
		}
	}
}

// TestGraphIsNeverPartial: a context that ends stops the search with an error.
func TestGraphIsNeverPartial(t *testing.T) {
	e := open(t, vectors.Gaussian(vectors.Rand(1), 3000, 32), 32, collection.Cosine, 1)
	g, err := join.NewGraph(e, join.GraphOptions{K: 3})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	rows := 0
	_, err = g.Each(ctx, func(done, total int64) {
		if done != 1024 || total != 3000 {
			t.Errorf("progress %d of %d", done, total)
		}
		cancel()
	}, func(*dataset.Result) error { rows++; return nil })
	if !errors.Is(err, context.Canceled) || rows != 1024 {
		t.Errorf("%d rows, error %v", rows, err)
	}
}

// TestGraphCertificate: a probabilistic graph says how many rows may be wrong.
func TestGraphCertificate(t *testing.T) {
	const n, dim = 3000, 320
	e := open(t, vectors.PowerLaw(vectors.Rand(2), n, dim), dim, collection.Cosine, 2)
	_, cert := graph(t, e, join.GraphOptions{K: 4, Method: batch.Adaptive, Delta: .002})
	if cert.Guarantees[batch.GuaranteeProbabilistic] != n || cert.Delta != .002 || math.Abs(cert.WrongAllowed-.002*n) > 1e-9 {
		t.Errorf("%+v", cert)
	}
}

// undirected joins or intersects the directions of a graph, naively.
func undirected(rows []dataset.Result, nearest, mutual bool) []dataset.Result {
	type pair [2]int64
	weights, directions := map[pair]float32{}, map[pair]int{}
	for _, r := range rows {
		for at, id := range r.Rows {
			p, s := pair{min(r.Query, id), max(r.Query, id)}, r.Scores[at]
			if old, known := weights[p]; known && (nearest && old < s || !nearest && old > s) {
				s = old
			}
			weights[p] = s
			directions[p]++
		}
	}
	out := make([]dataset.Result, len(rows))
	for i := range out {
		out[i].Query = int64(i)
		for j := range int64(len(rows)) {
			p := pair{min(int64(i), j), max(int64(i), j)}
			if s, known := weights[p]; known && (!mutual || directions[p] == 2) {
				out[i].Rows, out[i].Scores = append(out[i].Rows, j), append(out[i].Scores, s)
			}
		}
		sortRow(&out[i], nearest)
	}
	return out
}

func sortRow(r *dataset.Result, nearest bool) {
	order := make([]int, len(r.Rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if nearest {
			return cmp.Compare(r.Scores[a], r.Scores[b])
		}
		return cmp.Compare(r.Scores[b], r.Scores[a])
	})
	ids, scores := slices.Clone(r.Rows), slices.Clone(r.Scores)
	for at, from := range order {
		r.Rows[at], r.Scores[at] = ids[from], scores[from]
	}
}

// TestUndirected: union and intersection are those of a naive computation.
func TestUndirected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(2, 20).Draw(t, "n"), rapid.IntRange(1, 6).Draw(t, "k")
		nearest, mutual := rapid.Bool().Draw(t, "nearest"), rapid.Bool().Draw(t, "mutual")
		rows := make([]dataset.Result, n)
		for i := range rows {
			rows[i].Query = int64(i)
			ids := rapid.SliceOfNDistinct(rapid.Int64Range(0, int64(n-1)), 0, k, rapid.ID).Draw(t, "ids")
			for _, id := range ids {
				if id != int64(i) {
					rows[i].Rows = append(rows[i].Rows, id)
					rows[i].Scores = append(rows[i].Scores, float32(rapid.IntRange(0, 4).Draw(t, "score")))
				}
			}
		}
		u, err := join.NewUndirected(func(do func(i int64, r *dataset.Result) error) error {
			for i := range rows {
				if err := do(int64(i), &rows[i]); err != nil {
					return err
				}
			}
			return nil
		}, n, k, nearest, mutual)
		if err != nil {
			t.Fatal(err)
		}
		var got []dataset.Result
		for range 2 { // repeatable
			got = nil
			if err := u.Each(func(_ int64, r *dataset.Result) error {
				c := dataset.Result{Query: r.Query}
				c.Rows, c.Scores = append(c.Rows, r.Rows...), append(c.Scores, r.Scores...)
				got = append(got, c)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := gocmp.Diff(undirected(rows, nearest, mutual), got); diff != "" {
			t.Errorf("(-naive +undirected):\n%s", diff)
		}
	})
}

func TestUndirectedRefuses(t *testing.T) {
	for want, r := range map[string]dataset.Result{
		"row 3 with 0 edges":           {Query: 3},
		"row 0 with 2 edges":           {Rows: []int64{0, 1}, Scores: []float32{1, 1}},
		"with 1 edges and 0 scores":    {Rows: []int64{1}},
		"edge to 2, there are 2 rows":  {Rows: []int64{2}, Scores: []float32{1}},
		"edge to -1, there are 2 rows": {Rows: []int64{-1}, Scores: []float32{1}},
		"1 rows of a graph of 2":       {},
	} {
		_, err := join.NewUndirected(func(do func(i int64, r *dataset.Result) error) error { return do(0, &r) }, 2, 1, false, false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

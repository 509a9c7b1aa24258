package join_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/race"
	"thresher/internal/vectors"
	"thresher/join"
)

// lumps returns rows with neighbours worth guessing: clusters, duplicates, multiples and zero rows.
func lumps(n, dim int) []float32 {
	rows := vectors.PowerLaw(vectors.Rand(4), n, dim)
	for i := 50; i < n; i += 50 {
		copy(rows[i*dim:(i+1)*dim], rows[(i-50)*dim/100*100:])
		for j := range dim {
			rows[(i-1)*dim+j] = 2 * rows[(i-2)*dim+j]
		}
	}
	clear(rows[7*dim : 8*dim])
	clear(rows[900*dim : 901*dim])
	return rows
}

// TestPairsOnce: searching each pair once makes the graph that searching the atoms one by one makes.
func TestPairsOnce(t *testing.T) {
	const dim = 96
	n := 5000
	if testing.Short() {
		n = 2000
	}
	rows := lumps(n, dim)
	metrics := metrics()
	if race.Enabled { // goroutines divide the rows alike in all of them
		metrics = metrics[:1]
	}
	for _, metric := range metrics {
		e := open(t, rows, dim, metric, 2)
		for _, k := range []int{1, 15} {
			t.Run(fmt.Sprint(metric, k), func(t *testing.T) {
				want, _ := graph(t, e, join.GraphOptions{K: k, Way: join.ByRow})
				g, err := join.NewGraph(e, join.GraphOptions{K: k, Way: join.ByPair})
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				var got []dataset.Result
				cert, err := g.Each(t.Context(), nil, func(r *dataset.Result) error {
					got = append(got, dataset.Result{Query: r.Query, Rows: slices.Clone(r.Rows), Scores: slices.Clone(r.Scores)})
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if !g.PairsOnce() {
					t.Error("the vectors were searched one by one")
				}
				if cert.Rows != int64(n) || cert.Exact != int64(n) || cert.WrongAllowed != 0 {
					t.Errorf("%+v", cert)
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("(-one by one +each pair once):\n%.3000s", diff)
				}
			})
		}
	}
}

// TestTriangleResumes: a search that goes on with the log of another makes the same graph.
func TestTriangleResumes(t *testing.T) {
	const dim, k = 96, 6
	n := int64(5000)
	if testing.Short() {
		n = 2500
	}
	e := open(t, lumps(int(n), dim), dim, collection.Cosine, 2)
	want, _ := graph(t, e, join.GraphOptions{K: k, Way: join.ByRow})
	var log []dataset.Result
	each := func(do func(i int64, r *dataset.Result) error) error {
		for i := range log {
			if err := do(int64(i), &log[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for first := int64(0); first < n; {
		g, err := join.NewGraph(e, join.GraphOptions{K: k, Way: join.ByPair})
		if err != nil {
			t.Fatal(err)
		}
		if first > 0 {
			if err := g.Resume(each); err != nil {
				t.Fatal(err)
			}
			if _, err := g.Search(t.Context(), first-1, 1); err == nil {
				t.Error("a block was searched twice")
			}
		}
		for range 2 {
			b, err := g.Search(t.Context(), first, int(min(700, n-first)))
			if err != nil {
				t.Fatal(err)
			}
			log = append(log, b.Results...)
			if first += int64(len(b.Atoms)); first == n {
				break
			}
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	g, err := join.NewGraph(e, join.GraphOptions{K: k, Way: join.ByPair})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Resume(each); err != nil {
		t.Fatal(err)
	}
	var got []dataset.Result
	if err := g.Rows(each)(func(_ int64, r *dataset.Result) error {
		got = append(got, dataset.Result{Query: r.Query, Rows: slices.Clone(r.Rows), Scores: slices.Clone(r.Scores)})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-whole +resumed):\n%.3000s", diff)
	}

	for name, wrong := range map[string]dataset.Result{"row": {Query: n}, "atom": {Query: 1, Rows: []int64{n}}, "second order": {Query: -1}} {
		log = append(log[:2:2], wrong)
		g, err := join.NewGraph(e, join.GraphOptions{K: k, Way: join.ByPair})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Resume(each); err == nil {
			t.Errorf("%s: a log of another graph was taken", name)
		}
	}
	broken := errors.New("broken")
	if err := g.Resume(func(func(int64, *dataset.Result) error) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestGraphByCost: atoms are searched one by one where pairs would not pay or the memory is not there.
func TestGraphByCost(t *testing.T) {
	if testing.Short() {
		t.Skip("searches 30,000 vectors")
	}
	same := make([]float32, 5000*96)
	for i := range same {
		same[i] = float32(i % 96)
	}
	few := open(t, vectors.PowerLaw(vectors.Rand(1), 1000, 96), 96, collection.Cosine, 2)
	duplicates := open(t, same, 96, collection.Cosine, 2)
	large := open(t, vectors.Embeddings(vectors.Rand(1), 30000, 512), 512, collection.Cosine, 2)
	for name, c := range map[string]struct {
		e     *batch.Engine
		o     join.GraphOptions
		pairs bool
	}{
		"few":        {few, join.GraphOptions{K: 3}, false},
		"duplicates": {duplicates, join.GraphOptions{K: 3}, false},
		"large":      {large, join.GraphOptions{K: 450}, true},
		"memory":     {large, join.GraphOptions{K: 200, Memory: 1 << 20}, false},
		"gap":        {large, join.GraphOptions{K: 200, Epsilon: .01}, false},
		"exact":      {large, join.GraphOptions{K: 200, Method: batch.Exact}, false},
		"rows":       {large, join.GraphOptions{K: 200, Way: join.ByRow}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := join.NewGraph(c.e, c.o)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if _, err := g.Search(t.Context(), 0, 2); err != nil {
				t.Fatal(err)
			}
			if g.PairsOnce() != c.pairs {
				t.Errorf("pairs once: %t", !c.pairs)
			}
		})
	}
}

// TestByPairRefuses: pairs are searched by method certain, without gaps, where atoms have heads.
func TestByPairRefuses(t *testing.T) {
	e := open(t, vectors.PowerLaw(vectors.Rand(1), 2000, 96), 96, collection.Cosine, 1)
	small := open(t, vectors.PowerLaw(vectors.Rand(1), 200, 8), 8, collection.Cosine, 1)
	for i, make := range []func() (*join.Graph, error){
		func() (*join.Graph, error) { return join.NewGraph(e, join.GraphOptions{K: 3, Way: "diagonals"}) },
		func() (*join.Graph, error) {
			return join.NewGraph(e, join.GraphOptions{K: 3, Way: join.ByPair, Method: batch.Adaptive})
		},
		func() (*join.Graph, error) {
			return join.NewGraph(e, join.GraphOptions{K: 3, Way: join.ByPair, Epsilon: 1})
		},
		func() (*join.Graph, error) { return join.NewGraph(e, join.GraphOptions{K: 300, Way: join.ByPair}) },
		func() (*join.Graph, error) {
			return join.NewGraph(e, join.GraphOptions{K: 3, Way: join.ByPair, Memory: 1000})
		},
		func() (*join.Graph, error) { return join.NewGraph(small, join.GraphOptions{K: 3, Way: join.ByPair}) },
	} {
		var bad *batch.RequestError
		if _, err := make(); !errors.As(err, &bad) || bad.Field != "way" {
			t.Error(i, err)
		}
	}
}

package cpu_test

import (
	"context"
	"math"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestCertainFindsBest: queries are atoms, of which a deterministic look at 32 of 768 coordinates
// must score the best at once, because its bound is the greatest, though its estimate is below
// the threshold of the first chunk. All atoms survived if it were not.
func TestCertainFindsBest(t *testing.T) {
	const n, dim, m, width = 8192, 768, 8, 32
	rows := vectors.Gaussian(vectors.Rand(6), n, dim)
	c, err := collection.Build(context.Background(), rows, dim, &collection.Options{Metric: collection.Cosine, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	g := backend.Goal{K: 1, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
	goals := make([]backend.Goal, m)
	var queries []float32
	for j := range goals {
		goals[j] = g
		queries = append(queries, c.Row(int(c.Order[n-1-j*100]))...)
	}
	for _, source := range []backend.Source{backend.Exact, backend.LowerBound} {
		l := backendtest.Ladder{Name: "panels by certain bounds", Looks: []backend.Look{{Rep: backend.Panels, Rule: backend.Cauchy, To: width, Source: source, FirstChunk: 1024}}}
		for j, a := range search(t, c, l, 1, backend.Queries{M: m, Dim: dim, Data: queries}, goals) {
			if want := int64(c.Order[n-1-j*100]); len(a.IDs) != 1 || a.IDs[0] != want {
				t.Errorf("query %d: found %v, want %d", j, a.IDs, want)
			}
			if kept := a.Looks[0].Survivors; kept > n/4 {
				t.Errorf("query %d: %d of %d atoms survive the look", j, kept, n)
			}
		}
	}
}

// TestEqualScoresAreListed: fewer than k atoms of a first chunk have the one word of a query, so the threshold is
// 0, which nearly all atoms score. A look that scored those whose estimate reaches it would score half of them.
func TestEqualScoresAreListed(t *testing.T) {
	const n, dim, m, k, words = 8192, 512, 8, 20, 3
	c, err := collection.Build(t.Context(), vectors.Counts(vectors.Rand(7), n, dim, words), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	goals, queries := make([]backend.Goal, m), make([]float32, m*dim)
	for j := range goals {
		goals[j] = backend.Goal{K: k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		queries[j*dim+j] = 1
	}
	for _, source := range []backend.Source{backend.Exact, backend.LowerBound} {
		for _, look := range []backend.Look{{Rule: backend.Cauchy, To: c.D}, {Rule: backend.Student, To: 128, Alpha: 1e-4}} {
			look.Rep, look.Source, look.FirstChunk = backend.Panels, source, 1024
			l := backendtest.Ladder{Name: "panels", Looks: []backend.Look{look}}
			for j, a := range search(t, c, l, 1, backend.Queries{M: m, Dim: dim, Data: queries}, goals) {
				if len(a.IDs) != k || a.Scores[k-1] < 1 {
					t.Errorf("%v, query %d: found %v of scores %v", look, j, a.IDs, a.Scores)
				}
				if a.RowsScored > n/16 {
					t.Errorf("%v, query %d: %d of %d rows scored", look, j, a.RowsScored, n)
				}
			}
		}
	}
}

// TestTiesWaitForBetterAtoms: a query whose k best all have its one word, as one atom in 170 has, lists the first
// thousands of atoms, which score 0, and drops them later. It goes dense if there are fewer than k such atoms.
func TestTiesWaitForBetterAtoms(t *testing.T) {
	const n, dim, m, words = 8192, 512, 8, 3
	c, err := collection.Build(t.Context(), vectors.Counts(vectors.Rand(8), n, dim, words), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	queries := make([]float32, m*dim)
	for j := range m {
		queries[j*dim+j] = 1
	}
	look := backend.Look{Rep: backend.Panels, Rule: backend.Student, To: 128, Alpha: 1e-4, FirstChunk: 1024, MaxSurvivors: .2}
	for _, x := range []struct {
		k     int
		dense bool
	}{{20, false}, {200, true}} {
		goals := make([]backend.Goal, m)
		for j := range goals {
			goals[j] = backend.Goal{K: x.k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		}
		for j, a := range search(t, c, backendtest.Ladder{Name: "panels", Looks: []backend.Look{look}}, 1, backend.Queries{M: m, Dim: dim, Data: queries}, goals) {
			if a.Dense != x.dense || len(a.IDs) != x.k {
				t.Errorf("k = %d, query %d: dense %v, %d atoms found", x.k, j, a.Dense, len(a.IDs))
			}
		}
	}
}

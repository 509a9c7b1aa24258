//go:build cuda && cgo

package gpu

import (
	"math"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestManyGiven: more candidates than are scored at once, for a query whose best the device keeps and for one
// that wants so many atoms that the host collects the scores, by looks and by a dense scan.
func TestManyGiven(t *testing.T) {
	if !myTurn(1) {
		t.Skip("another order of threads has it")
	}
	const n, dim = bestOnDevice + 600, 16
	rng := vectors.Rand(31)
	s := &backendtest.Set{Name: "gaussian", Dim: dim, Rows: vectors.Gaussian(rng, n, dim), Queries: vectors.Gaussian(rng, 1, dim)}
	c, err := collection.Build(t.Context(), s.Rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, Options{})
	defer shut(t, "backend", b.Close)
	r, err := b.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "resident", r.Close)
	o := backendtest.NewOracle(c)
	var given []uint32
	for i := range uint32(n) {
		if i%7 == 3 {
			given = append(given, i)
		}
	}
	for _, k := range []int{10, bestOnDevice + 50} {
		g := backend.Goal{K: k, Floor: math.Inf(-1), Ceiling: math.Inf(1), Candidates: given, Allowed: n}
		q, want := backend.Queries{M: 1, Dim: dim, Data: s.Query(0)}, o.Answer(s.Query(0), g)
		for _, l := range backendtest.Ladders(c, 1e-12)[:3] {
			got, _, err := l.Search(t.Context(), r, q, []backend.Goal{g})
			if err != nil {
				t.Fatal(l.Name, err)
			}
			a := &got[0]
			for _, d := range o.Explain(s.Query(0), g, *a, want) {
				if d.Kind != backendtest.Tie {
					t.Errorf("k %d, %s: %v", k, l.Name, d)
				}
			}
			if rows := n + len(given); a.Dense && a.RowsScored != rows || !a.Dense && (a.RowsScored < len(given) || a.RowsScored > n) {
				t.Errorf("k %d, %s: %d rows scored, dense %v, of %d with %d candidates", k, l.Name, a.RowsScored, a.Dense, n, len(given))
			}
		}
	}
}

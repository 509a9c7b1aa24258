package batch

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"thresher/backend"
	"thresher/batch/plan"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestFiltersShareAPlan: plans depend on the rounded number of allowed atoms, so that similar
// filters share a plan.
func TestFiltersShareAPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, math.MaxInt32).Draw(t, "atoms")
		if c := coarse(n); c > n || float64(c) < .88*float64(n) || coarse(n+1) < c {
			t.Errorf("%d is about %d, and one more about %d", n, c, coarse(n+1))
		}
		// A part is all of the total only if it is, and the share that is left out is as near as the part.
		m := rapid.IntRange(0, n).Draw(t, "allowed")
		switch c := coarsePart(m, n); {
		case 2*m > n && (n-c > n-m || float64(n-c) < .88*float64(n-m)):
			t.Errorf("%d of %d leave out about %d", m, n, n-c)
		case 2*m <= n && c != coarse(m):
			t.Errorf("%d of %d are about %d", m, n, c)
		}
	})
	rows := vectors.Gaussian(vectors.Rand(1), 5000, 64)
	c, err := collection.Build(t.Context(), rows, 64, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(c)
	e.setCosts(backend.Portable(), backend.Description{Capacity: backend.PortableCapacity()})
	r := vectors.Rand(2)
	made := map[*plan.Plan]bool{}
	for range 200 {
		req := Request{Queries: rows[:64], K: 1}
		for _, row := range r.Perm(5000)[:1000+r.IntN(40)] {
			req.Filter = append(req.Filter, int64(row))
		}
		w, err := e.newWork(&req, nil)
		if err != nil {
			t.Fatal(err)
		}
		made[w.strategy.Plan] = true
	}
	if n := len(made); n > 4 {
		t.Errorf("%d plans for filters of about as many vectors", n)
	}
}

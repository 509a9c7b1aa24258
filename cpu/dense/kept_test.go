package dense

import (
	"math"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
	"thresher/simd"
)

// TestWays: dense scans of several passes score rows together at their end if their queries want as
// many atoms together as there are, whatever the first of them wants (TestLargeKStopped relies on that);
// and rows that all queries of a pass want are scored without float32 products.
func TestWays(t *testing.T) {
	const n, dim, most = 4000, 16, 70
	rows := vectors.PowerLaw(vectors.Rand(6), n, dim)
	c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := rowsOf(t, c, simd.Best(), 1)
	for _, way := range []struct {
		name                   string
		m, first, others       int
		together, withoutTests bool
	}{
		{"one pass", 4, 500, 500, false, false},
		{"two passes", most, 500, 500, true, false},
		{"two passes, the first query wants one atom", most, 1, 500, true, false},
		{"two passes for few atoms", most, 500, 10, false, false},
		{"all atoms", 4, n, n, false, true},
		{"all atoms but one", 4, n, n - 1, false, false},
	} {
		goals := make([]backend.Goal, way.m)
		for j := range goals {
			goals[j] = backend.Goal{K: way.others, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		}
		goals[0].K = way.first
		x := begin(t, r, rows[:way.m*dim], goals)
		queries := backend.QueryIndexes(0, way.m)
		if err := x.Scan(t.Context(), queries); err != nil {
			t.Fatal(err)
		}
		if together := x.queries[0].scanned.IDs != nil; together != way.together {
			t.Errorf("%s: rows scored together is %v", way.name, together)
		}
		if passes := x.passes(queries); passes[0].wantsAll(x) != way.withoutTests || way.withoutTests != (passes[0].scan(x) == scoreEach) {
			t.Errorf("%s: wants all is %v", way.name, !way.withoutTests)
		}
	}
}

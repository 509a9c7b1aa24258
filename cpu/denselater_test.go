package cpu

import (
	"math"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestDenseWays: dense scans of several jobs score rows together at their end if their queries want as
// many atoms together as there are, whatever the first of them wants (TestLargeKStopped relies on that);
// and rows that all queries of a job want are scored without float32 products.
func TestDenseWays(t *testing.T) {
	const n, dim, most = 4000, 16, 70
	rows := vectors.PowerLaw(vectors.Rand(6), n, dim)
	c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := New(Options{Threads: 1}).Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	for _, way := range []struct {
		name                   string
		m, first, others       int
		together, withoutTests bool
	}{
		{"one job", 4, 500, 500, false, false},
		{"two jobs", most, 500, 500, true, false},
		{"two jobs, the first query wants one atom", most, 1, 500, true, false},
		{"two jobs for few atoms", most, 500, 10, false, false},
		{"all atoms", 4, n, n, false, true},
		{"all atoms but one", 4, n, n - 1, false, false},
	} {
		goals := make([]backend.Goal, way.m)
		for j := range goals {
			goals[j] = backend.Goal{K: way.others, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		}
		goals[0].K = way.first
		begun, err := loaded.(*resident).Begin(t.Context(), backend.Queries{M: way.m, Dim: dim, Data: rows[:way.m*dim]}, goals)
		if err != nil {
			t.Fatal(err)
		}
		x := begun.(*run)
		for j := range x.states {
			x.states[j].scanned = survivors{} // of an earlier run
		}
		queries := backend.QueryIndexes(0, way.m)
		if err := x.Dense(t.Context(), queries...); err != nil {
			t.Fatal(err)
		}
		if together := x.states[0].scanned.ids != nil; together != way.together {
			t.Errorf("%s: rows scored together is %v", way.name, together)
		}
		if jobs := x.denseJobs(queries); jobs[0].wantsAll(x) != way.withoutTests || way.withoutTests != (jobs[0].scan(x) == scoreEach) {
			t.Errorf("%s: wants all is %v", way.name, !way.withoutTests)
		}
		x.Close()
	}
}

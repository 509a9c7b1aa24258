package cpu

import (
	"context"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// begun begins a run of one query, the first of n generated rows, for k of them.
func begun(t *testing.T, n, dim, k int) *run {
	t.Helper()
	rows := vectors.PowerLaw(vectors.Rand(4), n, dim)
	c, err := collection.Build(context.Background(), rows, dim, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	res, err := New(Options{Threads: 1}).Load(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	x, err := res.Begin(context.Background(), backend.Queries{M: 1, Dim: dim, Data: rows[:dim]},
		[]backend.Goal{{K: k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close(); res.Close() })
	return x.(*run)
}

// TestCountLeft compares the number of arms left with a count of the lists, between looks, after a
// look that a context stopped, and after a floor that rose.
func TestCountLeft(t *testing.T) {
	const n, k = 3000, 5
	x := begun(t, n, 384, k)
	s := &x.states[0]
	var counts []int
	check := func(when string) {
		t.Helper()
		want, _ := s.CountOpen()
		if got := s.CountLeft(); got != want {
			t.Errorf("%s: %d arms left, the lists have %d", when, got, want)
		}
		counts = append(counts, want)
	}
	pull := func(ctx context.Context, l backend.Look) {
		t.Helper()
		if left, err := x.Pull(ctx, l); err != ctx.Err() || left[0] != s.CountLeft() {
			t.Fatalf("%v, %v, want %d", left, err, s.CountLeft())
		}
	}
	floor := func(f float64) {
		t.Helper()
		if err := x.Floor(t.Context(), []float64{f}); err != nil {
			t.Fatal(err)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()

	check("at the beginning")
	pull(t.Context(), backend.Look{Rep: backend.Panels, To: x.C.Stages[0].Width, Rule: backend.Cauchy, Source: backend.LowerBound})
	check("after a look at panels")
	floor(math.Ldexp(s.Tau, s.Exp) * 1.02)
	check("after a floor")
	later := backend.Look{Rep: backend.RowCodes, To: x.C.Stages[1].Width, Rule: backend.Cauchy, Source: backend.LowerBound}
	pull(stopped, later)
	check("after a look that was stopped")
	pull(t.Context(), later)
	check("after a look at rows")
	if !slices.IsSortedFunc(counts, func(a, b int) int { return b - a }) || counts[1] == counts[2] || counts[4] == 0 {
		t.Errorf("counts %v: neither the floor nor the looks are tested", counts)
	}
}

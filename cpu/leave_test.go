package cpu

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestRevisitGoesOn cancels later looks between tiles, again and again: resumed looks have
// the results of looks that were not interrupted.
func TestRevisitGoesOn(t *testing.T) {
	const n, dim, m = 3000, 256, 6
	rng := vectors.Rand(9)
	c, err := collection.Build(context.Background(), vectors.Gaussian(rng, n, dim), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	queries := backend.Queries{M: m, Dim: dim, Data: vectors.Gaussian(rng, m, dim)}
	var goals []backend.Goal
	for range m {
		goals = append(goals, backend.Goal{K: 10, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)})
	}
	looks := []backend.Look{{Rep: backend.Panels, To: c.Stages[0].Width, Rule: backend.Cauchy},
		{Rep: backend.RowCodes, To: c.Stages[1].Width, Rule: backend.Student, Alpha: 1e-4}, {Rep: backend.RowCodes, To: c.D, Rule: backend.Cauchy}}
	answer := func(threads, every int) (a backend.Answers, cancellations int) {
		loaded, err := New(Options{Threads: threads}).Load(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		r := loaded.(*resident)
		r.TileBytes = 64 * (c.R + c.D)
		run, err := r.Begin(t.Context(), queries, goals)
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		for i, l := range looks {
			err := context.Canceled
			for ; err != nil && i > 0; cancellations++ {
				_, err = run.Pull(backendtest.NewCountdown(every, context.Canceled), l)
				every++ // with 0 no call would make progress
			}
			if i == 0 {
				_, err = run.Pull(t.Context(), l)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if a, err = run.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a, cancellations - 2
	}
	want, _ := answer(1, 1<<20)
	for j := range want {
		if l := want[j].Looks; len(l) != 3 || l[1].Seen < 1000 || l[2].Seen < 100 {
			t.Fatalf("query %d: looks %+v; too few arms for several tiles", j, l)
		}
	}
	for threads := 1; threads <= 2; threads++ {
		for every := range 20 {
			got, cancellations := answer(threads, every)
			if every < 10 && cancellations < 3 {
				t.Errorf("%d threads, cancelled every %d checks: %d times", threads, every, cancellations)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%d threads, cancelled every %d checks (-undisturbed +here):\n%s", threads, every, diff)
			}
		}
	}
}

// TestLeaveReportsFigures: a query that leaves within its first look has the figures of the look so
// far.
func TestLeaveReportsFigures(t *testing.T) {
	const n = 2000
	x := begun(t, n, 64, 3)
	look := backend.Look{Rep: backend.Panels, To: x.C.Stages[0].Width, Rule: backend.Cauchy}
	if _, err := x.Pull(backendtest.NewCountdown(3, context.Canceled), look); err == nil {
		t.Fatal("not stopped")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := x.Leave(over, 0)
	if err != nil {
		t.Fatal(err)
	}
	a := got[0]
	if len(a.Looks) != 1 || a.Looks[0].Seen < 64 || a.Looks[0].Seen >= n || a.Complete() || len(a.IDs) != 3 || a.Pulls <= int64(a.RowsScored)*64 {
		t.Errorf("%+v; want 3 atoms, and a look at some of %d", a, n)
	}
	if _, err := x.Leave(over, 0); err == nil {
		t.Error("left twice")
	}
	if _, err := x.Leave(over, 1); err == nil {
		t.Error("one of one left as query 1")
	}
}

package batch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// losing is a backend whose device is lost for good in the middle of a run, after a number of
// others.
type losing struct {
	*cpu.Backend
	runs int // that succeed
	tell *int
}

func (m *losing) Name() string { return "losing" }

func (m *losing) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	r, err := m.Backend.Load(ctx, c)
	return &losingResident{r, m}, err
}

type losingResident struct {
	backend.Resident
	m *losing
}

func (r *losingResident) Begin(ctx context.Context, q backend.Queries, g []backend.Goal) (backend.Run, error) {
	*r.m.tell++
	if *r.m.tell > r.m.runs+1 {
		return nil, fmt.Errorf("begin: %w", backend.ErrUnavailable)
	}
	run, err := r.Resident.Begin(ctx, q, g)
	return &losingRun{run, r.m}, err
}

type losingRun struct {
	backend.Run
	m *losing
}

func (r *losingRun) Pull(ctx context.Context, l backend.Look) (backend.Survivors, error) {
	if *r.m.tell > r.m.runs {
		return nil, fmt.Errorf("pull: %w", backend.ErrUnavailable)
	}
	return r.Run.Pull(ctx, l)
}

// TestLost checks that a lost backend is reported once and not used again, and that
// certificates name the backend that answered.
func TestLost(t *testing.T) {
	const dim = 200
	rng := vectors.Rand(1)
	rows := vectors.PowerLaw(rng, 800, dim)
	c := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	req := batch.Request{Queries: rows[:5*dim], K: 10, Method: batch.Certain, Plan: "64,whole,rescore"}
	want := search(t, over(t, c, 1, nil), req)
	begun := 0
	var w watcher
	e, err := batch.Open(t.Context(), c, &losing{cpu.New(cpu.Options{Threads: 1}), 1, &begun},
		&batch.Options{Fallback: cpu.New(cpu.Options{Threads: 1}), Observer: &w})
	if err != nil {
		t.Fatal(err)
	}
	for i, by := range []string{"losing", "cpu", "cpu", "cpu"} {
		resp, err := e.Search(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if e.Backend() != by {
			t.Errorf("search %d: backend %s, want %s", i, e.Backend(), by)
		}
		if why := e.Instead(); (why != nil) != (by == "cpu") || why != nil && !errors.Is(why, backend.ErrUnavailable) {
			t.Errorf("search %d: by %s instead because of %v", i, by, why)
		}
		for j := range resp.Answers {
			if c := &resp.Answers[j].Certificate; c.Backend != by {
				t.Errorf("search %d, query %d: certificate by %q, want %q", i, j, c.Backend, by)
			} else {
				c.Backend = want.Answers[j].Certificate.Backend
			}
		}
		same(t, want.Answers, resp.Answers)
	}
	if begun != 2 || len(w.fell) != 1 || !errors.Is(w.reasons[0], backend.ErrUnavailable) {
		t.Errorf("%d runs begun; told of %v for %v", begun, w.fell, w.reasons)
	}
	if len(w.searched) != 4 {
		t.Errorf("told of %d searches", len(w.searched))
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := e.Search(t.Context(), req); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("after Close: error %v", err)
	}
}

// TestLostAlone checks that without a fallback every search fails.
func TestLostAlone(t *testing.T) {
	const dim = 40
	rows := vectors.Gaussian(vectors.Rand(1), 200, dim)
	c := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct})
	begun := 0
	e, err := batch.Open(t.Context(), c, &losing{cpu.New(cpu.Options{Threads: 1}), 0, &begun}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for range 2 {
		if _, err := e.Search(t.Context(), batch.Request{Queries: rows[:dim], K: 3, Method: batch.Adaptive}); !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
	}
}

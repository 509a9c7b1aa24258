package batch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

var errBroken = errors.New("broken on purpose")

// broken is a backend that fails at one call and otherwise does what cpu does.
type broken struct {
	*cpu.Backend
	at   string
	with error
}

func (b *broken) Name() string { return "broken" }

func (b *broken) fails(at string) error {
	if b.at == at {
		return fmt.Errorf("%s: %w", at, b.with)
	}
	return nil
}

func (b *broken) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	if err := b.fails("load"); err != nil {
		return nil, err
	}
	r, err := b.Backend.Load(ctx, c)
	return &brokenResident{r, b}, err
}

type brokenResident struct {
	backend.Resident
	b *broken
}

func (r *brokenResident) Begin(ctx context.Context, q backend.Queries, g []backend.Goal) (backend.Run, error) {
	if err := r.b.fails("begin"); err != nil {
		return nil, err
	}
	run, err := r.Resident.Begin(ctx, q, g)
	return &brokenRun{run, r.b}, err
}

type brokenRun struct {
	backend.Run
	b *broken
}

func (r *brokenRun) Pull(ctx context.Context, l backend.Look) (backend.Survivors, error) {
	if err := r.b.fails("pull"); err != nil {
		return nil, err
	}
	return r.Run.Pull(ctx, l)
}

func (r *brokenRun) Finish(ctx context.Context) (backend.Answers, error) {
	if err := r.b.fails("finish"); err != nil {
		return nil, err
	}
	return r.Run.Finish(ctx)
}

// watcher records the calls of an Observer.
type watcher struct {
	mu       sync.Mutex
	fell     []string
	reasons  []error
	searched []batch.Method
	queries  int
	stats    batch.Stats
}

func (w *watcher) Searched(m batch.Method, queries int, s batch.Stats, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.searched = append(w.searched, m)
	w.queries += queries
	w.stats = s
}

func (w *watcher) FellBack(from string, reason error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fell, w.reasons = append(w.fell, from), append(w.reasons, reason)
}

// TestFallback lets the primary backend fail at each kind of call: the fallback answers as it
// would alone, and the observer is called.
func TestFallback(t *testing.T) {
	const dim = 200
	rng := vectors.Rand(1)
	rows := vectors.PowerLaw(rng, 800, dim)
	c := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	req := batch.Request{Queries: rows[:5*dim], K: 10, Method: batch.Certain}
	want := search(t, over(t, c, 1, nil), req)
	for _, at := range []string{"load", "begin", "pull", "finish"} {
		for _, with := range []error{errBroken, backend.ErrRuleUnsupported, backend.ErrMemory} {
			var w watcher
			e, err := batch.Open(t.Context(), c, &broken{cpu.New(cpu.Options{Threads: 1}), at, with},
				&batch.Options{Fallback: cpu.New(cpu.Options{Threads: 1}), Observer: &w})
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			for range 2 {
				resp, err := e.Search(t.Context(), req)
				if err != nil {
					t.Fatalf("%s: %v", at, err)
				}
				same(t, want.Answers, resp.Answers)
			}
			times, name := 2, "broken"
			if at == "load" {
				times, name = 1, "cpu"
			}
			if len(w.fell) != times || w.fell[0] != "broken" || !errors.Is(w.reasons[0], with) {
				t.Errorf("%s: told of %v for %v", at, w.fell, w.reasons)
			}
			if len(w.searched) != 2 || w.searched[0] != batch.Certain || w.queries != 10 || w.stats != want.Stats {
				t.Errorf("%s: told of %v, %d queries, %+v", at, w.searched, w.queries, w.stats)
			}
			if why := e.Instead(); (why != nil) != (at == "load") || why != nil && !errors.Is(why, with) {
				t.Errorf("%s: %s instead because of %v", at, name, why)
			}
			if e.Backend() != name {
				t.Errorf("%s: backend %s, want %s", at, e.Backend(), name)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestNoFallback: without a fallback the caller gets the error.
func TestNoFallback(t *testing.T) {
	rows := vectors.Gaussian(vectors.Rand(1), 200, 40)
	c := build(t, rows, 40, &collection.Options{Metric: collection.InnerProduct})
	for _, at := range []string{"load", "begin", "pull", "finish"} {
		e, err := batch.Open(t.Context(), c, &broken{cpu.New(cpu.Options{Threads: 1}), at, errBroken}, nil)
		if err == nil {
			_, err = e.Search(t.Context(), batch.Request{Queries: rows[:40], K: 3, Method: batch.Adaptive})
			e.Close()
		}
		if !errors.Is(err, errBroken) {
			t.Errorf("%s: error %v", at, err)
		}
	}
	// both fail
	e, err := batch.Open(t.Context(), c, &broken{cpu.New(cpu.Options{Threads: 1}), "pull", errBroken},
		&batch.Options{Fallback: &broken{cpu.New(cpu.Options{Threads: 1}), "load", backend.ErrMemory}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Search(t.Context(), batch.Request{Queries: rows[:40], K: 3, Method: batch.Adaptive}); !errors.Is(err, errBroken) || !errors.Is(err, backend.ErrMemory) {
		t.Errorf("error %v, want both failures", err)
	}
}

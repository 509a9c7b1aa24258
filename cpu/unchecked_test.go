package cpu

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/cpu/threads"
	"thresher/internal/vectors"
)

// manyPairs is a search whose looks keep most arms of many queries.
type manyPairs struct {
	c     *collection.Collection
	q     backend.Queries
	goals []backend.Goal
	looks []backend.Look
}

func newManyPairs(t *testing.T, n, m, k int, basis collection.Basis) *manyPairs {
	t.Helper()
	const dim = 256
	rng := vectors.Rand(7)
	c, err := collection.Build(t.Context(), vectors.Gaussian(rng, n, dim), dim, &collection.Options{Seed: 2, Metric: collection.InnerProduct, Basis: basis})
	if err != nil {
		t.Fatal(err)
	}
	s := &manyPairs{c: c, q: backend.Queries{M: m, Dim: dim, Data: vectors.Gaussian(rng, m, dim)}}
	for range m {
		s.goals = append(s.goals, backend.Goal{K: k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)})
	}
	return s
}

// run answers on one thread, with a context for each step until it is done. counted are the pairs that
// were counted until the end of each look.
func (s *manyPairs) run(t *testing.T, ctx func() context.Context) (r *resident, answers backend.Answers, counted []int64) {
	t.Helper()
	loaded, err := New(Options{Threads: 1}).Load(t.Context(), s.c)
	if err != nil {
		t.Fatal(err)
	}
	r = loaded.(*resident)
	run, err := r.Begin(t.Context(), s.q, s.goals)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	for _, l := range s.looks {
		err := context.Canceled
		for err == context.Canceled {
			_, err = run.Pull(ctx(), l)
		}
		if err != nil {
			t.Fatal(err)
		}
		pairs, _ := r.Counted()
		counted = append(counted, pairs)
	}
	if answers, err = run.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r, answers, counted
}

// TestChecksOften: between two checks of its context a goroutine computes at most MaxUnchecked pairs of
// an atom and a query: a chunk of 4,096 atoms for 64 queries. All pairs are counted.
func TestChecksOften(t *testing.T) {
	all := func(s *manyPairs) []backend.Look {
		stage := len(s.c.Stages) - 1
		return []backend.Look{{Rep: backend.Panels, To: s.c.Stages[0].Width, Rule: backend.Cauchy, Source: backend.Exact},
			{Rep: backend.RowCodes, To: s.c.Stages[stage].Width, Rule: backend.Cauchy, Source: backend.Exact}}
	}
	for _, x := range []struct {
		name string
		n, m int
		k    int
		b    collection.Basis
		of   func(s *manyPairs) []backend.Look
	}{
		{"looks", 4500, 300, 20, collection.Rotated, all},
		{"large k", 4500, 300, 2000, collection.Rotated, func(s *manyPairs) []backend.Look { return all(s)[:1] }},
		{"float32", 9000, 120, 20, collection.Raw, func(s *manyPairs) []backend.Look {
			return []backend.Look{{Rep: backend.Float32, From: 0, To: s.c.Bounds[1], Rule: backend.Cauchy}}
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newManyPairs(t, x.n, x.m, x.k, x.b)
			s.looks = x.of(s)
			r, answers, counted := s.run(t, func() context.Context { return t.Context() })
			before := int64(0)
			for i := range s.looks {
				pairs := int64(0)
				for j := range answers {
					if l := answers[j].Looks; i < len(l) {
						pairs += int64(l[i].Seen)
					}
				}
				if pairs < 3*threads.MaxUnchecked {
					t.Fatalf("look %d takes %d pairs, too few to tell", i, pairs)
				}
				if got := counted[i] - before; got < pairs {
					t.Errorf("look %d: %d pairs are counted, it took %d", i, got, pairs)
				}
				before = counted[i]
			}
			if _, most := r.Counted(); most > threads.MaxUnchecked || most == 0 {
				t.Errorf("%d pairs between two checks, at most %d", most, threads.MaxUnchecked)
			}
		})
	}
}

// TestInterruptedChunks stops looks within their chunks and tiles, again and again: the answers are those
// of looks that were not stopped.
func TestInterruptedChunks(t *testing.T) {
	s := newManyPairs(t, 3000, 300, 20, collection.Rotated)
	s.looks = []backend.Look{{Rep: backend.Panels, To: s.c.Stages[0].Width, Rule: backend.Cauchy, Source: backend.Exact},
		{Rep: backend.RowCodes, To: s.c.Stages[len(s.c.Stages)-1].Width, Rule: backend.Cauchy, Source: backend.Exact}}
	_, want, _ := s.run(t, func() context.Context { return t.Context() })
	for _, first := range []int{1, 7} {
		every, calls := first, 0
		_, got, _ := s.run(t, func() context.Context {
			every, calls = every+1, calls+1 // with none more, no call might make progress
			return backendtest.NewCountdown(every, context.Canceled)
		})
		if calls < 4 {
			t.Errorf("stopped %d times", calls-2)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("stopped after %d checks and more (-undisturbed +stopped):\n%.2000s", first, diff)
		}
	}
}

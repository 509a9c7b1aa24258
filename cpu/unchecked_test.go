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

// manyPairs is a search whose looks keep most arms of many queries.
type manyPairs struct {
	c     *collection.Collection
	q     backend.Queries
	goals []backend.Goal
	looks []backend.Look // none: a dense scan
}

func newManyPairs(t *testing.T, n, m, k int, basis collection.Basis) *manyPairs {
	t.Helper()
	const dim = 48
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

// run answers on one thread, with a context for each step until it is done.
func (s *manyPairs) run(t *testing.T, ctx func() context.Context) (*resident, backend.Answers) {
	t.Helper()
	loaded, err := New(Options{Threads: 1}).Load(t.Context(), s.c)
	if err != nil {
		t.Fatal(err)
	}
	r := loaded.(*resident)
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
	}
	if len(s.looks) == 0 {
		if err := run.Dense(t.Context(), backend.QueryIndexes(0, s.q.M)...); err != nil {
			t.Fatal(err)
		}
	}
	answers, err := run.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r, answers
}

// TestChecksOften: between two checks of its context a goroutine computes at most mostUnchecked pairs of
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
		{"looks", 9000, 300, 20, collection.Rotated, all},
		{"looks of large k", 9000, 300, 2000, collection.Rotated, all},
		{"float32", 40_000, 12, 20, collection.Raw, func(s *manyPairs) []backend.Look {
			return []backend.Look{{Rep: backend.Float32, From: 0, To: s.c.Bounds[1], Rule: backend.Cauchy}}
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newManyPairs(t, x.n, x.m, x.k, x.b)
			s.looks = x.of(s)
			r, answers := s.run(t, func() context.Context { return t.Context() })
			pairs := int64(0)
			for j := range answers {
				for _, l := range answers[j].Looks {
					pairs += int64(l.Seen)
				}
			}
			if least := int64(4 * mostUnchecked); pairs < least && x.name != "float32" {
				t.Fatalf("%d pairs, too few to tell", pairs)
			}
			if got := r.computed.pairs.Load(); got < pairs-mostUnchecked {
				t.Errorf("%d pairs are counted, the looks took %d", got, pairs)
			}
			if most := r.computed.most.Load(); most > mostUnchecked || most == 0 {
				t.Errorf("%d pairs between two checks, at most %d", most, mostUnchecked)
			}
		})
	}
}

// TestInterruptedChunks stops looks within their chunks and tiles, again and again: the answers are those
// of looks that were not stopped.
func TestInterruptedChunks(t *testing.T) {
	s := newManyPairs(t, 9000, 300, 20, collection.Rotated)
	s.looks = []backend.Look{{Rep: backend.Panels, To: s.c.Stages[0].Width, Rule: backend.Cauchy, Source: backend.Exact},
		{Rep: backend.RowCodes, To: s.c.Stages[len(s.c.Stages)-1].Width, Rule: backend.Cauchy, Source: backend.Exact}}
	_, want := s.run(t, func() context.Context { return t.Context() })
	for _, first := range []int{1, 7} {
		every, calls := first, 0
		_, got := s.run(t, func() context.Context {
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

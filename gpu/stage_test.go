//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/gpu/device"
	"thresher/internal/vectors"
)

// staging is an engine whose backend stages batches of a few queries.
type staging struct {
	card    *Backend
	engine  *batch.Engine
	queries []float32
}

// newStaging returns one with pieces of so many values; with 0 nothing is staged.
func newStaging(t *testing.T, c *collection.Collection, pieceValues int) *staging {
	t.Helper()
	s := &staging{card: open(t, Options{}).(*Backend), queries: vectors.PowerLaw(vectors.Rand(52), 40, c.Dim)}
	if pieceValues > 0 {
		s.card.machines[0].pieceValues = pieceValues
	}
	var err error
	if s.engine, err = batch.Open(t.Context(), c, s.card, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		shut(t, "engine", s.engine.Close)
		shut(t, "backend", s.card.Close)
	})
	return s
}

// TestStage: answers and certificates do not depend on whether queries are staged, nor on how they are
// divided into pieces.
func TestStage(t *testing.T) {
	needDriver(t)
	const n, dim = 1100, 48
	rows := vectors.PowerLaw(vectors.Rand(51), n, dim)
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Seed: 1, Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		plain := newStaging(t, c, 0)
		for _, pieceValues := range []int{1, 5 * dim, 20 * dim} {
			staged := newStaging(t, c, pieceValues)
			for _, req := range []batch.Request{{Method: batch.Exact}, {Method: batch.Adaptive, Delta: 1e-9, Plan: "whole,rescore"}} {
				req.Queries, req.K = staged.queries, 7
				want, err := plain.engine.Search(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				got, err := staged.engine.Search(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want, got, cmpopts.IgnoreFields(batch.Response{}, "Took")); d != "" {
					t.Errorf("%s, %s, pieces of %d: %s", metric, req.Method, pieceValues, d)
				}
			}
		}
	}
}

// TestStageUse: a run uses what is staged if its queries are in the same order, and only one run; what no
// run uses is released; a busy device stages nothing. Nothing is left in use.
func TestStageUse(t *testing.T) {
	needDriver(t)
	c, err := collection.Build(t.Context(), vectors.PowerLaw(vectors.Rand(51), 600, 48), 48, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := newStaging(t, c, 96)
	m := s.card.machines[0]
	loaded, err := s.card.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "resident", loaded.Close)
	r := loaded.(*resident)
	given := backend.Queries{M: len(s.queries) / 48, Dim: 48, Data: s.queries}
	checked := make([]int, given.M)
	stage := func() backend.Queries {
		t.Helper()
		clear(checked)
		q, err := r.Stage(given, func(lo, hi int) error {
			for j := lo; j < hi; j++ {
				checked[j]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for j, n := range checked {
			if n != 1 {
				t.Errorf("query %d was checked %d times", j, n)
			}
		}
		return q
	}
	goals := make([]backend.Goal, given.M)
	for j := range goals {
		goals[j] = backend.Goal{K: 3, Floor: math.Inf(-1), Ceiling: math.Inf(1), Allowed: c.N}
	}
	begin := func(q backend.Queries) *run {
		t.Helper()
		x, err := r.Begin(t.Context(), q, goals)
		if err != nil {
			t.Fatal(err)
		}
		return x.(*run)
	}
	q := stage()
	first, second := begin(q), begin(q)
	if first.staged == nil || second.staged != nil {
		t.Errorf("the first run uses %v, the second %v", first.staged, second.staged)
	}
	shut(t, "first run", first.Close) // before anything was uploaded
	shut(t, "second run", second.Close)
	q.Staged.Release()
	pinned := m.d.Usage().Pinned // the memory is in the pool, from which the next batch takes it

	q = stage()
	goals[0].K = 0 // the last slot
	other := begin(q)
	if other.staged != nil {
		t.Error("a run whose queries are in another order uses what is staged")
	}
	shut(t, "other run", other.Close)
	q.Staged.Release()
	q.Staged.Release()

	err = m.d.Do(t.Context(), func(th *device.Thread) error {
		if q := stage(); q.Staged != nil {
			t.Error("a busy device stages")
		}
		if u := m.d.Usage(); u.Pinned != pinned {
			t.Errorf("%d bytes of pinned memory, %d after the first batch", u.Pinned, pinned)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestStageRefuses: a value that is not finite is reported with its query and column, whichever piece it is in,
// and later searches are answered.
func TestStageRefuses(t *testing.T) {
	needDriver(t)
	const dim = 48
	c, err := collection.Build(t.Context(), vectors.PowerLaw(vectors.Rand(51), 600, dim), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := newStaging(t, c, 2*dim)
	req := batch.Request{Queries: s.queries, K: 3, Method: batch.Adaptive}
	want, err := s.engine.Search(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	before := s.card.machines[0].d.Usage()
	for _, at := range []int{0, 17*dim + 5, len(s.queries) - 1} {
		bad := append([]float32(nil), s.queries...)
		bad[at], bad[len(bad)-1] = float32(math.NaN()), float32(math.Inf(1))
		value := bad[at]
		_, err := s.engine.Search(t.Context(), batch.Request{Queries: bad, K: 3, Method: batch.Adaptive})
		var refused *batch.RequestError
		if text := fmt.Sprintf("queries: query %d: column %d: value %g", at/dim, at%dim, value); !errors.As(err, &refused) || err.Error() != text {
			t.Errorf("%v, want %s", err, text)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if resp, err := s.engine.Search(ended, req); !errors.Is(err, context.Canceled) || resp == nil || resp.Answers[0].Certificate.StoppedBy != batch.Cancelled {
		t.Errorf("an ended context: %v", err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 2 {
				got, err := s.engine.Search(t.Context(), req)
				if err != nil {
					t.Error(err)
				} else if d := cmp.Diff(want.Answers, got.Answers); d != "" {
					t.Error(d)
				}
			}
		})
	}
	wg.Wait()
	if after := s.card.machines[0].d.Usage(); after.Live > before.Live+6*4 { // a batch takes six at most
		t.Errorf("%d allocations after searches, %d before", after.Live, before.Live)
	}
}

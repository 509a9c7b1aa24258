//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/internal/vectors"
)

// mixedSearch is a search whose first look is at mixed codes.
type mixedSearch struct {
	c      *collection.Collection
	o      *backendtest.Oracle
	s      *backendtest.Set
	r      backend.Resident
	goals  []backend.Goal
	ladder backendtest.Ladder
}

func newMixedSearch(t *testing.T, metric collection.Metric) *mixedSearch {
	t.Helper()
	const n, dim = 1300, 136
	rng := vectors.Rand(63)
	x := &mixedSearch{s: &backendtest.Set{Name: "power-law", Dim: dim, Rows: vectors.PowerLaw(rng, n, dim), Queries: vectors.PowerLaw(rng, 9, dim)}}
	var err error
	if x.c, err = collection.Build(t.Context(), x.s.Rows, dim, &collection.Options{Seed: 2, Metric: metric}); err != nil {
		t.Fatal(err)
	}
	b := open(t, Options{})
	if x.r, err = b.Load(t.Context(), x.c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		shut(t, "resident", x.r.Close)
		shut(t, "backend", b.Close)
	})
	x.o = backendtest.NewOracle(x.c)
	for range x.s.M() {
		x.goals = append(x.goals, backend.Goal{K: 5, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)})
	}
	x.ladder = backendtest.Ladder{Looks: []backend.Look{{Rep: backend.Mixed, To: x.c.Stages[0].Width, Rule: backend.Student, Alpha: 1e-12}}}
	return x
}

// search takes the look, checks the answers and returns the kernels that ran and the flags of the queries after it.
func (x *mixedSearch) search(t *testing.T) (kernels []string, flags []uint32) {
	t.Helper()
	kernels = kernelsOf(t, x.r, func() {
		begun, err := x.r.Begin(t.Context(), backend.Queries{M: x.s.M(), Dim: x.s.Dim, Data: x.s.Queries}, x.goals)
		if err != nil {
			t.Fatal(err)
		}
		defer shut(t, "run", begun.Close)
		if _, err := begun.Pull(t.Context(), x.ladder.Looks[0]); err != nil {
			t.Fatal(err)
		}
		for _, s := range begun.(*run).b.states {
			flags = append(flags, s.flags)
		}
		got, err := begun.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for j := range got {
			for _, d := range x.o.Explain(x.s.Query(j), x.goals[j], got[j], x.o.Answer(x.s.Query(j), x.goals[j])) {
				if d.Kind != backendtest.Tie {
					t.Errorf("query %d: %v", j, d)
				}
			}
		}
	})
	return kernels, flags
}

// TestMixedLook: which kernels take a first look at mixed codes, for which queries, and what becomes of it where there are none.
func TestMixedLook(t *testing.T) {
	scans := func(kernels []string, name string) bool { return slices.Contains(kernels, name) }
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine} {
		x := newMixedSearch(t, metric)
		few, allowed := x.o.Filter(func(row int) bool { return row%500 == 3 })
		x.goals[2].Filter, x.goals[2].Allowed = few, allowed // fewer than it wants: it never has a threshold
		kernels, flags := x.search(t)
		if !scans(kernels, "scan_mixed") || !scans(kernels, "scan_s8") {
			t.Errorf("%v: kernels %v", metric, kernels)
		}
		for j, f := range flags {
			if f&flagMixed != 0 == (j == 2) {
				t.Errorf("%v: query %d has flags %#x", metric, j, f)
			}
		}
	}
	x := newMixedSearch(t, collection.Euclidean)
	if kernels, _ := x.search(t); scans(kernels, "scan_mixed") {
		t.Errorf("offsets: kernels %v", kernels)
	}
	x = newMixedSearch(t, collection.InnerProduct)
	r := x.r.(*resident)
	spare := r.stores.spare
	r.stores.spare = math.MaxInt64 / 2
	if kernels, _ := x.search(t); scans(kernels, "scan_mixed") {
		t.Errorf("without room: kernels %v", kernels)
	}
	r.stores.spare = spare
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.m.do(t.Context(), func(q *queue) error {
		_, err := r.compileLook(stopped, q, x.ladder.Looks[0])
		return err
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
	if kernels, _ := x.search(t); !scans(kernels, "scan_mixed") {
		t.Errorf("with room: kernels %v", kernels)
	}
}

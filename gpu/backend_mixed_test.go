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

// check reports answers that differ from the oracle's by more than ties.
func (x *mixedSearch) check(t *testing.T, got backend.Answers) {
	t.Helper()
	for j := range got {
		for _, d := range x.o.Explain(x.s.Query(j), x.goals[j], got[j], x.o.Answer(x.s.Query(j), x.goals[j])) {
			if d.Kind != backendtest.Tie {
				t.Errorf("query %d: %v", j, d)
			}
		}
	}
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
		x.check(t, got)
	})
	return kernels, flags
}

// TestMixedLook: which kernels take a first look at mixed codes, for which queries.
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
}

// TestMixedCodesLater: looks are at panels while the mixed codes are computed and while there is no room for them, and at mixed codes after that.
// A search's end does not end the computation, but that of the resident does.
func TestMixedCodesLater(t *testing.T) {
	x := newMixedSearch(t, collection.InnerProduct)
	r, stage := x.r.(*resident), 0
	takesMixed := func(when string, want bool) {
		t.Helper()
		if kernels, _ := x.search(t); slices.Contains(kernels, "scan_mixed") != want {
			t.Errorf("%s: kernels %v", when, kernels)
		}
	}
	r.m.awaitMixed = nil
	r.mixed[stage] = &mixedStage{done: make(chan struct{})}
	takesMixed("while they are computed", false)
	delete(r.mixed, stage)

	spare := r.stores.spare
	r.stores.spare = math.MaxInt64 / 2
	takesMixed("without room", false)
	if r.mixed[stage] != nil || !r.mixedRefused {
		t.Error("codes for which there is no room are computed")
	}
	r.stores.spare = spare

	compile := func(ctx context.Context) error {
		return r.m.do(t.Context(), func(q *queue) error {
			_, err := r.compileLook(ctx, q, x.ladder.Looks[0])
			return err
		})
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	// However soon the codes are there, the search ends before it sees them.
	r.m.awaitMixed = func(ctx context.Context, _ <-chan struct{}) error { return ctx.Err() }
	if err := compile(stopped); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.m.awaitMixed = await
	<-r.mixed[stage].done
	r.stores.spare = math.MaxInt64 / 2
	takesMixed("once there is no room any more", false)
	r.stores.spare = spare
	takesMixed("with room", true)
	if s := r.mixed[stage]; s.codes != nil || s.onDevice == nil {
		t.Errorf("codes that are on the device: %+v", s)
	}
}

// TestMixedCodesEnd: a resident that is closed while its mixed codes are computed ends their computation.
func TestMixedCodesEnd(t *testing.T) {
	x := newMixedSearch(t, collection.InnerProduct)
	r := x.r.(*resident)
	r.m.awaitMixed = nil
	err := r.m.do(t.Context(), func(q *queue) error {
		_, err := r.compileLook(t.Context(), q, x.ladder.Looks[0])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s := r.mixed[0]
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.done:
	default:
		t.Error("the codes are still computed")
	}
}

// TestMixedCodesOfParts: every part of a collection on several devices has mixed codes.
func TestMixedCodesOfParts(t *testing.T) {
	x := newMixedSearch(t, collection.InnerProduct)
	b := several(t)
	defer shut(t, "backend", b.Close)
	r, err := b.Load(t.Context(), x.c)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "resident", r.Close)
	got, _, err := x.ladder.Search(t.Context(), r, backend.Queries{M: x.s.M(), Dim: x.s.Dim, Data: x.s.Queries}, x.goals)
	if err != nil {
		t.Fatal(err)
	}
	x.check(t, got)
	for k, part := range r.(*shards).all {
		if s := part.mixed[0]; s == nil || s.onDevice == nil {
			t.Errorf("part %d has no mixed codes", k)
		}
	}
}

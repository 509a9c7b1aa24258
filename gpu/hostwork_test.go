//go:build cuda && cgo

package gpu

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"testing"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/gpu/device/emulator"
	"thresher/internal/vectors"
)

// hostWork is the work of the host: calls of Device.Do, waits for enqueued work, kernels launched,
// and driver calls, including these and the two that begin and end each Do.
type hostWork struct{ does, waits, launches, driverCalls int }

// warmSearches is how many equal searches precede one whose work is counted: the first uploads terms and allocates,
// the second finds this memory in the pool, and in the third the same launches come for the second time.
const warmSearches = 3

// count adds the work of f, apart from the number of Do.
func (t *hostWork) count(f func() error) error {
	count := func(sign int) {
		for name, to := range map[string]*int{"waits": &t.waits, "launches": &t.launches, "calls": &t.driverCalls} {
			n, _ := emulator.Count(name)
			*to += sign * int(n)
		}
	}
	count(-1)
	defer count(1)
	return f()
}

// smallSearch returns a small collection, and queries.
func smallSearch(t *testing.T) (*collection.Collection, []float32) {
	t.Helper()
	const n, dim, most = 1100, 160, 64
	rng := vectors.Rand(41)
	rows, queries := vectors.PowerLaw(rng, n, dim), vectors.PowerLaw(rng, most, dim)
	c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c, queries
}

// TestHostWorkOfSearches counts the host's work for searches of an engine, which is the same for one query
// as for many.
func TestHostWorkOfSearches(t *testing.T) {
	needEmulator(t)
	c, queries := smallSearch(t)
	b := open(t, Options{})
	defer shut(t, "backend", b.Close)
	e, err := batch.Open(t.Context(), c, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "engine", e.Close)
	const singly = "settled by a look, without graphs"
	for _, x := range []struct {
		name string
		req  batch.Request
		m    int
		want hostWork
	}{
		{singly, batch.Request{Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore"}, 1, hostWork{2, 1, 14, 21}},
		{"settled by a look", batch.Request{Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore"}, 1, hostWork{2, 1, 14, 8}},
		{"two looks", batch.Request{Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore"}, 64, hostWork{3, 2, 22, 13}},
		{"best of 90 KiB", batch.Request{Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore", K: 120}, 64, hostWork{3, 2, 19, 13}},
		{"dense", batch.Request{Method: batch.Exact}, 1, hostWork{2, 2, 13, 18}},
	} {
		b.(*Backend).machines[0].graphQueries = graphQueries
		if x.name == singly {
			b.(*Backend).machines[0].graphQueries = 0
		}
		x.req.Queries, x.req.K = queries[:x.m*c.Dim], cmp.Or(x.req.K, 10)
		search := func() error {
			_, err := e.Search(t.Context(), x.req)
			return err
		}
		for range warmSearches {
			if err := search(); err != nil {
				t.Fatal(x.name, err)
			}
		}
		got := hostWork{does: 1}
		if err := got.count(search); err != nil {
			t.Fatal(x.name, err)
		}
		for ; got.does < 50; got.does++ { // until there is no Do of this number to fail
			t.Setenv(failVariable, fmt.Sprintf("cuCtxPushCurrent:%d:1", got.does+1))
			err := search()
			t.Setenv(failVariable, "")
			if err == nil {
				break
			}
		}
		if got != x.want {
			t.Errorf("%s: %+v, want %+v", x.name, got, x.want)
		}
	}
}

// TestHostWorkOfStart counts the host's work for a search that one look with a start settles, over one further chunk.
func TestHostWorkOfStart(t *testing.T) {
	needEmulator(t)
	c, queries := smallSearch(t)
	b := openStarting(t)
	defer shut(t, "backend", b.Close)
	b.machines[0].startAtoms = 1024 // as many as the plan's first chunk
	e, err := batch.Open(t.Context(), c, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "engine", e.Close)
	req := batch.Request{Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore", K: 10, Queries: queries[:c.Dim]}
	var got hostWork
	for range warmSearches + 1 {
		got = hostWork{}
		if err := got.count(func() error { _, err := e.Search(t.Context(), req); return err }); err != nil {
			t.Fatal(err)
		}
	}
	if want := (hostWork{0, 1, 15, 8}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestHostWorkOfCalls counts the host's work for each call of a run.
func TestHostWorkOfCalls(t *testing.T) {
	needEmulator(t)
	c, queries := smallSearch(t)
	b := open(t, Options{})
	defer shut(t, "backend", b.Close)
	r, err := b.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "resident", r.Close)
	goals := []backend.Goal{{K: 10, Floor: math.Inf(-1), Allowed: c.N, Ceiling: math.Inf(1)}}
	looks := []backend.Look{{Rep: backend.Panels, To: c.Stages[0].Width, Rule: backend.Cauchy}, {Rep: backend.RowCodes, To: c.D, Rule: backend.Cauchy}}
	for n := range warmSearches + 1 {
		var x backend.Run
		for _, step := range []struct {
			name string
			call func(ctx context.Context) error
			want hostWork
		}{
			{"begin", func(ctx context.Context) (err error) {
				x, err = r.Begin(ctx, backend.Queries{M: 1, Dim: c.Dim, Data: queries[:c.Dim]}, goals)
				return err
			}, hostWork{}},
			{"first look", func(ctx context.Context) error { _, err := x.Pull(ctx, looks[0]); return err }, hostWork{0, 1, 14, 6}},
			{"second look", func(ctx context.Context) error { _, err := x.Pull(ctx, looks[1]); return err }, hostWork{0, 1, 5, 5}},
			{"finish", func(ctx context.Context) error { _, err := x.Finish(ctx); return err }, hostWork{0, 0, 0, 2}},
			{"close", func(context.Context) error { return x.Close() }, hostWork{}},
		} {
			var got hostWork
			if err := got.count(func() error { return step.call(t.Context()) }); err != nil {
				t.Fatal(step.name, err)
			}
			if n == warmSearches && got != step.want {
				t.Errorf("%s: %+v, want %+v", step.name, got, step.want)
			}
		}
	}
}

// TestAllocationsOfSearches: what a search allocates does not grow with the number of its queries, by looks and by a
// dense scan.
func TestAllocationsOfSearches(t *testing.T) {
	needEmulator(t)
	c, queries := smallSearch(t)
	b := open(t, Options{})
	defer shut(t, "backend", b.Close)
	e, err := batch.Open(t.Context(), c, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "engine", e.Close)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, req := range []batch.Request{{Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore"}, {Method: batch.Exact}} {
		allocations := func(m int) float64 {
			req.Queries, req.K = queries[:m*c.Dim], 10
			return testing.AllocsPerRun(2, func() {
				if _, err := e.Search(t.Context(), req); err != nil {
					t.Error(err)
				}
			})
		}
		const few, many = 16, 64
		if each := (allocations(many) - allocations(few)) / (many - few); each > .2 {
			t.Errorf("%s: %g allocations a query", req.Method, each)
		}
	}
}

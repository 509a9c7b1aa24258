//go:build cuda && cgo

package gpu

import (
	"context"
	"fmt"
	"math"
	"testing"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/gpu/emulator"
	"thresher/internal/vectors"
)

// toll is what something takes: turns at the device, waits for what was enqueued,
// kernels, and calls of the driver, these included and two that begin and end a turn.
type toll struct{ turns, waits, launches, calls int }

// pay adds what f takes, turns aside.
func (t *toll) pay(f func() error) error {
	count := func(sign int) {
		for name, to := range map[string]*int{"waits": &t.waits, "launches": &t.launches, "calls": &t.calls} {
			n, _ := emulator.Count(name)
			*to += sign * int(n)
		}
	}
	count(-1)
	defer count(1)
	return f()
}

// tolled is a small collection, and queries.
func tolled(t *testing.T) (*collection.Collection, []float32) {
	t.Helper()
	const n, dim, most = 1100, 160, 64
	rng := vectors.Rand(41)
	rows, queries := vectors.PowerLaw(rng, n, dim), vectors.PowerLaw(rng, most, dim)
	c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c, queries
}

// TestTurns has the engine search and counts what the host does for it: on a GPU each
// takes some microseconds, and a search for one query is not many more.
func TestTurns(t *testing.T) {
	needEmulator(t)
	c, queries := tolled(t)
	b := open(t, Options{})
	defer shut(t, "backend", b.Close)
	e, err := batch.Open(t.Context(), c, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "engine", e.Close)
	for _, x := range []struct {
		name string
		req  batch.Request
		m    int
		want toll
	}{
		{"settled by a look", batch.Request{Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore"}, 1, toll{2, 1, 14, 22}},
		{"two looks", batch.Request{Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore"}, 64, toll{3, 2, 19, 31}},
		{"dense", batch.Request{Method: batch.Exact}, 1, toll{2, 2, 12, 25}},
	} {
		x.req.Queries, x.req.K = queries[:x.m*c.Dim], 10
		search := func() error {
			_, err := e.Search(t.Context(), x.req)
			return err
		}
		if err := search(); err != nil { // which makes terms, and allocates
			t.Fatal(x.name, err)
		}
		got := toll{turns: 1}
		if err := got.pay(search); err != nil {
			t.Fatal(x.name, err)
		}
		for ; got.turns < 50; got.turns++ { // until no turn of this number is there to fail
			t.Setenv(failVariable, fmt.Sprintf("cuCtxPushCurrent:%d:1", got.turns+1))
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

// TestTollOfCalls counts the same by the calls of a run.
func TestTollOfCalls(t *testing.T) {
	needEmulator(t)
	c, queries := tolled(t)
	b := open(t, Options{})
	defer shut(t, "backend", b.Close)
	r, err := b.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "resident", r.Close)
	goals := []backend.Goal{{K: 10, Floor: math.Inf(-1), Allowed: c.N, Skip: -1}}
	looks := []backend.Look{{Rep: backend.Panels, To: c.Stages[0].Width, Rule: backend.Cauchy}, {Rep: backend.RowCodes, To: c.D, Rule: backend.Cauchy}}
	for _, warm := range []bool{false, true} {
		var x backend.Run
		for _, step := range []struct {
			name string
			call func(ctx context.Context) error
			want toll
		}{
			{"begin", func(ctx context.Context) (err error) {
				x, err = r.Begin(ctx, backend.Queries{M: 1, Dim: c.Dim, Data: queries[:c.Dim]}, goals)
				return err
			}, toll{}},
			{"first look", func(ctx context.Context) error { _, err := x.Pull(ctx, looks[0]); return err }, toll{0, 1, 14, 20}},
			{"second look", func(ctx context.Context) error { _, err := x.Pull(ctx, looks[1]); return err }, toll{0, 1, 5, 9}},
			{"finish", func(ctx context.Context) error { _, err := x.Finish(ctx); return err }, toll{0, 0, 0, 2}},
			{"close", func(context.Context) error { return x.Close() }, toll{}},
		} {
			var got toll
			if err := got.pay(func() error { return step.call(t.Context()) }); err != nil {
				t.Fatal(step.name, err)
			}
			if warm && got != step.want {
				t.Errorf("%s: %+v, want %+v", step.name, got, step.want)
			}
		}
	}
}

//go:build cuda && cgo

package gpu

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/backend/backendtest"
	engine "thresher/batch"
	"thresher/collection"
	"thresher/cpu"
)

// told keeps what an engine says of its backends.
type told []error

func (*told) Searched(engine.Method, int, engine.Stats, time.Duration) {}

func (w *told) FellBack(_ string, reason error) { *w = append(*w, reason) }

// TestEngine searches by plans of every kind on the GPU and on the CPU: the ids are
// the same, and certificates say where they are from.
func TestEngine(t *testing.T) {
	const dim, n, m = 200, 1500, 6
	rng := backendtest.Rand(31)
	rows, queries := backendtest.PowerLaw(rng, n, dim), backendtest.PowerLaw(rng, m, dim)
	c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	processor := cpu.New(cpu.Options{Threads: 1})
	b := open(t, Options{})
	defer shut(t, "backend", b.Close)
	e, err := engine.Open(t.Context(), c, b, &engine.Options{Fallback: processor})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "engine", e.Close)
	want, err := engine.Open(t.Context(), c, processor, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "engine", want.Close)
	for _, req := range []engine.Request{
		{Method: engine.Exact}, {Method: engine.Certain}, {Method: engine.Adaptive, Delta: 1e-9},
		{Method: engine.Certain, Plan: "whole,rows"}, {Method: engine.Adaptive, Delta: 1e-9, Plan: "64,whole,rows"},
		{Method: engine.Auto, Delta: 1e-9, ExcludeSelf: true},
	} {
		req.Queries, req.K = queries, 10
		got, err := e.Search(t.Context(), req)
		if err != nil {
			t.Fatalf("%s %s: %v", req.Method, req.Plan, err)
		}
		same, err := want.Search(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for j := range got.Answers {
			if d := cmp.Diff(same.Answers[j].IDs, got.Answers[j].IDs); d != "" {
				t.Errorf("%s %s, query %d (-cpu +cuda):\n%s", req.Method, req.Plan, j, d)
			}
			if by := got.Answers[j].Certificate.Backend; by != "cuda" {
				t.Errorf("%s %s, query %d: by %q", req.Method, req.Plan, j, by)
			}
		}
	}
}

// TestEngineOutlives loses the device at one launch after another of a search: the
// CPU answers that search and all later ones, and the loss is told once.
func TestEngineOutlives(t *testing.T) {
	needEmulator(t)
	const dim, n = 48, 1200
	rng := backendtest.Rand(32)
	rows := backendtest.PowerLaw(rng, n, dim)
	c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	processor := cpu.New(cpu.Options{Threads: 1})
	req := engine.Request{Queries: rows[:4*dim], K: 5, Method: engine.Certain}
	lost := 0
	for _, at := range []string{"1", "2", "5", "9", "14", "20"} {
		b := open(t, Options{})
		var w told
		e, err := engine.Open(t.Context(), c, b, &engine.Options{Fallback: processor, Observer: &w})
		if err != nil {
			t.Fatal(err)
		}
		for k := range 3 {
			if k == 1 {
				t.Setenv(failVariable, "cuLaunchKernel:"+at+":719")
			}
			got, err := e.Search(t.Context(), req)
			t.Setenv(failVariable, "")
			if err != nil {
				t.Fatalf("launch %s, search %d: %v", at, k, err)
			}
			by := "cuda"
			if len(w) > 0 {
				by = "cpu"
			}
			for j := range got.Answers {
				if a := &got.Answers[j]; a.IDs[0] != int64(j) || a.Certificate.Backend != by {
					t.Errorf("launch %s, search %d, query %d: ids %v by %q, want %q", at, k, j, a.IDs, a.Certificate.Backend, by)
				}
			}
		}
		switch {
		case len(w) > 1 || len(w) == 1 && !errors.Is(w[0], backend.ErrUnavailable):
			t.Errorf("launch %s: told %v", at, w)
		case len(w) == 1:
			lost++
		}
		shut(t, "engine", e.Close)
		shut(t, "backend", b.Close)
	}
	if lost < 4 {
		t.Errorf("the device was lost %d times", lost)
	}
}

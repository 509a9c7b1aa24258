//go:build cuda && cgo

package gpu

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/gpu/device"
)

// graphRequests are searches of all kinds, of at most m of the set's queries.
func graphRequests(s *served, m int) []batch.Request {
	low := -1e30
	var all []batch.Request
	for _, few := range []int{1, m} {
		for _, req := range []batch.Request{
			{Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore"}, {Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore", K: 3},
			{Method: batch.Certain, Plan: "whole,rescore"}, {Method: batch.Exact},
			{Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore", Exclude: []int64{3, 5, 8, 13}},
			{Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore", Filter: []int64{1, 2, 3, 500, 501, 700, 900, 1000, 1001, 1099, 1150}},
			{Method: batch.Certain, Plan: "64,whole,rescore", MaxScore: new(float64), MinScore: &low},
		} {
			if req.K == 0 {
				req.K = 10
			}
			req.Queries = s.set.Queries[:few*s.set.Dim]
			all = append(all, req)
		}
	}
	return all
}

// TestGraphsChangeNothing: searches that are enqueued by graphs have the answers, certificates and figures of searches without.
func TestGraphsChangeNothing(t *testing.T) {
	needEmulator(t)
	s := newServed(t, 1200, 200, 5)
	b := open(t, Options{})
	defer shut(t, "backend", b.Close)
	e, err := batch.Open(t.Context(), s.c, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "engine", e.Close)
	m := b.(*Backend).machines[0]
	graphs := func() (use device.GraphUse) {
		t.Helper()
		if err := m.d.Do(context.Background(), func(th *device.Thread) error { use = th.Graphs(); return nil }); err != nil {
			t.Fatal(err)
		}
		return use
	}
	all := graphRequests(s, 5)
	want := make([]*batch.Response, len(all))
	m.graphQueries = 0
	for i := range all {
		if want[i], err = e.Search(t.Context(), all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if use := graphs(); use != (device.GraphUse{}) {
		t.Errorf("without graphs: %+v", use)
	}
	m.graphQueries = graphQueries
	order := rand.New(rand.NewPCG(3, 1))
	for round := range 4 {
		for _, i := range order.Perm(len(all)) {
			got, err := e.Search(t.Context(), all[i])
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want[i].Answers, got.Answers); d != "" {
				t.Errorf("round %d, request %d: %s", round, i, d)
			}
			if got.Stats.Pulls != want[i].Stats.Pulls || got.Stats.Bytes != want[i].Stats.Bytes || got.Stats.RowsScored != want[i].Stats.RowsScored {
				t.Errorf("round %d, request %d: %+v, without graphs %+v", round, i, got.Stats, want[i].Stats)
			}
		}
	}
	if use := graphs(); int(use.Launched) < 2*len(all) || use.Refused != nil {
		t.Errorf("%+v after four times %d searches", use, len(all))
	}
}

// TestGraphsRefused: if the driver makes no graph, searches are answered as before, and that is logged once.
func TestGraphsRefused(t *testing.T) {
	needEmulator(t)
	s := newServed(t, 1200, 200, 2)
	var log bytes.Buffer
	b := open(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	defer shut(t, "backend", b.Close)
	var w told
	e, err := batch.Open(t.Context(), s.c, b, &batch.Options{Observer: &w})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "engine", e.Close)
	req := graphRequests(s, 2)[0]
	t.Setenv(failVariable, "cuGraphInstantiate:1:801")
	for range 5 {
		got, err := e.Search(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		s.same(t, "without a graph", &req, got, s.search(t, req))
	}
	if text := log.String(); strings.Count(text, "CUDA graph") != 1 || !strings.Contains(text, "cuGraphInstantiate(") || !strings.Contains(text, "(801)") {
		t.Errorf("logged: %s", text)
	}
	if len(w.reasons) > 0 {
		t.Error(errors.Join(w.reasons...))
	}
}

//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/gpu/device"
	"thresher/internal/vectors"
)

// TestStartFaults has every driver call fail once that loading a collection with a start, and a search that begins with it,
// make: with a code that leaves the device usable, after which the same backend loads and searches as before, and with one
// that loses the device. The error names the call, answers are right where there are any, and nothing stays allocated.
func TestStartFaults(t *testing.T) {
	needEmulator(t)
	const n, dim = 1100, 96
	rng := vectors.Rand(67)
	s := &backendtest.Set{Name: "power-law", Dim: dim, Rows: vectors.PowerLaw(rng, n, dim), Queries: vectors.PowerLaw(rng, 2, dim)}
	c, err := collection.Build(t.Context(), s.Rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	o := backendtest.NewOracle(c)
	goals := slices.Repeat([]backend.Goal{{K: 5, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}}, s.M())
	ladder := backendtest.Ladder{Looks: []backend.Look{{Rep: backend.Mixed, To: c.Stages[0].Width, Rule: backend.Student, Alpha: 1e-12}}}
	search := func(b *Backend) (got backend.Answers, err error) {
		r, err := b.Load(context.Background(), c)
		if err != nil {
			return nil, err
		}
		got, _, err = ladder.Search(context.Background(), r, backend.Queries{M: s.M(), Dim: dim, Data: s.Queries}, goals)
		return got, errors.Join(err, r.Close())
	}
	check := func(what string, got backend.Answers) {
		t.Helper()
		for j := range got {
			for _, d := range o.Explain(s.Query(j), goals[j], got[j], o.Answer(s.Query(j), goals[j])) {
				if d.Kind != backendtest.Tie {
					t.Errorf("%s, query %d: %v", what, j, d)
				}
			}
		}
	}
	b := openStarting(t)
	defer func() { shut(t, "backend", b.Close) }()
	m := b.machines[0]
	// usage is the state of the device without memory kept for later runs.
	usage := func() device.Usage {
		t.Helper()
		if err := m.onThread(t.Context(), m.pool.FreeAll); err != nil {
			t.Fatal(err)
		}
		return m.d.Usage()
	}
	clean := usage()
	var names []string // of kernels
	before := true
	m.onLaunch = func(_ *queue, name string) error {
		if before {
			names = append(names, name)
		}
		before = !before
		return nil
	}
	got, err := search(b)
	m.onLaunch = nil
	if err != nil || !slices.Contains(names, "dense_tf32") || slices.Contains(names, "prune") {
		t.Fatalf("%v, kernels %v; want a start, and all in one look", err, names)
	}
	check("without a failure", got)

	for k, call := range []string{"cuLaunchKernel", "cuMemAlloc", "cuMemHostAlloc", "cuMemcpyHtoD", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync",
		"cuStreamSynchronize", "cuFuncSetAttribute"} {
		if !myTurn(k) {
			continue
		}
		const lost = 719
		for _, code := range []int{1, lost} {
			shut(t, "backend", b.Close)
			b = openStarting(t) // which has set no function's attribute
			m = b.machines[0]
			failures := 0
			for at := 1; at < 200; at++ {
				what := fmt.Sprintf("call %d of %s fails with %d", at, call, code)
				usage() // what a search kept is allocated anew
				t.Setenv(failVariable, fmt.Sprintf("%s:%d:%d", call, at, code))
				got, err := search(b)
				t.Setenv(failVariable, "")
				if err == nil {
					check(what, got)
					break // there is no call of this number
				}
				failures++
				if text := err.Error(); !strings.Contains(text, call+"(") || !strings.Contains(text, fmt.Sprintf("(%d)", code)) || errors.Is(err, backend.ErrUnavailable) != (code == lost) {
					t.Errorf("%s: %v", what, err)
				}
				if code == lost {
					shut(t, what, b.Close)
					b = openStarting(t)
					m = b.machines[0]
				} else if after := usage(); after != clean {
					t.Errorf("%s: %+v are allocated, before it were %+v", what, after, clean)
				}
				if at%8 != 1 { // a search takes longer than a failure
					continue
				}
				if got, err = search(b); err != nil {
					t.Fatalf("after %s: %v", what, err)
				}
				check("after "+what, got)
			}
			if failures == 0 {
				t.Errorf("no call of %s failed with %d", call, code)
			}
		}
	}
}

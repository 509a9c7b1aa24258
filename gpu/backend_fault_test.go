//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/gpu/device"
	"thresher/internal/vectors"
)

// errand is a small search that uses every part of the backend: mixed codes, panels, rows, the dense path, a
// range, queries that leave.
type errand struct {
	set    backendtest.Set
	c      *collection.Collection
	oracle *backendtest.Oracle
	goals  []backend.Goal
}

func newErrand(t testing.TB, n, dim int) *errand {
	rng := vectors.Rand(11)
	e := &errand{set: backendtest.Set{Name: "power-law", Dim: dim, Rows: vectors.PowerLaw(rng, n, dim), Queries: vectors.PowerLaw(rng, 5, dim)}}
	var err error
	if e.c, err = collection.Build(t.Context(), e.set.Rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 3}); err != nil {
		t.Fatal(err)
	}
	e.oracle = backendtest.NewOracle(e.c)
	filter, allowed := e.oracle.Filter(func(row int) bool { return row%2 == 0 })
	none := math.Inf(-1)
	range4 := e.oracle.Answer(e.set.Query(3), backend.Goal{K: 20, Floor: none, Allowed: n, Ceiling: math.Inf(1)}).Scores[12]
	e.goals = []backend.Goal{
		{K: 5, Floor: none, Allowed: n, Ceiling: math.Inf(1)},
		{K: 10, Floor: none, Allowed: allowed, Ceiling: math.Inf(1), Filter: filter},
		{K: 1, Floor: none, Allowed: n, Ceiling: math.Inf(1)},
		{K: 0, Floor: range4, Allowed: n, Ceiling: math.Inf(1)},
		{K: 3, Floor: none, Allowed: allowed, Ceiling: math.Inf(1), Filter: filter, Gather: true},
	}
	return e
}

// run does the errand on a resident: query 2 leaves during a look, and is answered densely, query 1
// leaves before the end; query 4 gathers rows.
func (e *errand) run(ctx context.Context, r backend.Resident) (answers backend.Answers, err error) {
	run, err := r.Begin(ctx, backend.Queries{M: e.set.M(), Dim: e.set.Dim, Data: e.set.Queries}, e.goals)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	first := backend.Look{Rep: backend.Mixed, To: e.c.Stages[0].Width, Rule: backend.Student, Alpha: 1e-12}
	whole := backend.Look{Rep: backend.RowCodes, To: e.c.D, Rule: backend.Cauchy}
	amid, unhook := endsAt(ctx, r, "tighten", 1)
	_, err = run.Pull(amid, first)
	unhook()
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	if err := run.Dense(ctx, 2, 4); err != nil {
		return nil, err
	}
	leaver := run.(backend.Leaver)
	second, err := leaver.Leave(ctx, 2)
	if err != nil {
		return nil, err
	}
	for _, l := range []backend.Look{first, whole} {
		if _, err := run.Pull(ctx, l); err != nil {
			return nil, err
		}
	}
	early, err := leaver.Leave(ctx, 1)
	if err != nil {
		return nil, err
	}
	if answers, err = run.Finish(ctx); err == nil {
		answers[1], answers[2] = early[0], second[0]
	}
	return answers, err
}

// check compares answers with the oracle's.
func (e *errand) check(t testing.TB, got backend.Answers) {
	t.Helper()
	for j := range got {
		q := e.set.Query(j)
		for _, d := range e.oracle.Explain(q, e.goals[j], got[j], e.oracle.Answer(q, e.goals[j])) {
			if d.Kind != backendtest.Tie {
				t.Errorf("query %d: %v", j, d)
			}
		}
		if got[j].Random || got[j].Dense != (j == 2 || j == 4) || !got[j].Complete() {
			t.Errorf("query %d: random %v, dense %v, open %g", j, got[j].Random, got[j].Dense, got[j].OpenBound)
		}
	}
}

// whole is the errand from opening the backend to closing it. It returns the error of closing the
// device separately.
func (e *errand) whole(o Options) (answers backend.Answers, failed, closed error) {
	o.Devices = []int{0}
	b, err := Open(o)
	if err != nil {
		return nil, err, nil
	}
	r, err := b.Load(context.Background(), e.c)
	if err == nil {
		answers, err = e.run(context.Background(), r)
		err = errors.Join(err, r.Close())
	}
	return answers, err, b.Close()
}

// TestFaults has the n-th call of each kind fail, with a code that leaves the device usable and
// with one that loses it: the search fails with an error that names the failure, or gives right
// answers; nothing crashes, and nothing stays allocated.
func TestFaults(t *testing.T) {
	needEmulator(t)
	e := newErrand(t, 1200, 48)
	answers, err, closed := e.whole(Options{})
	if err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	e.check(t, answers)
	for k, call := range []string{"cuMemAlloc", "cuMemHostAlloc", "cuLaunchKernel", "cuMemcpyHtoD", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync",
		"cuStreamSynchronize", "cuEventRecord", "cuMemFree", "cuModuleLoadDataEx", "cuModuleGetFunction"} {
		if !myTurn(k) {
			continue
		}
		t.Run(call, func(t *testing.T) {
			for _, code := range []int{codeOutOfMemory, 719} {
				failed := 0
				for n, well := 1, 0; n < 400 && well < 4; n += 1 + n/8 {
					t.Setenv(failVariable, fmt.Sprintf("%s:%d:%d", call, n, code))
					answers, err, closed := e.whole(Options{})
					t.Setenv(failVariable, "")
					if closed != nil && !strings.Contains(closed.Error(), call+"(") {
						t.Errorf("call %d, code %d: closing: %v", n, code, closed)
					}
					if err == nil {
						e.check(t, answers)
						well++ // there is no n-th call, or its failure had no effect
						continue
					}
					failed, well = failed+1, 0
					if !strings.Contains(err.Error(), fmt.Sprintf("(%d)", code)) {
						t.Errorf("call %d, code %d: %v", n, code, err)
					}
					// a device that does not open is unavailable, whatever the reason
					if lost := errors.Is(err, backend.ErrUnavailable); lost != (code == 719 || strings.HasPrefix(call, "cuModule")) {
						t.Errorf("call %d, code %d: unavailable %v: %v", n, code, lost, err)
					}
					if call == "cuMemAlloc" && code == codeOutOfMemory && !errors.Is(err, backend.ErrMemory) {
						t.Errorf("call %d: not ErrMemory: %v", n, err)
					}
				}
				if failed == 0 && (call != "cuMemFree" || code != 719) { // closing a lost device is no failure
					t.Errorf("no call of %s was met with code %d", call, code)
				}
			}
		})
	}
}

// TestLost checks that a resident of a device that was lost during a batch refuses every call from
// then on, and that all of it can be closed.
func TestLost(t *testing.T) {
	needEmulator(t)
	e := newErrand(t, 1200, 48)
	b := open(t, Options{})
	r, err := b.Load(t.Context(), e.c)
	if err != nil {
		t.Fatal(err)
	}
	run, err := r.Begin(t.Context(), backend.Queries{M: e.set.M(), Dim: 48, Data: e.set.Queries}, e.goals)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(failVariable, "cuLaunchKernel:6:719")
	look := backend.Look{Rep: backend.Panels, To: e.c.Stages[0].Width, Rule: backend.Cauchy}
	_, err = run.Pull(t.Context(), look)
	t.Setenv(failVariable, "")
	wants := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, device.ErrLost) || !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	wants("the pull that lost it", err)
	_, err = run.Pull(t.Context(), look)
	wants("Pull", err)
	wants("Dense", run.Dense(t.Context(), 0))
	_, err = run.(backend.Leaver).Leave(t.Context(), 1)
	wants("Leave", err)
	_, err = run.Finish(t.Context())
	wants("Finish", err)
	_, err = r.Begin(t.Context(), backend.Queries{M: e.set.M(), Dim: 48, Data: e.set.Queries}, e.goals)
	wants("Begin", err)
	_, err = b.Load(t.Context(), e.c)
	wants("Load", err)
	shut(t, "run", run.Close)
	shut(t, "resident", r.Close)
	shut(t, "backend", b.Close)
	// the next backend opens the device anew
	answers, err, closed := e.whole(Options{})
	if err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	e.check(t, answers)
}

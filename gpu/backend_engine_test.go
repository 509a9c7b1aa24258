//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/gpu/device"
	"thresher/gpu/device/emulator"
	"thresher/internal/vectors"
)

// told records the events of an engine's observer.
type told struct {
	mu      sync.Mutex
	reasons []error
}

func (*told) Searched(batch.Method, int, batch.Stats, time.Duration) {}

func (w *told) FellBack(from string, reason error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reasons = append(w.reasons, fmt.Errorf("%s: %w", from, reason))
}

// served is a collection with every tenth row twice, so that answers tie, and an engine on the CPU,
// whose answers an engine over the GPU must return.
type served struct {
	set    backendtest.Set
	c      *collection.Collection
	oracle *backendtest.Oracle
	cpu    *cpu.Backend
	alone  *batch.Engine // on the CPU
}

func newServed(t *testing.T, n, dim, m int) *served {
	t.Helper()
	rng := vectors.Rand(31)
	rows := vectors.PowerLaw(rng, n, dim)
	for i := 0; i+1 < n; i += 10 {
		copy(rows[(i+1)*dim:(i+2)*dim], rows[i*dim:(i+1)*dim])
	}
	s := &served{set: backendtest.Set{Dim: dim, Rows: rows, Queries: vectors.PowerLaw(rng, m, dim)}, cpu: cpu.New(cpu.Options{Threads: 1})}
	var err error
	if s.c, err = collection.Build(t.Context(), rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	s.oracle = backendtest.NewOracle(s.c)
	if s.alone, err = batch.Open(t.Context(), s.c, s.cpu, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, "engine", s.alone.Close) })
	return s
}

// search returns the CPU's response.
func (s *served) search(t *testing.T, req batch.Request) *batch.Response {
	t.Helper()
	want, err := s.alone.Search(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// same fails the test if answers differ from the CPU's by more than ties among equal rows, or if a
// score is not its row's.
func (s *served) same(t *testing.T, name string, req *batch.Request, got, want *batch.Response) {
	t.Helper()
	if len(got.Answers) != len(want.Answers) {
		t.Errorf("%s: %d answers, the CPU gives %d", name, len(got.Answers), len(want.Answers))
		return
	}
	for j := range got.Answers {
		q := s.set.Query(j)
		scores := s.oracle.Scores(q)
		answer := func(a *batch.Answer) backend.Answer {
			out := backend.Answer{IDs: a.IDs, OpenBound: math.Inf(-1)}
			for k, id := range a.IDs {
				out.Scores = append(out.Scores, scores[id])
				if d := math.Abs(float64(a.Scores[k]) - scores[id]); d > 1e-6*math.Abs(scores[id]) {
					t.Errorf("%s, query %d: atom %d with score %g, it is %g", name, j, id, a.Scores[k], scores[id])
				}
			}
			return out
		}
		goal := backend.Goal{K: req.K, Floor: math.Inf(-1), Allowed: s.set.N(), Ceiling: math.Inf(1)}
		g, w := answer(&got.Answers[j]), answer(&want.Answers[j])
		for _, d := range s.oracle.Explain(q, goal, g, w) {
			if d.Kind != backendtest.Tie || d.Gap > s.oracle.Precision(q, int(d.ID)) {
				t.Errorf("%s, query %d: %v", name, j, d)
			}
		}
		if c := &got.Answers[j].Certificate; len(g.IDs) != len(w.IDs) || c.StoppedBy != batch.Done || c.OpenBound != nil {
			t.Errorf("%s, query %d: %d answers, the CPU gives %d; stopped by %s", name, j, len(g.IDs), len(w.IDs), c.StoppedBy)
		}
	}
}

// by returns the backend that the certificates of a response name; both if they differ.
func by(r *batch.Response) string {
	var names []string
	for j := range r.Answers {
		if name := r.Answers[j].Certificate.Backend; len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// TestEngine searches by plans of every kind on one device and on three: the ids are the CPU's
// except for ties, and certificates name the backend.
func TestEngine(t *testing.T) {
	needEmulator(t)
	s := newServed(t, 1500, 200, 6)
	for _, devices := range []string{"1", "3"} {
		t.Setenv("EMU_DEVICES", devices)
		b, err := Open(Options{})
		if err != nil {
			t.Fatal(err)
		}
		var w told
		e, err := batch.Open(t.Context(), s.c, b, &batch.Options{Fallback: s.cpu, Observer: &w})
		if err != nil {
			t.Fatal(err)
		}
		for _, req := range []batch.Request{
			{Method: batch.Exact}, {Method: batch.Certain}, {Method: batch.Adaptive, Delta: 1e-9},
			{Method: batch.Certain, Plan: "whole,rescore"}, {Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore"},
			{Method: batch.Auto, Delta: 1e-9},
		} {
			req.Queries, req.K = s.set.Queries, 10
			got, err := e.Search(t.Context(), req)
			name := fmt.Sprintf("%s devices, %s %s", devices, req.Method, req.Plan)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			s.same(t, name, &req, got, s.search(t, req))
			if by(got) != "cuda" {
				t.Errorf("%s: by %q", name, by(got))
			}
		}
		if len(w.reasons) > 0 {
			t.Errorf("%s devices: fell back: %v", devices, w.reasons)
		}
		shut(t, "engine", e.Close)
		shut(t, "backend", b.Close)
	}
}

// alive returns what the emulator counts that a closed backend must have freed.
var alive = []string{"allocations", "bytes", "host_allocations", "contexts", "streams", "events", "modules"}

func left(t *testing.T, name string) {
	t.Helper()
	for _, what := range alive {
		if n, ok := emulator.Count(what); n != 0 || !ok {
			t.Errorf("%s: %d %s are left", name, n, what)
		}
	}
}

// TestEngineOutlives has the n-th call of a kind fail, from loading the collection on: memory runs
// out, launches are refused, and devices are lost when a kernel is enqueued, when it runs, and when
// its results are downloaded. Each search is answered, the reason is reported once, and nothing
// stays allocated after closing. The CPU answers the search that met the failure; later ones run on
// the GPU again, unless the device was lost or the collection not loaded.
func TestEngineOutlives(t *testing.T) {
	needEmulator(t)
	s := newServed(t, 1200, 200, 4)
	req := batch.Request{Queries: s.set.Queries, K: 10, Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore"}
	want := s.search(t, req)
	for k, f := range []struct {
		call   string
		code   int
		lost   bool
		staged bool // the queries, before the search begins
	}{
		{"cuMemAlloc", codeOutOfMemory, false, false},
		{"cuMemHostAlloc", codeOutOfMemory, false, false},
		{"cuLaunchKernel", 701, false, false}, // too many resources
		{"cuLaunchKernel", 719, true, false},
		{"kernel", 719, true, false},
		{"kernel", 700, true, true},             // illegal address
		{"cuMemcpyDtoHAsync", 214, true, false}, // ECC
		{"cuStreamSynchronize", 719, true, false},
		{"cuMemAlloc", codeOutOfMemory, false, true},
		{"cuMemHostAlloc", codeOutOfMemory, false, true},
		{"cuMemcpyHtoDAsync", 719, true, true},
		{"cuGraphLaunch", 719, true, false},
		{"cuGraphInstantiate", 719, true, false},
	} {
		if !myTurn(k) {
			continue
		}
		searches := 3
		if strings.HasPrefix(f.call, "cuGraph") {
			searches = warmSearches + 1 // the first of which none begins with a graph
		}
		atLoad, atSearch := 0, 0
		for n, well := 1, 0; well < 3 && n < 1000; n += 1 + n/5 {
			name := fmt.Sprintf("%s:%d:%d", f.call, n, f.code)
			b := open(t, Options{})
			if f.staged {
				b.(*Backend).machines[0].pieceValues = 100
			}
			var w told
			t.Setenv(failVariable, name)
			e, err := batch.Open(t.Context(), s.c, b, &batch.Options{Fallback: s.cpu, Observer: &w})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			unloaded := len(w.reasons) > 0
			for k := range searches {
				before := len(w.reasons)
				got, err := e.Search(t.Context(), req)
				if err != nil {
					t.Fatalf("%s, search %d: %v", name, k, err)
				}
				s.same(t, fmt.Sprintf("%s, search %d", name, k), &req, got, want)
				from := "cuda"
				if unloaded || len(w.reasons) > before || f.lost && len(w.reasons) > 0 {
					from = "cpu"
				}
				if by(got) != from {
					t.Errorf("%s, search %d: by %q, want %q, told %v", name, k, by(got), from, w.reasons)
				}
			}
			t.Setenv(failVariable, "")
			shut(t, name+": engine", e.Close)
			shut(t, name+": backend", b.Close)
			left(t, name)
			switch {
			case len(w.reasons) == 0:
				well++
				continue
			case unloaded:
				atLoad++
			default:
				atSearch++
			}
			well = 0
			reason := w.reasons[0]
			if len(w.reasons) > 1 || !strings.Contains(reason.Error(), fmt.Sprintf("(%d)", f.code)) {
				t.Errorf("%s: told %v", name, w.reasons)
			}
			if errors.Is(reason, backend.ErrUnavailable) != f.lost || f.code == codeOutOfMemory && !errors.Is(reason, backend.ErrMemory) {
				t.Errorf("%s: told %v", name, reason)
			}
		}
		t.Logf("%s with %d: %d times while loading, %d while searching", f.call, f.code, atLoad, atSearch)
		if atSearch == 0 || atLoad == 0 && f.call == "cuMemAlloc" {
			t.Errorf("%s with %d was met %d times while loading and %d while searching", f.call, f.code, atLoad, atSearch)
		}
	}
}

// TestEngineLosesOnce loses the device during several concurrent searches: all are answered, and
// the loss is reported once.
func TestEngineLosesOnce(t *testing.T) {
	needEmulator(t)
	s := newServed(t, 1200, 200, 4)
	req := batch.Request{Queries: s.set.Queries, K: 10, Method: batch.Certain, Plan: "64,whole,rescore"}
	want := s.search(t, req)
	b := open(t, Options{})
	var w told
	e, err := batch.Open(t.Context(), s.c, b, &batch.Options{Fallback: s.cpu, Observer: &w})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(failVariable, "kernel:60:719")
	var wg sync.WaitGroup
	var answers [4][]*batch.Response // compared later, since the oracle must be used by one goroutine
	for i := range answers {
		wg.Go(func() {
			for range 3 {
				got, err := e.Search(t.Context(), req)
				if err != nil {
					t.Error(err)
					return
				}
				answers[i] = append(answers[i], got)
			}
		})
	}
	wg.Wait()
	for _, got := range slices.Concat(answers[:]...) {
		s.same(t, "together", &req, got, want)
	}
	t.Setenv(failVariable, "")
	if len(w.reasons) != 1 || !errors.Is(w.reasons[0], backend.ErrUnavailable) {
		t.Errorf("told %v", w.reasons)
	}
	if got, err := e.Search(t.Context(), req); err != nil || by(got) != "cpu" {
		t.Errorf("afterwards: %v", err)
	}
	shut(t, "engine", e.Close)
	shut(t, "backend", b.Close)
	left(t, "afterwards")
}

// TestLargerThanTheCard searches a collection of four times the device's budget: rows are in host
// memory, and the answers are those of a device that holds everything. If not even the slab fits,
// the CPU answers.
func TestLargerThanTheCard(t *testing.T) {
	needEmulator(t)
	const reserve = 64 << 20 // the ledger's reserve for the driver
	s := newServed(t, 4000, 1024, 4)
	req := batch.Request{Queries: s.set.Queries, K: 10, Method: batch.Certain}
	want := s.search(t, req)
	for _, c := range []struct {
		room int64
		by   string
	}{{s.c.Bytes() / 4, "cuda"}, {1 << 18, "cpu"}} {
		t.Setenv("EMU_MEM", fmt.Sprint(reserve+c.room))
		b := open(t, Options{})
		if u := b.(*Backend).machines[0].d.Usage(); u.Budget > c.room {
			t.Fatalf("a budget of %s, want %s", device.FormatBytes(u.Budget), device.FormatBytes(c.room))
		}
		var w told
		e, err := batch.Open(t.Context(), s.c, b, &batch.Options{Fallback: s.cpu, Observer: &w})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := e.Search(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			s.same(t, c.by, &req, got, want)
			if by(got) != c.by {
				t.Errorf("%s of %s: by %q, told %v", device.FormatBytes(c.room), device.FormatBytes(s.c.Bytes()), by(got), w.reasons)
			}
		}
		if c.by == "cpu" && (len(w.reasons) != 1 || !errors.Is(w.reasons[0], backend.ErrMemory)) || c.by == "cuda" && len(w.reasons) > 0 {
			t.Errorf("%s of %s: told %v", device.FormatBytes(c.room), device.FormatBytes(s.c.Bytes()), w.reasons)
		}
		if u := b.(*Backend).machines[0].d.Usage(); c.by == "cuda" && u.Pinned < s.c.Bytes()/2 {
			t.Errorf("%s in host memory, of %s", device.FormatBytes(u.Pinned), device.FormatBytes(s.c.Bytes()))
		}
		shut(t, "engine", e.Close)
		shut(t, "backend", b.Close)
		left(t, c.by)
	}
}

// halting is a backend whose runs of one query wait in Begin until released, and whose runs of
// several queries wait during their first scan until their context ends.
type halting struct {
	backend.Backend
	let chan struct{}
}

func (h *halting) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	r, err := h.Backend.Load(ctx, c)
	if err != nil {
		return nil, err
	}
	return &haltingResident{r, h}, nil
}

type haltingResident struct {
	backend.Resident
	h *halting
}

func (r *haltingResident) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) (backend.Run, error) {
	if q.M == 1 {
		<-r.h.let
	}
	run, err := r.Resident.Begin(ctx, q, goals)
	if err != nil || q.M == 1 {
		return run, err
	}
	return &haltingRun{Leaver: run.(backend.Leaver), of: r.Resident}, nil
}

type haltingRun struct {
	backend.Leaver
	of     backend.Resident
	halted bool
}

func (x *haltingRun) Pull(ctx context.Context, look backend.Look) (backend.Survivors, error) {
	if x.halted {
		return x.Leaver.Pull(ctx, look)
	}
	x.halted = true
	amid, unhook := endsAt(ctx, x.of, "tighten", 1)
	t, err := x.Leaver.Pull(amid, look)
	unhook()
	if errors.Is(err, context.Canceled) {
		<-ctx.Done()
	}
	return t, err
}

// TestCoalesced has the deadline of a search end during a run that it shares: it gets its best so
// far from the GPU, and the other search gets the answer of an engine without sharing.
func TestCoalesced(t *testing.T) {
	needDriver(t)
	synctest.Test(t, func(t *testing.T) {
		w := newFlat(t, 3)
		h := &halting{open(t, Options{}), make(chan struct{})}
		defer shut(t, "backend", h.Close)
		e, err := batch.Open(t.Context(), w.c, h, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer shut(t, "engine", e.Close)
		c := batch.NewCoalescer(e, &batch.CoalescerOptions{Window: time.Hour, Idle: 1, Runs: 1})
		defer c.Close()
		var got [3]*batch.Response
		var wg sync.WaitGroup
		search := func(j int, d time.Duration) {
			wg.Go(func() {
				req := batch.Request{Queries: w.set.Query(j), K: 3, Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore", Deadline: d}
				var err error
				if got[j], err = c.Search(t.Context(), req); errors.Is(err, context.DeadlineExceeded) != (j == 1) {
					t.Error(err)
				}
			})
		}
		search(0, 0)
		synctest.Wait()
		search(1, time.Minute)
		search(2, 0)
		synctest.Wait() // these two are gathered while the first runs
		came := time.Now()
		close(h.let)
		wg.Wait()
		if took := time.Since(came); t.Failed() || took != time.Minute {
			t.Fatalf("took %v; want the deadline to strike", took)
		}
		for j, g := range got {
			a := &g.Answers[0]
			cert, open := a.Certificate, math.Inf(-1)
			if cert.OpenBound != nil {
				open = *cert.OpenBound
			}
			if late := j == 1; late != (cert.StoppedBy == batch.Deadline) || late == g.Complete() || cert.Backend != "cuda" || cert.Pulls == 0 || len(a.IDs) != 3 {
				t.Errorf("search %d: ids %v, %+v", j, a.IDs, cert)
			}
			answer := backend.Answer{IDs: a.IDs, OpenBound: open}
			for _, id := range a.IDs {
				answer.Scores = append(answer.Scores, w.oracle.Scores(w.set.Query(j))[id])
			}
			goal := backend.Goal{K: 3, Floor: math.Inf(-1), Allowed: w.set.N(), Ceiling: math.Inf(1)}
			ds := w.oracle.Explain(w.set.Query(j), goal, answer, w.oracle.Answer(w.set.Query(j), goal))
			if backendtest.Count(ds, backendtest.Wrong)+backendtest.Count(ds, backendtest.BoundFailed) > 0 {
				t.Errorf("search %d: open bound %g: %v", j, open, ds)
			}
		}
		alone, err := e.Search(t.Context(), batch.Request{Queries: w.set.Query(2), K: 3, Method: batch.Adaptive, Delta: 1e-9, Plan: "64,whole,rescore"})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(alone.Answers, got[2].Answers); d != "" {
			t.Errorf("who stayed (-alone +here):\n%s", d)
		}
	})
}

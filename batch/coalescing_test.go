package batch_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// gate is a backend whose runs block, at their begin or after their first look, until they are
// let through or their context ends.
type gate struct {
	*cpu.Backend
	midway bool
	fails  error // returned by runs that are let through

	mu      sync.Mutex
	sizes   []int // queries of each run
	stopped int   // runs whose context ended while they blocked
	opened  chan struct{}
}

func newGate() *gate {
	return &gate{Backend: cpu.New(cpu.Options{Threads: 2}), opened: make(chan struct{})}
}

// pass lets one run through and waits until all goroutines are blocked again.
func (g *gate) pass() {
	g.opened <- struct{}{}
	synctest.Wait()
}

// open lets all runs through from now on.
func (g *gate) open() {
	close(g.opened)
	synctest.Wait()
}

// wait blocks until a run is let through or its context ends.
func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.opened:
		return g.fails
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		g.stopped++
		return nil
	}
}

// begun returns the number of queries of each run so far, and how many runs were stopped.
func (g *gate) begun() (queries []int, stops int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.sizes), g.stopped
}

func (g *gate) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	r, err := g.Backend.Load(ctx, c)
	return &gatedResident{r, g}, err
}

type gatedResident struct {
	backend.Resident
	g *gate
}

func (r *gatedResident) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) (backend.Run, error) {
	r.g.mu.Lock()
	r.g.sizes = append(r.g.sizes, q.M)
	r.g.mu.Unlock()
	if !r.g.midway {
		if err := r.g.wait(ctx); err != nil {
			return nil, err
		}
	}
	run, err := r.Resident.Begin(ctx, q, goals)
	if err == nil && r.g.midway {
		run = &gatedRun{Run: run, g: r.g}
	}
	return run, err
}

type gatedRun struct {
	backend.Run
	g      *gate
	looked bool
}

func (r *gatedRun) Pull(ctx context.Context, l backend.Look) (backend.Survivors, error) {
	t, err := r.Run.Pull(ctx, l)
	if !r.looked && err == nil {
		r.looked, err = true, r.g.wait(ctx)
	}
	return t, err
}

// waits records the calls of a RunObserver.
type waits struct {
	mu     sync.Mutex
	waited []time.Duration
	runs   [][2]int      // searches and queries
	hold   chan struct{} // if not nil, runs begin when it is closed
}

func (w *waits) Waited(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waited = append(w.waited, d)
}

func (w *waits) Began(searches, queries int) {
	w.mu.Lock()
	w.runs = append(w.runs, [2]int{searches, queries})
	hold := w.hold
	w.mu.Unlock()
	if hold != nil {
		<-hold
	}
}

// coalescing is a Coalescer over a gated backend, in a synctest bubble.
type coalescing struct {
	*testing.T
	*batch.Coalescer
	gate   *gate
	engine *batch.Engine
	told   *waits
	dim    int
	rows   []float32
	plain  *batch.Engine // of the same collection, ungated
}

const fixtureDim = 144

// fixtureRows returns the rows of the collection, for which thresholds come from lower bounds, so that
// looks leave something to score.
func fixtureRows() []float32 { return vectors.Embeddings(vectors.Rand(7), 1500, fixtureDim) }

func newCoalescing(t *testing.T, g *gate, o *batch.CoalescerOptions, e *batch.Options) *coalescing {
	t.Helper()
	return newCoalescingOver(t, g, g, o, e)
}

// newCoalescingOver is newCoalescing over b, which waits at g.
func newCoalescingOver(t *testing.T, b backend.Backend, g *gate, o *batch.CoalescerOptions, e *batch.Options) *coalescing {
	t.Helper()
	l := &coalescing{T: t, gate: g, dim: fixtureDim, rows: fixtureRows(), told: &waits{}}
	c := build(t, l.rows, l.dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	var plain batch.Options
	if e != nil {
		plain.Costs = e.Costs
	}
	l.plain = over(t, c, 2, &plain)
	var err error
	if l.engine, err = batch.Open(t.Context(), c, b, e); err != nil {
		t.Fatal(err)
	}
	if o == nil {
		o = &batch.CoalescerOptions{Window: batch.DefaultWindow}
	}
	o.Idle, o.Runs, o.Observer = max(o.Idle, 1), max(o.Runs, 1), l.told
	l.Coalescer = batch.NewCoalescer(l.engine, o)
	return l
}

// close closes the Coalescer and the Engine. All searches have been answered.
func (l *coalescing) close() {
	l.Helper()
	l.Coalescer.Close()
	if err := l.engine.Close(); err != nil {
		l.Error(err)
	}
}

// one returns a request for the 10 best of row j, by looks that can be interrupted.
func (l *coalescing) one(j int) batch.Request {
	return batch.Request{Queries: l.rows[j*l.dim : (j+1)*l.dim], K: 10, Method: batch.Adaptive, Plan: "64,whole,rescore"}
}

// pending is a search in a goroutine of its own.
type pending struct {
	l    *coalescing
	req  batch.Request
	resp *batch.Response
	err  error
	took time.Duration
	over chan struct{}
}

// ask begins a search and returns once all goroutines are blocked.
func (l *coalescing) ask(ctx context.Context, req batch.Request) *pending {
	a := &pending{l: l, req: req, over: make(chan struct{})}
	began := time.Now()
	go func() {
		defer close(a.over)
		a.resp, a.err = l.Search(ctx, req)
		a.took = time.Since(began)
	}()
	synctest.Wait()
	return a
}

// answered reports whether the search is over.
func (a *pending) answered() bool {
	synctest.Wait()
	select {
	case <-a.over:
		return true
	default:
		return false
	}
}

// right waits for the search and compares its answer with the plain engine's.
func (a *pending) right() {
	a.l.Helper()
	<-a.over
	if err := misstated(a.resp, a.err); err != nil {
		a.l.Error(err)
		return
	}
	alike(a.l, search(a.l, a.l.plain, a.req), a.resp)
}

// unseen checks that the search was ended by stop with empty answers.
func (a *pending) unseen(stop batch.Stop) {
	a.l.Helper()
	if !a.answered() {
		a.l.Fatal("not answered")
	}
	if err := misstated(a.resp, a.err); err != nil {
		a.l.Fatal(err)
	}
	for _, x := range a.resp.Answers {
		if c := x.Certificate; len(x.IDs) > 0 || c.StoppedBy != stop || c.OpenBound == nil || c.Exact || c.Looks != nil || c.Pulls > 0 {
			a.l.Errorf("%d ids, %+v; want nothing looked at, stopped by %s", len(x.IDs), c, stop)
		}
	}
}

// alike fails the test when two responses differ in more than their times.
func alike(t testing.TB, want, got *batch.Response) {
	t.Helper()
	same(t, want.Answers, got.Answers)
	if d := cmp.Diff(want.Warnings, got.Warnings) + cmp.Diff(want.Stats, got.Stats); d != "" {
		t.Errorf("warnings or sums differ (-want +got):\n%s", d)
	}
}

// runs checks the number of queries of each run.
func (l *coalescing) runs(want ...int) {
	l.Helper()
	synctest.Wait()
	if got, _ := l.gate.begun(); !slices.Equal(got, want) {
		l.Errorf("runs of %v queries, want %v", got, want)
	}
}

// stops checks how many runs were stopped.
func (l *coalescing) stops(want int) {
	l.Helper()
	synctest.Wait()
	if _, got := l.gate.begun(); got != want {
		l.Errorf("%d runs stopped, want %d", got, want)
	}
}

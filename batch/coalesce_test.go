package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
)

// gate is a backend whose runs wait until they are let through, or their context
// ends: each as it begins, or after its first look.
type gate struct {
	*cpu.Backend
	midway bool
	fails  error // of runs let through

	mu      sync.Mutex
	sizes   []int // queries of the runs begun
	stopped int   // runs whose context ended here
	opened  chan struct{}
}

func newGate() *gate {
	return &gate{Backend: cpu.New(cpu.Options{Threads: 2}), opened: make(chan struct{})}
}

// pass lets one run through, and what follows of it happen.
func (g *gate) pass() {
	g.opened <- struct{}{}
	synctest.Wait()
}

// open lets all runs through from now on.
func (g *gate) open() {
	close(g.opened)
	synctest.Wait()
}

// wait stands before the gate.
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

// begun are the queries of each run so far, stops how many were stopped.
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

func (r *gatedRun) Pull(ctx context.Context, l ...backend.Look) (backend.Tally, error) {
	t, err := r.Run.Pull(ctx, l...)
	if !r.looked && err == nil {
		r.looked, err = true, r.g.wait(ctx)
	}
	return t, err
}

// waits keeps what a RunObserver is told.
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

// lounge is a Coalescer over a gate, in a test's bubble.
type lounge struct {
	*testing.T
	*batch.Coalescer
	gate   *gate
	engine *batch.Engine
	told   *waits
	dim    int
	rows   []float32
	plain  *batch.Engine // of the same collection, ungated
}

const loungeDim = 144

// loungeRows are what lounges search.
func loungeRows() []float32 { return backendtest.PowerLaw(backendtest.Rand(7), 1500, loungeDim) }

func newLounge(t *testing.T, g *gate, o *batch.CoalescerOptions, e *batch.Options) *lounge {
	t.Helper()
	return newLoungeOver(t, g, g, o, e)
}

// newLoungeOver is a lounge over a backend with a gate.
func newLoungeOver(t *testing.T, b backend.Backend, g *gate, o *batch.CoalescerOptions, e *batch.Options) *lounge {
	t.Helper()
	l := &lounge{T: t, gate: g, dim: loungeDim, rows: loungeRows(), told: &waits{}}
	c := build(t, l.rows, l.dim, &collection.Options{Seed: 1})
	l.plain = over(t, c, 2, nil)
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

// close ends the lounge; everybody has been answered.
func (l *lounge) close() {
	l.Helper()
	l.Coalescer.Close()
	if err := l.engine.Close(); err != nil {
		l.Error(err)
	}
}

// one is a request for the 10 best of row j, by looks that can be stopped midway.
func (l *lounge) one(j int) batch.Request {
	return batch.Request{Queries: l.rows[j*l.dim : (j+1)*l.dim], K: 10, Method: batch.Adaptive, Plan: "64,whole,rows"}
}

// asked is a search that goes on beside the test.
type asked struct {
	l    *lounge
	req  batch.Request
	resp *batch.Response
	err  error
	took time.Duration
	over chan struct{}
}

// ask begins a search and returns once nothing moves any more.
func (l *lounge) ask(ctx context.Context, req batch.Request) *asked {
	a := &asked{l: l, req: req, over: make(chan struct{})}
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
func (a *asked) answered() bool {
	synctest.Wait()
	select {
	case <-a.over:
		return true
	default:
		return false
	}
}

// right waits for the search and holds its answer against the plain engine's.
func (a *asked) right() {
	a.l.Helper()
	<-a.over
	if a.err != nil {
		a.l.Error(a.err)
		return
	}
	alike(a.l, search(a.l, a.l.plain, a.req), a.resp)
}

// unseen holds that the search ended by stop with answers that nothing looked at.
func (a *asked) unseen(stop batch.Stop) {
	a.l.Helper()
	if !a.answered() || a.err != nil {
		a.l.Fatalf("answered %v, error %v", a.answered(), a.err)
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

// runs holds the queries of the runs begun.
func (l *lounge) runs(want ...int) {
	l.Helper()
	synctest.Wait()
	if got, _ := l.gate.begun(); !slices.Equal(got, want) {
		l.Errorf("runs of %v queries, want %v", got, want)
	}
}

// stops holds how many runs were stopped.
func (l *lounge) stops(want int) {
	l.Helper()
	synctest.Wait()
	if _, got := l.gate.begun(); got != want {
		l.Errorf("%d runs stopped, want %d", got, want)
	}
}

// TestCoalescerIdle has searches begin at once while there is room.
func TestCoalescerIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(t, newGate(), &batch.CoalescerOptions{Window: time.Hour, Idle: 2}, nil)
		defer l.close()
		a, b := l.ask(t.Context(), l.one(1)), l.ask(t.Context(), l.one(2))
		l.runs(1, 1)
		c, d := l.ask(t.Context(), l.one(3)), l.ask(t.Context(), l.one(4))
		l.runs(1, 1)
		l.gate.pass() // room for one: both come
		l.runs(1, 1, 2)
		l.gate.open()
		for _, x := range []*asked{a, b, c, d} {
			if x.right(); x.took != 0 {
				t.Errorf("a search took %v of time that nobody spent", x.took)
			}
		}
		if l.ask(t.Context(), l.one(5)).right(); !slices.Equal(l.told.waited, make([]time.Duration, 5)) {
			t.Errorf("waited %v", l.told.waited)
		}
	})
}

// TestCoalescerApart has searches that gathered run by themselves where there is room for
// all of them.
func TestCoalescerApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(t, newGate(), &batch.CoalescerOptions{Window: time.Hour, Idle: 2}, nil)
		defer l.close()
		large := l.one(0)
		large.Queries = l.rows[:3*l.dim]
		all := []*asked{l.ask(t.Context(), large), l.ask(t.Context(), l.one(3)), l.ask(t.Context(), l.one(4))}
		l.runs(3)
		l.gate.pass()
		l.runs(3, 1, 1)
		for range 3 { // who comes now gathers, and has room for two of three
			all = append(all, l.ask(t.Context(), l.one(10+len(all))))
		}
		l.runs(3, 1, 1)
		l.gate.pass()
		l.runs(3, 1, 1, 3)
		l.gate.open()
		for _, a := range all {
			a.right()
		}
	})
}

// TestCoalescerWindow has searches wait for their window, which begins with the
// first, and then for a run to end.
func TestCoalescerWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 2 * time.Millisecond
		l := newLounge(t, newGate(), nil, nil)
		defer l.close()
		a := l.ask(t.Context(), l.one(1))
		b := l.ask(t.Context(), l.one(2))
		time.Sleep(window - 1)
		c := l.ask(t.Context(), l.one(3))
		l.runs(1)
		time.Sleep(time.Nanosecond)
		l.runs(1, 2)
		d := l.ask(t.Context(), l.one(4)) // two runs are under way
		time.Sleep(window + 3)
		l.runs(1, 2)
		l.gate.pass()
		l.runs(1, 2, 1)
		l.gate.open()
		for _, x := range []*asked{a, b, c, d} {
			x.right()
		}
		slices.Sort(l.told.waited)
		if want := []time.Duration{0, 1, window, window + 3}; !slices.Equal(l.told.waited, want) {
			t.Errorf("waited %v, want %v", l.told.waited, want)
		}
		if want := [][2]int{{1, 1}, {2, 2}, {1, 1}}; !slices.Equal(l.told.runs, want) {
			t.Errorf("told of runs %v, want %v", l.told.runs, want)
		}
	})
}

// TestCoalescerNatural has searches wait for the run before, within their window.
func TestCoalescerNatural(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(t, newGate(), &batch.CoalescerOptions{Window: time.Hour}, nil)
		defer l.close()
		all := []*asked{l.ask(t.Context(), l.one(0))}
		for round := range 3 {
			for j := range round + 2 {
				all = append(all, l.ask(t.Context(), l.one(10*round+j)))
				time.Sleep(time.Second)
			}
			l.gate.pass()
		}
		l.runs(1, 2, 3, 4)
		l.gate.open()
		for _, a := range all {
			a.right()
		}
	})
}

// TestCoalescerFull has groups begin that can take no more.
func TestCoalescerFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(t, newGate(), &batch.CoalescerOptions{Window: time.Hour, MostQueries: 4}, nil)
		several := func(j, n int) batch.Request {
			req := l.one(j)
			req.Queries = l.rows[j*l.dim : (j+n)*l.dim]
			return req
		}
		all := []*asked{l.ask(t.Context(), l.one(0))}
		all = append(all, l.ask(t.Context(), several(10, 3)))
		l.runs(1)
		all = append(all, l.ask(t.Context(), several(20, 1))) // 4 together
		l.runs(1, 4)
		all = append(all, l.ask(t.Context(), several(30, 3)))
		l.runs(1, 4)
		all = append(all, l.ask(t.Context(), several(40, 2)))                                     // no room: those may go
		all = append(all, l.ask(t.Context(), several(50, 4)), l.ask(t.Context(), several(60, 9))) // as many as run together, and more
		l.runs(1, 4)
		for _, next := range [][]int{{1, 4, 3}, {1, 4, 3, 2}, {1, 4, 3, 2, 4}} { // for 2 the 4 had no room left, nor had others before
			l.gate.pass()
			l.runs(next...)
		}
		l.gate.open()
		for _, a := range all {
			a.right()
		}
		l.runs(1, 4, 3, 2, 4, 9)
		l.close()
	})
}

// TestCoalescerRoom has who leaves a group that waits make room for others.
func TestCoalescerRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(t, newGate(), &batch.CoalescerOptions{Window: time.Hour, MostQueries: 3}, nil)
		defer l.close()
		ctx, cancel := context.WithCancel(t.Context())
		all := []*asked{l.ask(t.Context(), l.one(0)), l.ask(t.Context(), l.one(1))}
		left := l.ask(ctx, l.one(2))
		cancel()
		left.unseen(batch.Cancelled)
		all = append(all, l.ask(t.Context(), l.one(3)))
		l.runs(1)
		all = append(all, l.ask(t.Context(), l.one(4)))
		l.runs(1, 3)
		l.gate.open()
		for _, a := range all {
			a.right()
		}
	})
}

// TestCoalescerReferences has methods without rounds to share begin by themselves.
func TestCoalescerReferences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, rows := newGate(), loungeRows()
		e, err := batch.Open(t.Context(), build(t, rows, loungeDim, &collection.Options{Basis: collection.Raw}), g, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		l := &lounge{T: t, gate: g, Coalescer: batch.NewCoalescer(e, &batch.CoalescerOptions{Window: time.Hour, Idle: 1, Runs: 1}), plain: e}
		defer l.Coalescer.Close()
		held := l.ask(t.Context(), batch.Request{Queries: rows[:loungeDim], K: 1, Method: batch.Certain})
		beside := l.ask(t.Context(), batch.Request{Queries: rows[:loungeDim], K: 1, Method: batch.BoundedME})
		if !beside.answered() {
			t.Error("a search that none can share waits for its window")
		}
		beside.right()
		g.open()
		held.right()
	})
}

// TestCoalescerGroups has searches of other looks run apart, those of the same
// together, whatever else they ask.
func TestCoalescerGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(t, newGate(), &batch.CoalescerOptions{Window: time.Hour}, nil)
		defer l.close()
		with := func(j int, change func(*batch.Request)) *asked {
			req := l.one(j)
			change(&req)
			return l.ask(t.Context(), req)
		}
		least := -1.
		all := []*asked{l.ask(t.Context(), l.one(0)),
			with(1, func(r *batch.Request) {}),
			with(2, func(r *batch.Request) { r.Delta = .1 }),
			with(3, func(r *batch.Request) { r.K = 5 }),
			with(4, func(r *batch.Request) { r.Epsilon = .5 }),
			with(5, func(r *batch.Request) { r.Plan = "64,rows" }),
			with(6, func(r *batch.Request) { r.Method = batch.Auto }),
			with(7, func(r *batch.Request) { r.MinScore = &least }),
			with(8, func(r *batch.Request) { r.ExcludeSelf, r.SelfFirst = true, 8 }),
			with(9, func(r *batch.Request) { r.Method, r.Plan = batch.Exact, "" }),
			with(10, func(r *batch.Request) { r.Method, r.Plan, r.K, r.Delta = batch.Exact, "", 7, .3 }),
		}
		l.gate.open()
		for _, a := range all {
			a.right()
		}
		// the first alone; then 1, 4, 6, 7 and 8; 2; 3; 5; 9 and 10
		l.runs(1, 5, 1, 1, 1, 2)
	})
}

// TestCoalescerLeaving ends contexts of searches that wait, and of those that run
// together: they return at once, and disturb nobody.
func TestCoalescerLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(t, newGate(), &batch.CoalescerOptions{Window: time.Hour}, nil)
		defer l.close()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		l.ask(over, l.one(0)).unseen(batch.Cancelled)

		first := l.ask(t.Context(), l.one(0))
		l.ask(over, l.one(1)).unseen(batch.Cancelled)
		ctx, cancel := context.WithCancel(t.Context())
		soon, done := context.WithTimeout(t.Context(), time.Second)
		defer done()
		timed := l.one(4)
		timed.Timeout = 2 * time.Second
		a, b, c, d := l.ask(ctx, l.one(1)), l.ask(soon, l.one(2)), l.ask(t.Context(), l.one(3)), l.ask(t.Context(), timed)
		cancel()
		a.unseen(batch.Cancelled)
		if b.answered() {
			t.Fatal("answered while nothing ran")
		}
		time.Sleep(time.Second)
		b.unseen(batch.Deadline)
		e := l.ask(t.Context(), l.one(5))
		l.gate.pass()
		first.right()
		l.runs(1, 3) // without those that left
		if d.answered() {
			t.Fatal("answered before its timeout")
		}
		time.Sleep(time.Second)
		d.unseen(batch.Deadline)
		if c.answered() || e.answered() {
			t.Fatal("answered while its run waits")
		}
		l.gate.pass()
		c.right()
		e.right()
		if d.took != 2*time.Second || b.took != time.Second {
			t.Errorf("timeouts of 2 s and 1 s took %v and %v", d.took, b.took)
		}
		l.stops(0)

		// a group that everybody leaves while it waits does not begin
		held := l.ask(t.Context(), l.one(0))
		ctx, cancel = context.WithCancel(t.Context())
		f, g := l.ask(ctx, l.one(1)), l.ask(ctx, l.one(2))
		cancel()
		f.unseen(batch.Cancelled)
		g.unseen(batch.Cancelled)
		l.gate.pass()
		held.right()
		l.runs(1, 3, 1)
	})
}

// TestCoalescerBeginning has who leaves while a group begins stay until its queries,
// which may be written again then, have been read.
func TestCoalescerBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(t, newGate(), &batch.CoalescerOptions{Window: time.Hour}, nil)
		defer l.close()
		ctx, cancel := context.WithCancel(t.Context())
		mine := l.one(2)
		mine.Queries = slices.Clone(mine.Queries)
		first, a, b := l.ask(t.Context(), l.one(0)), l.ask(t.Context(), l.one(1)), l.ask(ctx, mine)
		l.told.hold = make(chan struct{})
		l.gate.pass()
		cancel()
		if b.answered() {
			t.Error("left while its queries were read")
		}
		close(l.told.hold)
		b.unseen(batch.Cancelled)
		clear(mine.Queries)
		l.gate.open()
		first.right()
		a.right()
		l.runs(1, 2)
	})
}

// TestCoalescerDeserted stops a run that nobody waits for: the last to leave gets
// the best so far.
func TestCoalescerDeserted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		g.midway = true
		l := newLounge(t, g, &batch.CoalescerOptions{Window: time.Hour}, nil)
		defer l.close()
		first := l.ask(t.Context(), l.one(0))
		ctx, cancel := context.WithCancel(t.Context())
		soon, done := context.WithTimeout(t.Context(), time.Second)
		defer done()
		a, b := l.ask(ctx, l.one(1)), l.ask(soon, l.one(2))
		g.pass()
		first.right()
		cancel()
		a.unseen(batch.Cancelled)
		if l.stops(0); b.answered() {
			t.Fatal("answered before its deadline")
		}
		time.Sleep(time.Second)
		<-b.over
		if l.stops(1); b.err != nil {
			t.Fatal(b.err)
		}
		x := b.resp.Answers[0]
		if c := x.Certificate; len(x.IDs) != 10 || c.StoppedBy != batch.Deadline || c.OpenBound == nil || len(c.Looks) != 1 || b.resp.Stats.Partial != 1 {
			t.Errorf("ids %v, certificate %+v; want the best after one look", x.IDs, c)
		}
		if b.took != time.Second {
			t.Errorf("took %v, the deadline was 1s", b.took)
		}
	})
}

// TestCoalescerBusy fills the queue.
func TestCoalescerBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(t, newGate(), &batch.CoalescerOptions{Window: time.Hour, MostWaiting: 2, Idle: 2}, nil)
		defer l.close()
		ctx, cancel := context.WithCancel(t.Context())
		all := []*asked{l.ask(t.Context(), l.one(0)), l.ask(t.Context(), l.one(1)), l.ask(t.Context(), l.one(2))}
		left := l.ask(ctx, l.one(3))
		busy := l.ask(t.Context(), l.one(4))
		if !busy.answered() || !errors.Is(busy.err, batch.ErrBusy) || busy.err.Error() != "too many searches waiting: 2, the most there may be" || busy.resp != nil {
			t.Errorf("answered %v, error %v", busy.answered(), busy.err)
		}
		cancel() // who leaves makes room
		left.unseen(batch.Cancelled)
		all = append(all, l.ask(t.Context(), l.one(5)))
		l.gate.open()
		for _, a := range all {
			a.right()
		}
		l.runs(1, 1, 2)
	})
}

// TestCoalescerBusyNever asks from many goroutines with room for all: that one
// lets others come along is not waiting.
func TestCoalescerBusyNever(t *testing.T) {
	const callers = 64
	rows := loungeRows()
	e := open(t, rows, loungeDim, nil, 1)
	c := batch.NewCoalescer(e, &batch.CoalescerOptions{Window: time.Hour, MostWaiting: 1, Idle: callers})
	defer c.Close()
	var wg sync.WaitGroup
	for j := range callers {
		wg.Go(func() {
			if _, err := c.Search(t.Context(), batch.Request{Queries: rows[j*loungeDim : (j+1)*loungeDim], K: 3}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestCoalescerErrors refuses bad requests at once, and tells all of a group of
// a backend that fails.
func TestCoalescerErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := newLounge(t, g, &batch.CoalescerOptions{Window: time.Hour}, nil)
		defer l.close()
		first, a := l.ask(t.Context(), l.one(0)), l.ask(t.Context(), l.one(1))
		bad := l.one(2)
		bad.K = -1
		refused := l.ask(t.Context(), bad)
		var re *batch.RequestError
		if !refused.answered() || !errors.As(refused.err, &re) || re.Field != "k" {
			t.Fatalf("answered %v, error %v; want one of k", refused.answered(), refused.err)
		}
		b := l.ask(t.Context(), l.one(3))
		g.pass()
		first.right()
		l.runs(1, 2)
		g.fails = errBroken
		g.pass()
		for _, x := range []*asked{a, b} {
			if <-x.over; !errors.Is(x.err, errBroken) || x.resp != nil {
				t.Errorf("error %v, want the backend's", x.err)
			}
		}
		g.fails = nil
		g.open()
		l.ask(t.Context(), l.one(4)).right() // the room is free again
	})
}

// TestCoalescerLost has a backend be lost under a group: the fallback answers, now
// and from then on, and both observers are told.
func TestCoalescerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		var w watcher
		l := newLounge(t, g, &batch.CoalescerOptions{Window: time.Hour}, &batch.Options{Fallback: cpu.New(cpu.Options{Threads: 1}), Observer: &w})
		defer l.close()
		all := []*asked{l.ask(t.Context(), l.one(0)), l.ask(t.Context(), l.one(1)), l.ask(t.Context(), l.one(2))}
		g.pass()
		l.runs(1, 2)
		g.fails = fmt.Errorf("pulled out: %w", backend.ErrUnavailable)
		g.open()
		all = append(all, l.ask(t.Context(), l.one(3)))
		for _, a := range all {
			a.right()
		}
		if l.runs(1, 2); len(w.fell) != 1 || len(w.searched) != 4 || w.queries != 4 {
			t.Errorf("told of %d losses and %d searches of %d queries, want 1, 4 of 4", len(w.fell), len(w.searched), w.queries)
		}
	})
}

// TestCoalescerClose closes while searches run and wait: they are answered, further
// ones refused.
func TestCoalescerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(t, newGate(), nil, nil)
		all := []*asked{l.ask(t.Context(), l.one(0)), l.ask(t.Context(), l.one(1)), l.ask(t.Context(), l.one(2))}
		closed := make(chan struct{})
		go func() { l.Coalescer.Close(); close(closed) }()
		synctest.Wait()
		if late := l.ask(t.Context(), l.one(3)); !late.answered() || !errors.Is(late.err, backend.ErrClosed) {
			t.Errorf("answered %v, error %v, want ErrClosed", late.answered(), late.err)
		}
		select {
		case <-closed:
			t.Error("closed while searches were under way")
		default:
		}
		l.gate.open()
		for _, a := range all {
			a.right()
		}
		<-closed
		l.close()
	})
}

// TestCoalescerCloseDeserted closes after everybody has left a run.
func TestCoalescerCloseDeserted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := newLounge(t, g, &batch.CoalescerOptions{Window: time.Hour}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		first := l.ask(t.Context(), l.one(0))
		a, b := l.ask(ctx, l.one(1)), l.ask(ctx, l.one(2))
		g.pass()
		first.right()
		l.runs(1, 2)
		cancel()
		a.unseen(batch.Cancelled)
		b.unseen(batch.Cancelled) // the run stopped as it began
		l.stops(1)
		l.close()
	})
}

// TestCoalescerOff has searches go straight to the engine.
func TestCoalescerOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLounge(t, newGate(), &batch.CoalescerOptions{MostWaiting: 1}, nil)
		all := []*asked{l.ask(t.Context(), l.one(0)), l.ask(t.Context(), l.one(1)), l.ask(t.Context(), l.one(2))}
		l.runs(1, 1, 1)
		l.gate.open()
		for _, a := range all {
			a.right()
		}
		l.Coalescer.Close() // the engine is open
		if late := l.ask(t.Context(), l.one(3)); !errors.Is(late.err, backend.ErrClosed) {
			t.Errorf("error %v, want ErrClosed", late.err)
		}
		l.close()
		if len(l.told.runs)+len(l.told.waited) > 0 {
			t.Errorf("told of runs %v", l.told.runs)
		}
	})
}

// mixed makes up requests of every kind that an engine may be asked, in few enough
// variants for many to share a run.
func mixed(t *testing.T, e *batch.Engine, rows []float32, n int) []batch.Request {
	t.Helper()
	r, c := backendtest.Rand(11), e.Collection()
	methods := batch.Methods()
	plans, err := e.Plans(batch.Request{Queries: rows[:c.Dim], K: 10})
	if err != nil {
		t.Fatal(err)
	}
	least := 3.
	if c.Metric == collection.Cosine {
		least = .4
	}
	if c.Metric == collection.Euclidean {
		least = 40
	}
	var all []batch.Request
	for range n {
		j, m := r.IntN(c.N-8), 1+r.IntN(3)
		req := batch.Request{Queries: rows[j*c.Dim : (j+m)*c.Dim], K: 1 + 9*r.IntN(2), Method: methods[r.IntN(len(methods))]}
		if r.IntN(3) > 0 { // the more usual ones
			req.Method = methods[r.IntN(5)]
		}
		if len(plans) > 0 && r.IntN(6) == 0 {
			req.Method, req.Plan = batch.Auto, plans[r.IntN(len(plans))].Plan
		}
		switch r.IntN(8) {
		case 0:
			req.Allow = []int64{int64(j), int64(j) / 2, 3, 5, 8, 13, 21}
		case 1:
			req.Deny = []int64{int64(j), int64(c.N - 1)}
		case 2:
			req.ExcludeSelf, req.SelfFirst = true, int64(j)
		case 3:
			req.MinScore = &least
		case 4:
			req.MinScore, req.K = &least, 0
		case 5:
			req.Epsilon, req.Relative = .05, true
		case 6:
			req.Delta = .2
		}
		if r.IntN(20) == 0 {
			req.K = c.N + 1 // a warning
		}
		if r.IntN(20) == 0 {
			req.Queries = req.Queries[1:] // refused
		}
		all = append(all, req)
	}
	return all
}

// TestCoalescerAnswers asks hundreds of unlike searches at once, twice: while the
// engine is held, so that they run together, and as it comes. Each is answered as
// by the engine alone, the certificate included, or fails as there.
func TestCoalescerAnswers(t *testing.T) {
	n := 240
	if testing.Short() {
		n = 80
	}
	for i, opt := range []collection.Options{
		{Seed: 1}, {Seed: 1, Metric: collection.Cosine}, {Seed: 1, Metric: collection.Euclidean},
		{Seed: 1, NoHead: true, KeepRotated: true},
		{Seed: 1, Basis: collection.Raw}, {Seed: 1, Basis: collection.Raw, Metric: collection.Cosine}, {Seed: 1, Basis: collection.Raw, Metric: collection.Euclidean},
		{Seed: 2},
	} {
		atoms, dim := 700, 48
		if i == 7 { // with looks at signs
			atoms, dim = 300, 770
		}
		rows := backendtest.PowerLaw(backendtest.Rand(3), atoms, dim)
		c := build(t, rows, dim, &opt)
		plain := over(t, c, 2, nil)
		requests := mixed(t, plain, rows, n)
		want, refused := make([]*batch.Response, n), make([]error, n)
		good := 0
		for i, req := range requests {
			if want[i], refused[i] = plain.Search(t.Context(), req); refused[i] == nil {
				good++
			}
		}
		ask := func(t *testing.T, c *batch.Coalescer) {
			var wg sync.WaitGroup
			for i, req := range requests {
				wg.Go(func() {
					got, err := c.Search(t.Context(), req)
					if err != nil || refused[i] != nil {
						if fmt.Sprint(err) != fmt.Sprint(refused[i]) {
							t.Errorf("%+v: error %v, alone %v", req, err, refused[i])
						}
						return
					}
					alike(t, want[i], got)
				})
			}
			wg.Wait()
		}
		t.Run(fmt.Sprintf("%v %v %d", opt.Metric, opt.Basis, dim), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, told := newGate(), &waits{}
				e, err := batch.Open(t.Context(), c, g, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				co := batch.NewCoalescer(e, &batch.CoalescerOptions{Window: time.Hour, Idle: 1, Runs: 1, MostQueries: 16, Observer: told})
				defer co.Close()
				go func() { co.Search(t.Context(), batch.Request{Queries: rows[:dim], K: 1, Method: batch.Certain}) }()
				synctest.Wait()
				go func() { synctest.Wait(); g.open() }()
				ask(t, co)
				shared, most := 0, 0
				for _, r := range told.runs {
					if r[0] > 1 {
						shared += r[0]
					}
					most = max(most, r[1])
				}
				t.Logf("%d searches, %d refused; %d in shared runs of up to %d queries", n, n-good, shared, most)
				least := good / 2
				if opt.Basis == collection.Raw { // where most look for themselves
					least = good / 8
				}
				if shared < least || most < 8 || most > 16 {
					t.Errorf("%d of %d searches shared runs, of up to %d queries; want %d of them, and runs of 8 to 16", shared, good, most, least)
				}
			})
			co := batch.NewCoalescer(plain, &batch.CoalescerOptions{Window: batch.DefaultWindow, Idle: 1})
			ask(t, co)
			co.Close()
		})
	}
}

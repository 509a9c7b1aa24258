package batch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// interrupting is a backend whose runs of several queries stop in their first look or dense
// scan and wait at a gate. They are Leavers.
type interrupting struct {
	*gate
	questions int                              // context checks before a run waits
	leave     func(ctx context.Context, n int) // called before n queries leave
}

func (i *interrupting) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	r, err := i.Backend.Load(ctx, c)
	return &interruptingResident{r, i}, err
}

type interruptingResident struct {
	backend.Resident
	interrupting *interrupting
}

func (r *interruptingResident) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) (backend.Run, error) {
	r.interrupting.mu.Lock()
	r.interrupting.sizes = append(r.interrupting.sizes, q.M)
	r.interrupting.mu.Unlock()
	run, err := r.Resident.Begin(ctx, q, goals)
	if err != nil {
		return nil, err
	}
	return &interruptingRun{Leaver: run.(backend.Leaver), interrupting: r.interrupting}, nil
}

type interruptingRun struct {
	backend.Leaver
	interrupting *interrupting
	worked       bool
	passed       bool
}

// halt makes a call up to a number of context checks, waits, and then continues it.
func (s *interruptingRun) halt(ctx context.Context, call func(context.Context) error) error {
	if !s.worked {
		s.worked = true
		_ = call(backendtest.NewCountdown(s.interrupting.questions, context.Canceled))
	}
	if !s.passed {
		err := s.interrupting.wait(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s.passed = true; err != nil {
			return err
		}
	}
	return call(ctx)
}

func (s *interruptingRun) Pull(ctx context.Context, l backend.Look) (t backend.Survivors, err error) {
	err = s.halt(ctx, func(ctx context.Context) (err error) {
		t, err = s.Leaver.Pull(ctx, l)
		return err
	})
	return t, err
}

func (s *interruptingRun) Dense(ctx context.Context, queries ...int) error {
	return s.halt(ctx, func(ctx context.Context) error { return s.Leaver.Dense(ctx, queries...) })
}

func (s *interruptingRun) Leave(ctx context.Context, queries ...int) (backend.Answers, error) {
	if s.interrupting.leave != nil {
		s.interrupting.leave(ctx, len(queries))
	}
	return s.Leaver.Leave(ctx, queries...)
}

// newInterrupting returns a Coalescer over an interrupting backend. Its first search is in
// progress; others wait.
func newInterrupting(t *testing.T, questions int, o *batch.Options) (*coalescing, *interrupting, *pending) {
	t.Helper()
	i := &interrupting{gate: newGate(), questions: questions}
	var with batch.Options
	if o != nil {
		with = *o
	}
	with.Costs, o = scoresLast().Costs, &with
	l := newCoalescingOver(t, i, i.gate, &batch.CoalescerOptions{Window: time.Hour}, o)
	return l, i, l.ask(t.Context(), l.one(0))
}

// partly checks that a search ended at its deadline with the best so far: atoms of the right
// number, and an open bound that covers all better ones.
func (a *pending) partly(took time.Duration) {
	a.l.Helper()
	if !a.answered() {
		a.l.Fatal("not answered")
	}
	if err := misstated(a.resp, a.err); err != nil {
		a.l.Fatal(err)
	}
	if a.took != took {
		a.l.Errorf("took %v, want %v", a.took, took)
	}
	c := a.l.engine.Collection()
	o := backendtest.NewOracle(c)
	for j := range a.resp.Answers {
		x := &a.resp.Answers[j]
		if cert := x.Certificate; len(x.IDs) != a.req.K || cert.StoppedBy != batch.Deadline || cert.OpenBound == nil || cert.Exact || cert.Pulls == 0 || cert.Backend != "cpu" {
			a.l.Errorf("ids %v, %+v; want the best so far", x.IDs, cert)
		}
		ds := explain(a.l, o, c, a.req.Queries[j*c.Dim:(j+1)*c.Dim], goal(c, a.req.K), x)
		if backendtest.Count(ds, backendtest.Wrong)+backendtest.Count(ds, backendtest.BoundFailed) > 0 {
			a.l.Errorf("query %d: %v", j, ds)
		}
	}
	if a.resp.Complete() || a.resp.Stats.Unfinished != len(a.resp.Answers) {
		a.l.Errorf("%+v; want all partial", a.resp.Stats)
	}
}

// TestCoalescerDeadlines: searches leave a shared run at their own deadlines, each with its
// best so far, and the others have the answers of an engine alone.
func TestCoalescerDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told watcher
		l, i, first := newInterrupting(t, 7, &batch.Options{Observer: &told})
		defer l.close()
		in := func(j, queries int, d time.Duration) *pending {
			req := l.one(j)
			req.Queries, req.Deadline = l.rows[j*l.dim:(j+queries)*l.dim], d
			return l.ask(t.Context(), req)
		}
		ctx, cancel := context.WithCancel(t.Context())
		soon, done := context.WithTimeout(t.Context(), 3*time.Second)
		defer done()
		stays, a, b, late, away, c, last := in(10, 2, 0), in(20, 3, time.Second), in(30, 1, time.Second+50*time.Millisecond),
			in(40, 1, time.Hour), l.ask(ctx, l.one(50)), l.ask(soon, l.one(60)), in(70, 1, 2*time.Second)
		i.pass()
		first.right()
		l.runs(1, 10)
		time.Sleep(time.Second)
		a.partly(time.Second)
		b.partly(time.Second) // within 1/16 of the elapsed time
		if told.stats.Unfinished == 0 {
			t.Error("the observer is not told of a partial answer")
		}
		cancel()
		away.unseen(batch.Cancelled)
		if last.answered() || c.answered() {
			t.Fatal("answered before their deadlines")
		}
		time.Sleep(time.Second)
		last.partly(2 * time.Second)
		time.Sleep(time.Second)
		c.partly(3 * time.Second)
		if stays.answered() || late.answered() {
			t.Fatal("answered while their run waits")
		}
		i.open()
		stays.right()
		late.right()
	})
}

// TestCoalescerDense: a dense scan that a deadline interrupts starts over without the members
// that left.
func TestCoalescerDense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, i, first := newInterrupting(t, 3, nil)
		defer l.close()
		in := func(j int, d time.Duration) *pending {
			return l.ask(t.Context(), batch.Request{Queries: l.rows[j*l.dim : (j+1)*l.dim], K: 3, Method: batch.Exact, Deadline: d})
		}
		a, stays, b := in(1, time.Second), in(2, 0), in(3, 2*time.Second)
		i.pass()
		first.right()
		l.runs(1, 3)
		time.Sleep(time.Second)
		a.partly(time.Second)
		time.Sleep(time.Second)
		b.partly(2 * time.Second)
		i.open()
		<-stays.over
		again := cmpopts.IgnoreFields(batch.Certificate{}, "Pulls", "Bytes", "RowsScored")
		if d := cmp.Diff(search(t, l.plain, stays.req).Answers, stays.resp.Answers, again); d != "" {
			t.Errorf("who stayed (-alone +here):\n%s", d)
		}
	})
}

// TestCoalescerFinish: when a run finishes, members are finished in the order of their
// deadlines, and deadlines that pass meanwhile are kept.
func TestCoalescerFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		l, i, first := newInterrupting(t, 7, nil)
		defer l.close()
		var all []*pending
		for j := range n {
			req := l.one(j)
			req.Deadline = time.Duration(2*n-j) * 10 * time.Millisecond // from 2.01 s on
			all = append(all, l.ask(t.Context(), req))
		}
		i.pass()
		first.right()
		l.runs(1, n)
		time.Sleep(1500 * time.Millisecond)
		var left []int
		i.leave = func(ctx context.Context, n int) {
			left = append(left, n)
			if ctx.Err() == nil && len(left) == 1 {
				time.Sleep(1600 * time.Millisecond) // to 3.1 s
			}
		}
		i.open()
		const at = 3100 * time.Millisecond
		partial := 0
		for j, a := range all {
			<-a.over
			if due := j < n-64 && a.req.Deadline <= at+at/16; due && !a.resp.Complete() {
				partial++
				a.partly(at)
			} else if a.right(); a.took != at { // complete: all remaining arms were scored
				t.Errorf("%d, due after %v, took %v", j, a.req.Deadline, a.took)
			}
		}
		if partial == 0 {
			t.Error("none had to leave before its end")
		}
		// the first; those due until 3.1 s plus a sixteenth of 3.1 s; the others
		if d := cmp.Diff([]int{64, 65, 64, 7}, left); d != "" {
			t.Errorf("left together (-want +got):\n%s", d)
		}
	})
}

// TestCoalescerTimeouts runs many searches together with timeouts at arbitrary times. Every
// answer must keep its certificate's guarantee.
func TestCoalescerTimeouts(t *testing.T) {
	const callers, rounds = 24, 12
	rows := fixtureRows()
	c := build(t, rows, fixtureDim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	e := over(t, c, 2, nil)
	co := batch.NewCoalescer(e, &batch.CoalescerOptions{Window: batch.DefaultWindow, Idle: 1, Runs: 1})
	defer co.Close()
	o := backendtest.NewOracle(c)
	var judge sync.Mutex // guards the oracle
	var wg sync.WaitGroup
	for j := range callers {
		wg.Go(func() {
			r := vectors.Rand(uint64(j))
			for range rounds {
				q := rows[j*fixtureDim : (j+8)*fixtureDim]
				req := batch.Request{Queries: q, K: 10, Method: batch.Adaptive, Plan: "64,whole,rescore", Delta: 1e-9}
				if r.IntN(4) > 0 {
					req.Deadline = time.Duration(1 + r.IntN(4e6))
				}
				if r.IntN(3) == 0 {
					req.Method, req.Plan = batch.Exact, ""
				}
				resp, err := co.Search(t.Context(), req)
				if err := misstated(resp, err); err != nil {
					t.Error(err)
					return
				}
				judge.Lock()
				for k := range resp.Answers {
					a := &resp.Answers[k]
					cert := a.Certificate
					if (cert.OpenBound == nil) != (cert.StoppedBy == batch.Done) || req.Deadline == 0 && cert.StoppedBy != batch.Done {
						t.Errorf("timeout %v: %+v", req.Deadline, cert)
					}
					ds := explain(t, o, c, q[k*fixtureDim:(k+1)*fixtureDim], goal(c, 10), a)
					if backendtest.Count(ds, backendtest.Wrong)+backendtest.Count(ds, backendtest.BoundFailed) > 0 {
						t.Errorf("timeout %v, stopped by %s: %v", req.Deadline, cert.StoppedBy, ds)
					}
				}
				judge.Unlock()
			}
		})
	}
	wg.Wait()
}

// TestCoalescerLostWhileLeft: if a backend is lost after a member has left, that member keeps
// its answer, and the fallback answers the others.
func TestCoalescerLostWhileLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, i, first := newInterrupting(t, 7, &batch.Options{Fallback: cpu.New(cpu.Options{Threads: 1})})
		defer l.close()
		timed := l.one(1)
		timed.Deadline = time.Second
		a, b, c := l.ask(t.Context(), timed), l.ask(t.Context(), l.one(2)), l.ask(t.Context(), l.one(3))
		i.pass()
		first.right()
		time.Sleep(time.Second)
		a.partly(time.Second)
		i.fails = fmt.Errorf("pulled out: %w", backend.ErrUnavailable)
		i.open()
		b.right()
		c.right()
	})
}

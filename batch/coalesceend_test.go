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

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
)

// TestCoalescerLeaving ends contexts of waiting searches and of members of a shared run: they
// return at once, and the others are unaffected.
func TestCoalescerLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCoalescing(t, newGate(), &batch.CoalescerOptions{Window: time.Hour}, nil)
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
		timed.Deadline = 2 * time.Second
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

		// a waiting group whose members have all left does not begin
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

// TestCoalescerBeginning: a member that leaves while its group begins returns only after its
// queries have been copied, because its caller may then overwrite them.
func TestCoalescerBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCoalescing(t, newGate(), &batch.CoalescerOptions{Window: time.Hour}, nil)
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

// TestCoalescerDeserted: a run stops when its last member leaves, which gets the best so far.
func TestCoalescerDeserted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		g.midway = true
		l := newCoalescing(t, g, &batch.CoalescerOptions{Window: time.Hour}, nil)
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
		l.stops(1)
		if err := misstated(b.resp, b.err); err != nil {
			t.Fatal(err)
		}
		x := b.resp.Answers[0]
		if c := x.Certificate; len(x.IDs) != 10 || c.StoppedBy != batch.Deadline || c.OpenBound == nil || len(c.Looks) != 1 || b.resp.Stats.Unfinished != 1 {
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
		l := newCoalescing(t, newGate(), &batch.CoalescerOptions{Window: time.Hour, MaxWaiting: 2, Idle: 2}, nil)
		defer l.close()
		ctx, cancel := context.WithCancel(t.Context())
		all := []*pending{l.ask(t.Context(), l.one(0)), l.ask(t.Context(), l.one(1)), l.ask(t.Context(), l.one(2))}
		left := l.ask(ctx, l.one(3))
		busy := l.ask(t.Context(), l.one(4))
		if !busy.answered() || !errors.Is(busy.err, batch.ErrBusy) || busy.err.Error() != "too many searches waiting: 2, the most there may be" || busy.resp != nil {
			t.Errorf("answered %v, error %v", busy.answered(), busy.err)
		}
		cancel() // a search that leaves makes room
		left.unseen(batch.Cancelled)
		all = append(all, l.ask(t.Context(), l.one(5)))
		l.gate.open()
		for _, a := range all {
			a.right()
		}
		l.runs(1, 1, 2)
	})
}

// TestCoalescerBusyNever searches from many goroutines with room for all: a search that yields
// to others before it begins does not count as waiting.
func TestCoalescerBusyNever(t *testing.T) {
	const callers = 64
	rows := fixtureRows()
	e := open(t, rows, fixtureDim, &collection.Options{Metric: collection.InnerProduct}, 1)
	c := batch.NewCoalescer(e, &batch.CoalescerOptions{Window: time.Hour, MaxWaiting: 1, Idle: callers})
	defer c.Close()
	var wg sync.WaitGroup
	for j := range callers {
		wg.Go(func() {
			if _, err := c.Search(t.Context(), batch.Request{Queries: rows[j*fixtureDim : (j+1)*fixtureDim], K: 3}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestCoalescerErrors: invalid requests fail at once, and a failure of the backend reaches all
// members of the group.
func TestCoalescerErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := newCoalescing(t, g, &batch.CoalescerOptions{Window: time.Hour}, nil)
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
		for _, x := range []*pending{a, b} {
			if <-x.over; !errors.Is(x.err, errBroken) || x.resp != nil {
				t.Errorf("error %v, want the backend's", x.err)
			}
		}
		g.fails = nil
		g.open()
		l.ask(t.Context(), l.one(4)).right() // the room is free again
	})
}

// TestCoalescerLost: if the backend is lost during a shared run, the fallback answers that run
// and all later ones, and both observers are called.
func TestCoalescerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		var w watcher
		l := newCoalescing(t, g, &batch.CoalescerOptions{Window: time.Hour}, &batch.Options{Fallback: cpu.New(cpu.Options{Threads: 1}), Observer: &w})
		defer l.close()
		all := []*pending{l.ask(t.Context(), l.one(0)), l.ask(t.Context(), l.one(1)), l.ask(t.Context(), l.one(2))}
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

// TestCoalescerClose closes while searches run and wait: they are answered, and further
// searches fail.
func TestCoalescerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCoalescing(t, newGate(), nil, nil)
		all := []*pending{l.ask(t.Context(), l.one(0)), l.ask(t.Context(), l.one(1)), l.ask(t.Context(), l.one(2))}
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

// TestCoalescerCloseDeserted closes after all members have left a run.
func TestCoalescerCloseDeserted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := newCoalescing(t, g, &batch.CoalescerOptions{Window: time.Hour}, nil)
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

// TestCoalescerOff: without a window, searches go to the engine directly.
func TestCoalescerOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCoalescing(t, newGate(), &batch.CoalescerOptions{MaxWaiting: 1}, nil)
		all := []*pending{l.ask(t.Context(), l.one(0)), l.ask(t.Context(), l.one(1)), l.ask(t.Context(), l.one(2))}
		l.runs(1, 1, 1)
		l.gate.open()
		for _, a := range all {
			a.right()
		}
		l.Coalescer.Close() // does not close the engine
		if late := l.ask(t.Context(), l.one(3)); !errors.Is(late.err, backend.ErrClosed) {
			t.Errorf("error %v, want ErrClosed", late.err)
		}
		l.close()
		if len(l.told.runs)+len(l.told.waited) > 0 {
			t.Errorf("told of runs %v", l.told.runs)
		}
	})
}

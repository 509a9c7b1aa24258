package tournaments

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"thresher/choice/duel"
	"thresher/service/problem"
)

// TestFailedCommit: a change that could not be made durable is undone in memory.
func TestFailedCommit(t *testing.T) {
	h := newHouse(t, Options{})
	id, other := h.create(online(4)), h.create(online(4))
	first := h.next(id, 2)
	full := errors.New("no room")
	l, err := h.acquire(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Store.report(l, []Verdict{{Result: judged(first[0])}}, false); err != nil {
		t.Fatal(err)
	}
	<-l.last.done
	l.last = &write{of: l, do: func(*bbolt.Tx) error { return full }}
	h.journal.submit(l.last)
	if err := h.release(t.Context(), l); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if got := h.report(id, judged(first[0])).Receipts[0].Status; got == string(duel.Accepted) {
		t.Error("what was durable before is not there")
	}
	// And one followed by an event, which must not be recorded without it.
	l, err = h.acquire(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	begun, blocked := make(chan struct{}), make(chan struct{})
	h.journal.submit(&write{do: func(*bbolt.Tx) error { close(begun); <-blocked; return nil }})
	<-begun
	lost := &write{of: l, do: func(*bbolt.Tx) error { return full }}
	h.journal.submit(lost)
	if _, err := h.Store.report(l, []Verdict{{Result: judged(first[1])}}, false); err != nil {
		t.Fatal(err)
	}
	calm := &write{do: func(*bbolt.Tx) error { return nil }}
	h.journal.submit(calm)
	close(blocked)
	if err := h.release(t.Context(), l); !errors.Is(err, full) || !errors.Is(lost.wait(t.Context()), full) {
		t.Errorf("%v", err)
	}
	if err := calm.wait(t.Context()); err != nil {
		t.Errorf("another's change failed along: %v", err)
	}
	if got := h.report(id, judged(first[1])).Receipts[0].Status; got != string(duel.Accepted) {
		t.Errorf("what was not durable is there: %s", got)
	}
	h.get(other)
	if n := int64(len(h.memory.live)); n != 2 || h.memory.bytes != n*footprint(4) {
		t.Errorf("%d tournaments take %d bytes", n, h.memory.bytes)
	}
}

// TestConcurrentJudges: many judges of one tournament share transactions, no duel is issued
// twice, and all results count.
func TestConcurrentJudges(t *testing.T) {
	var commits atomic.Int64
	h := newHouse(t, Options{step: func(stage string) {
		if stage == "committed" {
			commits.Add(1)
		}
	}})
	spec := online(40)
	spec.Testing, spec.Horizon = string(duel.Sweep), of[int64](2000)
	id := h.create(spec)
	var mu sync.Mutex
	out := map[uint64]bool{}
	var judges errgroup.Group
	for range 16 {
		judges.Go(func() error {
			for {
				issued, err := h.Next(context.Background(), id, 2, "")
				if ended(err) {
					return nil
				}
				if err != nil {
					return err
				}
				for _, d := range issued.Duels {
					mu.Lock()
					twice := out[d.ID]
					out[d.ID] = true
					mu.Unlock()
					if twice {
						return fmt.Errorf("duel %d is handed out twice", d.ID)
					}
					if _, err := h.Report(context.Background(), id, []duel.Result{judged(d)}, false); err != nil {
						return err
					}
				}
			}
		})
	}
	if err := judges.Wait(); err != nil {
		t.Fatal(err)
	}
	s := h.get(id).State
	if s.Duels != 2000 || !s.Done {
		t.Errorf("%+v", s)
	}
	calm := newHouse(t, Options{})
	if err := playTogether(calm.Store, spec, "", func(string) {}); err != nil {
		t.Fatal(err)
	}
	_, want := states(t, calm.Store)
	got := *s
	got.Standings, want[0].Standings = nil, nil
	got.Undoable, want[0].Undoable = nil, nil // depends on the order of reports
	if d := cmp.Diff(want[0], got); d != "" {
		t.Error(d)
	}
	t.Logf("%d transactions for about %d calls", commits.Load(), 2*len(out))
}

// TestRefusedTogether: a refused write does not affect others of its transaction, which is
// executed once.
func TestRefusedTogether(t *testing.T) {
	begun := 0
	h := newHouse(t, Options{Most: 2, step: func(stage string) {
		if stage == "begin" {
			begun++
		}
	}})
	id := h.create(online(4))
	blocked, on := make(chan struct{}), make(chan struct{})
	h.journal.submit(&write{do: func(*bbolt.Tx) error { close(blocked); <-on; return nil }})
	<-blocked
	begun = 0
	d := make(chan error, 4)
	waits := func(n int) {
		for waiting := 0; waiting < n; runtime.Gosched() {
			h.journal.mu.Lock()
			waiting = len(h.journal.waiting)
			h.journal.mu.Unlock()
		}
	}
	go func() { d <- h.Delete(context.Background(), "tournament_0") }()
	waits(1)
	made := make(chan error, 1)
	go func() { _, err := h.Create(context.Background(), online(3), "key"); made <- err }()
	waits(2)
	go func() { _, err := h.Create(context.Background(), online(3), ""); d <- err }() // one above the limit
	waits(3)
	go func() { _, err := h.Create(context.Background(), online(5), "key"); d <- err }() // a different one under the key
	waits(4)
	close(on)
	kinds := map[problem.Kind]int{}
	for range 3 {
		kinds[problem.Of(<-d).Kind]++
	}
	if err := <-made; err != nil || kinds[UnknownTournament] != 1 || kinds[problem.OverLimit] != 1 || kinds[problem.KeyReused] != 1 || begun != 1 {
		t.Errorf("%v; refused are %v in %d transactions", err, kinds, begun)
	}
	if n := h.Counts()["running"]; n != 2 {
		t.Errorf("%d tournaments", n)
	}
	h.get(id)
}

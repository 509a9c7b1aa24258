package tournaments

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"thresher/choice/duel"
)

// over is a context that ends when it is first waited for.
type over struct {
	context.Context
	cancel context.CancelFunc
}

func newOver(t *testing.T) over {
	ctx, cancel := context.WithCancel(t.Context())
	return over{ctx, cancel}
}

func (o over) Done() <-chan struct{} {
	o.cancel()
	return o.Context.Done()
}

// TestWaitsEnd: a call waits for a tournament, or for a commit, until its context ends, and
// nothing is lost by that.
func TestWaitsEnd(t *testing.T) {
	var at chan chan struct{} // receives commits, which continue when the sent channel is closed
	h := newHouse(t, Options{step: func(stage string) {
		if stage == "commit" && at != nil {
			on := make(chan struct{})
			at <- on
			<-on
		}
	}})
	id, other := h.create(online(4)), h.create(online(4))
	d, before := h.next(id, 1)[0], h.get(id).State.Duels
	l, err := h.acquire(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Next(newOver(t), id, 1, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("while another uses it: %v", err)
	}
	if err := h.release(t.Context(), l); err != nil || l.users != 0 {
		t.Fatalf("%d use it, %v", l.users, err)
	}

	at = make(chan chan struct{}, 1)
	if _, err := h.Report(newOver(t), id, []duel.Result{judged(d)}, false); !errors.Is(err, context.Canceled) {
		t.Errorf("while it is made durable: %v", err)
	}
	h.mu.Lock()
	h.shrink(0)
	if h.memory.live[id] != l {
		t.Error("what is not durable was forgotten")
	}
	h.mu.Unlock()
	close(<-at)
	if err := h.journal.settledNow(t, at); err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	h.shrink(0)
	if len(h.memory.live) != 0 || h.memory.bytes != 0 {
		t.Errorf("%d bytes are left of %d", h.memory.bytes, len(h.memory.live))
	}
	h.mu.Unlock()
	if got := h.get(id).State.Duels; got != before+1 {
		t.Errorf("%d duels, %d before", got, before)
	}

	if err := h.Delete(newOver(t), other); !errors.Is(err, context.Canceled) {
		t.Errorf("while it is deleted: %v", err)
	}
	if _, err := h.Create(newOver(t), online(3), "key"); !errors.Is(err, context.Canceled) {
		t.Errorf("while it is made: %v", err)
	}
	close(<-at)
	if err := h.journal.settledNow(t, at); err != nil {
		t.Fatal(err)
	}
	at = nil
	if n := h.Counts()["running"]; n != 2 {
		t.Errorf("%d tournaments are counted", n)
	}
	_, err = h.Get(t.Context(), other)
	refused(t, err, UnknownTournament, "", -1)
	if made, err := h.Create(t.Context(), online(3), "key"); err != nil || h.Counts()["running"] != 2 {
		t.Errorf("%+v, %v", made, err)
	}
}

// settledNow waits until everything is durable, and lets commits continue.
func (j *journal) settledNow(t *testing.T, at chan chan struct{}) error {
	done := make(chan error, 1)
	go func() { done <- j.settled(t.Context()) }()
	for {
		select {
		case on := <-at:
			close(on)
		case err := <-done:
			return err
		}
	}
}

// TestReadIsGivenUp: a tournament whose reading was given up is read by the next call.
func TestReadIsGivenUp(t *testing.T) {
	h := newHouse(t, Options{})
	id := h.create(online(4))
	h.playSome(id)
	want := h.get(id)
	h.reopen()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if _, err := h.Get(gone, id); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	if d := cmp.Diff(want, h.get(id)); d != "" || h.memory.bytes != footprint(4) {
		t.Errorf("%d bytes, %s", h.memory.bytes, d)
	}
	// And by a call that waits already.
	var giveUp context.CancelFunc
	second := make(chan error, 1)
	h.shut()
	h.o.step = func(stage string) {
		if stage != "replay" || giveUp == nil {
			return
		}
		go func() {
			_, err := h.Get(context.Background(), id)
			second <- err
		}()
		for users := 0; users < 2; runtime.Gosched() {
			h.mu.Lock()
			users = h.memory.live[id].users
			h.mu.Unlock()
		}
		giveUp()
		giveUp = nil
	}
	h.open()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	giveUp = cancel
	if _, err := h.Get(ctx, id); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("who waited: %v", err)
	}
}

// TestUnfitDuringCommit: a tournament that becomes unfit for use while an event of it is
// being committed is read again after the commit.
func TestUnfitDuringCommit(t *testing.T) {
	var h *house
	var id string
	unfit := errors.New("unfit")
	seen := make(chan string, 10)
	var read chan Tournament
	h = newHouse(t, Options{step: func(stage string) {
		switch {
		case stage == "commit" && read != nil:
			h.memory.live[id].fail(unfit)
			go func() { read <- h.get(id) }()
			<-seen
		case read != nil && (stage == "pass" || stage == "replay"):
			seen <- stage
		}
	}})
	id = h.create(online(4))
	d, before := h.next(id, 1)[0], h.get(id).State.Duels
	read = make(chan Tournament, 1)
	h.report(id, judged(d))
	if got := (<-read).State.Duels; got != before+1 {
		t.Errorf("%d duels, %d before", got, before)
	}
	read = nil
	h.playSome(id)
}

// TestEventsKeepTheirPlaces: no event overwrites another, whatever number memory expects.
func TestEventsKeepTheirPlaces(t *testing.T) {
	for _, logBytes := range []int{1, 1 << 20} {
		h := newHouse(t, Options{logBytes: logBytes})
		id := h.create(online(4))
		h.playSome(id)
		d := h.next(id, 1)[0]
		want := h.get(id)
		for _, wrong := range []int{-3, -2, -1, 1} {
			l, err := h.acquire(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			l.events += uint64(wrong)
			if err := h.release(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Report(t.Context(), id, []duel.Result{judged(d)}, false); err == nil {
				t.Fatal("taken")
			}
			if d := cmp.Diff(want, h.get(id)); d != "" {
				t.Error(d)
			}
		}
		h.mu.Lock()
		h.memory.live[id].fail(errors.New("read it again"))
		h.mu.Unlock()
		taken := false
		err := h.db.Update(func(tx *bbolt.Tx) error {
			r, err := findRecord(tx, id)
			if err != nil {
				return err
			}
			for _, n := range []uint64{0, 1, 10, 11, 13, 14, 12, 12, 11} {
				if err := r.appendEvent(tx, n, []byte("{}")); (err == nil) != (n == 12 && !taken) {
					t.Errorf("event %d: %v", n, err)
				}
				taken = taken || n == 12
			}
			for _, n := range []uint64{0, 11, 13, 12} {
				if err := r.replaceLog(tx, n, 20, nil, []byte(`{"event":20}`)); (err == nil) != (n == 12) {
					t.Errorf("a snapshot behind event %d: %v", n, err)
				}
			}
			if err := r.appendEvent(tx, 20, []byte("{}")); err == nil {
				t.Error("an event is recorded behind a snapshot that has it")
			}
			if err := r.appendEvent(tx, 21, []byte("{}")); err != nil {
				t.Error(err)
			}
			return errors.New("rolled back")
		})
		if err == nil {
			t.Error("committed")
		}
		if got := h.report(id, judged(d)).Receipts[0].Status; got != string(duel.Accepted) {
			t.Errorf("%s", got)
		}
	}
}

// TestBrokenCall: a call that panics does not block others.
func TestBrokenCall(t *testing.T) {
	h := newHouse(t, Options{})
	id := h.create(online(4))
	h.playSome(id)
	want := h.get(id)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		h.play(t.Context(), id, func(l *live) error {
			if _, _, err := l.game.draw("", 1, h.clock.time()); err != nil {
				t.Error(err)
			}
			panic("on purpose")
		})
	}()
	if d := cmp.Diff(want, h.get(id)); d != "" {
		t.Error(d)
	}
	if n := h.memory.bytes; n != footprint(4) {
		t.Errorf("%d bytes", n)
	}
}

// TestPagesOfLongNames: a page does not exceed its bytes, and nothing is left out.
func TestPagesOfLongNames(t *testing.T) {
	h := newHouse(t, Options{})
	spec := online(512)
	for i := range spec.Arms {
		name := make([]byte, maxName-len(spec.Arms[i]))
		for j := range name {
			name[j] = 'x'
		}
		spec.Arms[i] += string(name)
	}
	made := map[string]bool{}
	for range 17 {
		made[h.create(spec)] = true
	}
	pages := 0
	for after, more := "", true; more; pages++ {
		page, err := h.List(after, 0)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(page.Data); n < 1 || n > 8 {
			t.Errorf("%d tournaments of 128 KiB", n)
		}
		for _, x := range page.Data {
			delete(made, x.ID)
		}
		after, more = *page.LastID, page.HasMore
	}
	if len(made) > 0 || pages != 3 {
		t.Errorf("%d are missing on %d pages", len(made), pages)
	}
}

// TestMemoryOfAnswers: remembered answers count as memory.
func TestMemoryOfAnswers(t *testing.T) {
	h := newHouse(t, Options{})
	id := h.create(online(4))
	key := string(make([]byte, 1000))
	for n := range 20 {
		issued, err := h.Next(t.Context(), id, 1, fmt.Sprint(key, n))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range issued.Duels {
			h.report(id, judged(d))
		}
	}
	for range 2 {
		h.get(id)
		if n := h.memory.bytes - footprint(4); n < 20*1000 || n > 20*1200 {
			t.Errorf("20 answers take %d bytes", n)
		}
		h.mu.Lock()
		h.shrink(0)
		if h.memory.bytes != 0 {
			t.Errorf("%d bytes are left", h.memory.bytes)
		}
		h.mu.Unlock()
	}
}

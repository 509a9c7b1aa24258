package tournaments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"thresher/choice/duel"
	"thresher/service/problem"
)

// TestBadCalls: invalid calls change nothing.
func TestBadCalls(t *testing.T) {
	h := newHouse(t, Options{Duels: 3})
	ctx := context.Background()
	spec := online(4)
	spec.Testing = string(duel.Sweep)
	id := h.create(spec)
	first := h.next(id, 2)
	before := h.get(id)
	for name, c := range map[string]struct {
		call  func() error
		kind  problem.Kind
		field string
		index int
	}{
		"no duels":     {func() error { _, err := h.Next(ctx, id, 0, ""); return err }, problem.InvalidValue, "count", -1},
		"many duels":   {func() error { _, err := h.Next(ctx, id, 4, ""); return err }, problem.OverLimit, "count", -1},
		"of no one":    {func() error { _, err := h.Next(ctx, "tournament_0", 1, ""); return err }, UnknownTournament, "", -1},
		"no results":   {func() error { _, err := h.Report(ctx, id, nil, false); return err }, problem.InvalidValue, "results", -1},
		"many results": {func() error { _, err := h.Report(ctx, id, make([]duel.Result, 4), false); return err }, problem.OverLimit, "results", -1},
		"report of no one": {func() error { _, err := h.Report(ctx, "", []duel.Result{{Duel: 1}}, false); return err },
			UnknownTournament, "", -1},
		"duel 0": {func() error { _, err := h.Report(ctx, id, []duel.Result{{Duel: 0}}, true); return err }, UnknownDuel, "duel_id", 0},
		"a duel that is drawn and not handed out": {func() error {
			_, err := h.Report(ctx, id, []duel.Result{judged(first[0]), {Duel: 1 << 60}}, true)
			return err
		}, UnknownDuel, "duel_id", 1},
		"two results": {func() error {
			a := judged(first[0])
			_, err := h.Report(ctx, id, []duel.Result{a, {Duel: a.Duel, AWon: !a.AWon}}, false)
			return err
		}, problem.Conflict, "duel_id", 1},
		"a page":         {func() error { _, err := h.List("", 101); return err }, problem.InvalidValue, "limit", -1},
		"a page of none": {func() error { _, err := h.List("tournament_0", 1); return err }, UnknownTournament, "after", -1},
		"deletion":       {func() error { return h.Delete(context.Background(), "tournament_0") }, UnknownTournament, "", -1},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.call(), c.kind, c.field, c.index) })
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, next := h.Next(gone, id, 1, "")
	_, report := h.Report(gone, id, []duel.Result{judged(first[0])}, false)
	_, create := h.Create(gone, spec, "")
	for _, err := range []error{next, report, create} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the client is gone: %v", err)
		}
	}
	if d := cmp.Diff(before, h.get(id)); d != "" {
		t.Error(d)
	}
}

// TestLeases: an issued duel is not issued again until its lease expires, and the first
// result counts, also after the lease.
func TestLeases(t *testing.T) {
	h := newHouse(t, Options{})
	spec := online(6)
	spec.Testing, spec.LeaseSeconds = string(duel.Sweep), of(30.)
	id := h.create(spec)
	first := h.next(id, 100)
	if n := len(first); n < 2 || n > 6 || h.get(id).State.Open != n {
		t.Fatalf("%d duels of 6 arms are out: %+v", n, h.get(id).State)
	}
	if d := first[0].ExpiresAt.Sub(h.clock.time()); d != 30*time.Second {
		t.Errorf("out for %v", d)
	}
	h.clock.pass(29 * time.Second)
	h.reopen()
	if again := h.next(id, 100); len(again) > 0 {
		t.Errorf("handed out twice: %v", again)
	}
	h.report(id, judged(first[0]))
	h.clock.pass(2 * time.Second)
	again := h.next(id, 100)
	if len(again) != len(first)-1 || again[0].ID != first[1].ID || again[0].A != first[1].A || h.get(id).State.Open != len(again) {
		t.Errorf("after the leases: %v, before %v", again, first)
	}
	h.clock.pass(time.Hour)
	r := judged(first[1])
	if got := h.report(id, r).Receipts[0].Status; got != string(duel.Accepted) {
		t.Errorf("after the lease: %s", got)
	}
	if got := h.report(id, r, r).Receipts; got[0].Status != string(duel.Settled) && got[0].Status != string(duel.Repeated) || got[1].Status != string(duel.Repeated) && got[1].Status != string(duel.Settled) {
		t.Errorf("again: %v", got)
	}
	r.AWon = !r.AWon
	_, err := h.Report(context.Background(), id, []duel.Result{r}, false)
	refused(t, err, problem.Conflict, "duel_id", 0)
	lenient, err := h.Report(context.Background(), id, []duel.Result{r}, true)
	if err != nil || lenient.Receipts[0].Status != string(duel.Conflicting) {
		t.Errorf("%+v, %v", lenient.Receipts, err)
	}
}

// TestNoSelfDuels: a duel of an arm against itself is decided by the coin, is not issued, and
// counts.
func TestNoSelfDuels(t *testing.T) {
	h := newHouse(t, Options{})
	spec := online(2)
	spec.Horizon = of[int64](60)
	id := h.create(spec)
	told := 0
	for range 100 {
		issued, err := h.Next(context.Background(), id, 2, "")
		if ended(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range issued.Duels {
			if d.A == d.B {
				t.Fatalf("handed out: %+v", d)
			}
			told++
			h.report(id, duel.Result{Duel: d.ID, AWon: d.ID%2 == 0})
		}
	}
	s := h.get(id)
	if !s.Done || s.State.End != string(duel.HorizonReached) || s.State.Guarantee != nil || s.State.Duels != 60 || told > 45 || told < 15 {
		t.Errorf("%d results were told of %+v", told, s.State)
	}
	if c := h.Counts(); c["done"] != 1 || c["running"] != 0 {
		t.Errorf("%v", c)
	}
	h.reopen()
	if c := h.Counts(); c["done"] != 1 || c["running"] != 0 {
		t.Errorf("opened again: %v", c)
	}
	if page, err := h.List("", 0); err != nil || !page.Data[0].Done || *page.Data[0].Winner != *s.Winner || page.Data[0].State != nil {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestKeys: a call repeated under its key gets the same answer, also after a restart and
// after a snapshot has replaced the log.
func TestKeys(t *testing.T) {
	for _, logBytes := range []int{1, 1 << 20} {
		h := newHouse(t, Options{logBytes: logBytes, Most: 2})
		ctx := context.Background()
		spec := online(5)
		made, err := h.Create(ctx, spec, "key")
		if err != nil {
			t.Fatal(err)
		}
		again, err := h.Create(ctx, spec, "key")
		if err != nil || again.ID != made.ID || h.Counts()["running"] != 1 {
			t.Errorf("again: %s, %v", again.ID, err)
		}
		other := online(5)
		other.Seed = of(uint64(2))
		_, err = h.Create(ctx, other, "key")
		refused(t, err, problem.KeyReused, "Idempotency-Key", -1)

		id := made.ID
		one, err := h.Next(ctx, id, 2, "one")
		if err != nil {
			t.Fatal(err)
		}
		h.report(id, judged(one.Duels[0]))
		h.reopen()
		two, err := h.Next(ctx, id, 2, "one")
		if d := cmp.Diff(one, two); d != "" || err != nil {
			t.Error(d, err)
		}
		_, err = h.Next(ctx, id, 1, "one")
		refused(t, err, problem.KeyReused, "Idempotency-Key", -1)

		if err := h.Delete(context.Background(), id); err != nil {
			t.Fatal(err)
		}
		anew, err := h.Create(ctx, spec, "key")
		if err != nil || anew.ID == id {
			t.Errorf("after the deletion: %s, %v", anew.ID, err)
		}
		if third, err := h.Create(ctx, spec, "key"); err != nil || third.ID != anew.ID {
			t.Errorf("%s, %v", third.ID, err)
		}
		h.create(other)
		_, err = h.Create(ctx, other, "")
		refused(t, err, problem.OverLimit, "", -1)
	}
}

// TestGivenIsBounded: answers are dropped, the oldest first, and never the last.
func TestGivenIsBounded(t *testing.T) {
	var g given
	for i := range 10 {
		g.add(fmt.Sprint(i), 1500, make([]duel.Duel, 1500))
	}
	g.add("", 1, make([]duel.Duel, 1))
	if len(g) != 2 || g[0].Key != "8" || g[1].Key != "9" {
		t.Errorf("%d are remembered", len(g))
	}
	g.add("large", 9000, make([]duel.Duel, 9000))
	if a, err := g.find("large", 9000); len(g) != 1 || err != nil || a == nil {
		t.Errorf("%d are remembered, %v", len(g), err)
	}
	if a, err := g.find("8", 1500); a != nil || err != nil {
		t.Errorf("%v, %v", a, err)
	}
}

// TestAnswers compares the remembered winners with a map.
func TestAnswers(t *testing.T) {
	var a answers
	should := map[uint64]bool{}
	for id := uint64(1); id < 3*maxAnswers; id += 1 + id%3 {
		should[id] = id%5 < 2
		a.remember(id, outcomeOf(duel.Result{AWon: should[id]}))
		if _, told := should[id-1]; !told && id%7 == 0 { // late
			should[id-1] = id%2 == 0
			a.remember(id-1, outcomeOf(duel.Result{AWon: should[id-1]}))
		}
	}
	for id := uint64(0); id < 3*maxAnswers+10; id++ {
		should, told := should[id]
		told = told && id+maxAnswers > a.last
		if is := a.get(id); (is != forgotten) != told || told && is != outcomeOf(duel.Result{AWon: should}) {
			t.Fatalf("duel %d of %d: %v; told %t, won %t", id, a.last, is, told, should)
		}
	}
	if n := len(a.bits); n > maxAnswers/4 {
		t.Errorf("%d bytes", n)
	}
}

// TestMemory: tournaments that are not in use are evicted, those in use are not, and nothing
// is lost.
func TestMemory(t *testing.T) {
	h := newHouse(t, Options{Memory: 2*footprint(5) + 1})
	var ids []string
	for range 4 {
		ids = append(ids, h.create(online(5)))
	}
	for i := range 40 {
		id := ids[i%4]
		for _, d := range h.next(id, 1) {
			h.report(id, judged(d))
		}
		h.mu.Lock()
		if h.memory.bytes != int64(len(h.memory.live))*footprint(5) || len(h.memory.live) > 2 || h.memory.used.Len() != len(h.memory.live) {
			t.Fatalf("%d bytes of %d tournaments, %d in order", h.memory.bytes, len(h.memory.live), h.memory.used.Len())
		}
		h.mu.Unlock()
	}
	var held []*live
	for _, id := range ids[:2] {
		l, err := h.acquire(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, l)
	}
	_, err := h.Get(context.Background(), ids[2])
	refused(t, err, problem.QueueFull, "", -1)
	if p := problem.Of(err); p.RetryAfter <= 0 {
		t.Error("it does not say when to come again")
	}
	for _, l := range held {
		if h.memory.live[l.id] != l {
			t.Error("what is in use was forgotten")
		}
		if err := h.release(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		if s := h.get(id).State; s.Duels < 10 {
			t.Errorf("%d duels are left of 10", s.Duels)
		}
	}
	_, err = h.Create(context.Background(), online(500), "")
	refused(t, err, problem.OverLimit, "arms", -1)
}

// TestDelete: the deletion of a tournament fails its running calls, and leaves nothing.
func TestDelete(t *testing.T) {
	h := newHouse(t, Options{logBytes: 200})
	id, other := h.create(online(4)), h.create(online(4))
	for range 20 {
		for _, d := range h.next(id, 2) {
			h.report(id, judged(d))
		}
	}
	if err := h.Delete(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	_, err := h.Next(context.Background(), id, 1, "")
	refused(t, err, UnknownTournament, "", -1)
	refused(t, h.Delete(context.Background(), id), UnknownTournament, "", -1)
	if err := h.Delete(context.Background(), other); err != nil {
		t.Fatal(err)
	}
	err = h.db.View(func(tx *bbolt.Tx) error {
		for _, name := range []string{recordsBucket, idsBucket, gamesBucket, keysBucket} {
			if n := bucket(tx, name).Stats().KeyN; n > 0 {
				t.Errorf("%d are left in %s", n, name)
			}
		}
		return nil
	})
	if err != nil || h.Counts()["running"] != 0 || len(h.memory.live) != 0 || h.memory.bytes != 0 {
		t.Errorf("%v, %v, %d bytes of %d", err, h.Counts(), h.memory.bytes, len(h.memory.live))
	}
}

// TestPages lists from the newest to the oldest.
func TestPages(t *testing.T) {
	h := newHouse(t, Options{})
	var want, got []string
	for range 7 {
		want = append(want, h.create(online(2)))
	}
	slices.Reverse(want)
	for after, more := "", true; more; {
		page, err := h.List(after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range page.Data {
			got = append(got, x.ID)
		}
		after, more = *page.LastID, page.HasMore
		if *page.FirstID != page.Data[0].ID {
			t.Errorf("the first is %s, not %s", *page.FirstID, page.Data[0].ID)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestReplayThatGoesAnotherWay: a replay that diverges is detected; here the call was
// recorded for one duel instead of two.
func TestReplayThatGoesAnotherWay(t *testing.T) {
	h := newHouse(t, Options{})
	id := h.create(online(4))
	for range 5 {
		for _, d := range h.next(id, 1) {
			h.report(id, judged(d))
		}
	}
	h.damage(id)
	h.reopen()
	_, err := h.Get(t.Context(), id)
	refused(t, err, Unplayable, "id", -1)
	if err != nil && !strings.Contains(err.Error(), id+": call 1 ") {
		t.Errorf("%v names neither the tournament nor the call", err)
	}
	if err := h.Delete(context.Background(), id); err != nil {
		t.Error(err)
	}
}

// TestClosed: a closed Store refuses all calls.
func TestClosed(t *testing.T) {
	h := newHouse(t, Options{})
	id := h.create(online(4))
	h.Store.Close(context.Background())
	_, next := h.Next(context.Background(), id, 1, "")
	_, create := h.Create(context.Background(), online(3), "")
	refused(t, next, problem.Draining, "", -1)
	refused(t, create, problem.Draining, "", -1)
	refused(t, h.Delete(context.Background(), id), problem.Draining, "", -1)
}

// TestLogGivesWay: a log is never longer than the state, or than logBytes.
func TestLogGivesWay(t *testing.T) {
	const least = 500
	h := newHouse(t, Options{logBytes: least})
	id := h.create(online(5))
	for range 100 {
		for _, d := range h.next(id, 1) {
			h.report(id, judged(d))
		}
	}
	err := h.db.View(func(tx *bbolt.Tx) error {
		r, err := findRecord(tx, id)
		if err != nil {
			return err
		}
		saved, err := r.texts(tx)
		if err != nil {
			return err
		}
		st, err := saved.replay(t.Context(), r, nil)
		if err != nil {
			return err
		}
		if st.events < 150 || st.kept == 0 || st.logged > max(least, st.kept) {
			t.Errorf("after %d events the log has %d bytes, the snapshot %d", st.events, st.logged, st.kept)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

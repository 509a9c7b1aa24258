package tournaments

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/choice/duel"
	"thresher/service/problem"
)

// A late or repeated result under an id of before an undo never counts, and the undone duel counts
// once, under its new id.
func TestUndoneIDsAreNotUsedAgain(t *testing.T) {
	h := newHouse(t, Options{})
	id := h.create(Spec{Arms: arms(4), Mode: string(duel.PAC), Delta: of(.01), Seed: of[uint64](3)})
	first := h.next(id, 2)
	h.report(id, duel.Result{Duel: first[0].ID, AWon: true})
	keyed, err := h.Next(context.Background(), id, 3, "later")
	if err != nil {
		t.Fatal(err)
	}
	later := keyed.Duels
	u, err := h.Undo(context.Background(), id, 0, "")
	if d := cmp.Diff([]uint64{first[0].ID}, u.UndoneDuels); d != "" || err != nil || u.Duels != 0 || u.Undone != 1 {
		t.Fatalf("%v, %s, %+v", err, d, u)
	}
	h.reopen()
	for _, d := range append(later, first[0]) {
		_, err := h.Report(context.Background(), id, []duel.Result{{Duel: d.ID, AWon: true}}, false)
		refused(t, err, DuelWithdrawn, "duel_id", 0)
		r, err := h.Report(context.Background(), id, []duel.Result{{Duel: d.ID, AWon: true}}, true)
		if err != nil || r.Receipts[0].Status != string(duel.Void) || r.TournamentState.Duels != 0 {
			t.Errorf("duel %d: %v, %+v", d.ID, err, r)
		}
	}
	h.report(id, duel.Result{Duel: first[1].ID, AWon: true})  // issued before the undone report
	keyed, err = h.Next(context.Background(), id, 3, "later") // its first answer is withdrawn
	if err != nil {
		t.Fatal(err)
	}
	again := keyed.Duels
	if again[0].A != first[0].A || again[0].B != first[0].B {
		t.Errorf("%+v is issued in the place of %+v", again[0], first[0])
	}
	used := map[uint64]bool{}
	for _, d := range append(append(first, later...), again...) {
		if used[d.ID] {
			t.Errorf("duel %d is there twice: %v, %v, %v", d.ID, first, later, again)
		}
		used[d.ID] = true
	}
	if r := h.report(id, duel.Result{Duel: again[0].ID, AWon: true}); r.Duels != 2 || r.Receipts[0].DuelID != again[0].ID {
		t.Errorf("%+v", r)
	}
	if _, err := h.Report(context.Background(), id, []duel.Result{{Duel: again[0].ID}}, false); problem.Of(err).Kind != problem.Conflict {
		t.Error(err)
	}
}

// An undo takes back a winner, durably, and the counts of tournaments follow.
func TestUndoOfAWinner(t *testing.T) {
	h := newHouse(t, Options{})
	id := h.create(Spec{Arms: arms(2), Mode: string(duel.PAC), Delta: of(.3)})
	var last Duel
	for !h.get(id).Done {
		last = h.next(id, 1)[0]
		h.report(id, duel.Result{Duel: last.ID, AWon: last.A < last.B})
	}
	want := map[string]int{"running": 0, "done": 1}
	if d := cmp.Diff(want, h.Counts()); d != "" {
		t.Fatal(d)
	}
	if _, err := h.Undo(context.Background(), id, last.ID, "key"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if x := h.get(id); x.Done || x.Winner != nil || len(x.State.Active) != 2 {
			t.Errorf("%+v", x)
		}
		if d := cmp.Diff(map[string]int{"running": 1, "done": 0}, h.Counts()); d != "" {
			t.Error(d)
		}
		if page, err := h.List("", 0); err != nil || page.Data[0].Done {
			t.Errorf("%+v, %v", page, err)
		}
		h.reopen()
	}
	if _, err := h.Next(context.Background(), id, 1, "key"); problem.Of(err).Kind != problem.KeyReused {
		t.Errorf("the key of an undo: %v", err)
	}
	last = h.next(id, 1)[0]
	if r := h.report(id, duel.Result{Duel: last.ID, AWon: last.A < last.B}); !r.Done {
		t.Errorf("%+v", r)
	}
}

// Judgments are kept where undoing one is not much work.
func TestWhatCanBeUndone(t *testing.T) {
	h := newHouse(t, Options{})
	spec := Spec{Arms: arms(23), Mode: string(duel.Online), Horizon: of[int64](1000), Algorithm: string(duel.DoubleThompson)}
	id := h.create(spec)
	h.report(id, duel.Result{Duel: h.next(id, 1)[0].ID})
	_, err := h.Undo(context.Background(), id, 0, "")
	refused(t, err, problem.Conflict, "", -1)
	spec.Arms = arms(22)
	id = h.create(spec)
	h.report(id, duel.Result{Duel: h.next(id, 1)[0].ID})
	if _, err = h.Undo(context.Background(), id, 0, ""); err != nil {
		t.Error(err)
	}
}

// A snapshot of an earlier release has no judgments to undo; those after it can be undone.
func TestUndoAfterAnOldSnapshot(t *testing.T) {
	config := duel.Config{Arms: arms(3), Design: duel.Design{Delta: .01}, Order: duel.RandomOrder, Lease: 1e9}
	old, err := duel.New(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		next, err := old.Next(1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := old.Report(duel.Result{Duel: next[0].ID}); err != nil {
			t.Fatal(err)
		}
	}
	state, err := old.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	g, n, err := restored(state, []byte(`{"event":6,"last":3,"bits":"VA=="}`))
	if err != nil || n != 6 {
		t.Fatal(n, err)
	}
	if ids := g.undoable(); len(ids) > 0 {
		t.Errorf("%v can be undone", ids)
	}
	duels, _, err := g.draw("", 1, g.now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.apply([]duel.Result{{Duel: duels[0].ID}}); err != nil {
		t.Fatal(err)
	}
	if undone, err := g.undo(""); err != nil || len(undone) != 1 || undone[0] != duels[0].ID || g.tournament.State().Duels != 3 {
		t.Error(undone, err)
	}
}

package tournaments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/choice/duel"
	"thresher/service/problem"
)

// playOn judges many duels, a few at a time, half of them late, when they may have been
// withdrawn.
func (h *house) playOn(r *rapid.T, id string, m *model, seen map[string]int) {
	count := rapid.IntRange(1, 9).Draw(r, "at a time")
	var late []duel.Result
	for range rapid.IntRange(1, 100).Draw(r, "rounds") {
		duels, err := m.next(count, "")
		if err != nil {
			return
		}
		got := h.next(id, count)
		if d := cmp.Diff(viewDuels(m.arms, &numbers{}, m.see(duels)), got); d != "" {
			r.Fatal(d)
		}
		results := late
		late = nil
		for _, d := range m.see(duels) {
			results = append(results, duel.Result{Duel: d.ID, AWon: d.A < d.B})
		}
		results, late = results[:(len(results)+1)/2], results[(len(results)+1)/2:]
		if len(results) == 0 {
			h.clock.pass(time.Hour) // leases of the others expire
			continue
		}
		reported, err := h.Report(context.Background(), id, results, true)
		if err != nil {
			r.Fatal(err)
		}
		if d := cmp.Diff(m.report(results), reported.Receipts); d != "" {
			r.Fatal(d)
		}
		for _, x := range reported.Receipts {
			seen[string(x.Status)]++
		}
	}
}

// undoOnce undoes the last report: under a key and repeatedly, of a named duel or whichever it is.
func (h *house) undoOnce(r *rapid.T, id string, m *model, seen map[string]int) {
	ctx := context.Background()
	last := m.Undoable()
	if len(last) == 0 {
		_, err := h.Undo(ctx, id, 0, "")
		refused(r, err, problem.Conflict, "", -1)
		seen["none to undo"]++
		return
	}
	shown := m.shown[last[0].Duel-1]
	if _, err := h.Undo(ctx, id, m.used+9, ""); err == nil {
		r.Fatal("the judgment of another duel was undone")
	} else {
		refused(r, err, problem.Conflict, "duel_id", -1)
		seen["another's"]++
	}
	if m.State().Done {
		seen["a winner undone"]++
	}
	key := rapid.SampledFrom([]string{"", "undo"}).Draw(r, "undo key") + fmt.Sprint(m.used)
	if key[0] != 'u' {
		key = ""
	}
	want, err := m.undo()
	if err != nil {
		r.Fatal(err)
	}
	for range 2 {
		got, err := h.Undo(ctx, id, shown*uint64(rapid.IntRange(0, 1).Draw(r, "named")), key)
		if err != nil {
			r.Fatal(err)
		}
		if d := cmp.Diff(want, got.UndoneDuels) + cmp.Diff(m.view(false), got.TournamentState); d != "" {
			r.Fatal(d)
		}
		if key == "" {
			break
		}
	}
	seen["undone"]++
}

// tell reports results, mostly of issued duels.
func (h *house) tell(r *rapid.T, id string, m *model, seen map[string]int) {
	var results []duel.Result
	for range rapid.IntRange(1, 6).Draw(r, "results") {
		if len(m.out) == 0 || rapid.IntRange(0, 60).Draw(r, "stray") == 0 {
			results = append(results, duel.Result{Duel: rapid.Uint64Range(0, uint64(len(m.out)+20)).Draw(r, "id")})
			continue
		}
		last := min(len(m.out), rapid.SampledFrom([]int{4, 8, 20, 1000}).Draw(r, "recent"))
		d := m.out[len(m.out)-rapid.IntRange(1, last).Draw(r, "duel")]
		at := slices.IndexFunc(m.out, func(d duel.Duel) bool {
			_, err := m.checkShown(d.ID)
			return errors.Is(err, duel.ErrWithdrawn)
		})
		if at >= 0 && rapid.Bool().Draw(r, "withdrawn") {
			d = m.out[at]
		}
		result := duel.Result{Duel: d.ID, AWon: d.A < d.B}
		result.AWon = result.AWon != (rapid.IntRange(0, 20).Draw(r, "lie") == 0)
		results = append(results, result)
	}
	lenient := rapid.Bool().Draw(r, "lenient")
	kind, index := m.refusal(results, lenient)
	got, err := h.Report(context.Background(), id, results, lenient)
	if kind != "" {
		refused(r, err, kind, "duel_id", index)
		seen[string(kind)]++
		return
	}
	if err != nil {
		r.Fatal(err)
	}
	want := m.report(results)
	if d := cmp.Diff(want, got.Receipts); d != "" {
		r.Fatal(d)
	}
	if d := cmp.Diff(m.view(false), got.TournamentState); d != "" {
		r.Fatal(d)
	}
	for _, x := range want {
		seen[string(x.Status)]++
	}
}

// compare compares the tournament as clients see it and its state.
func compare(r *rapid.T, h *house, id string, m *model) {
	if d := cmp.Diff(m.view(true), *h.get(id).State); d != "" {
		r.Fatal(d)
	}
	l, err := h.acquire(context.Background(), id)
	if err != nil {
		r.Fatal(err)
	}
	got, err := l.game.tournament.MarshalBinary()
	if err := errors.Join(err, h.release(context.Background(), l)); err != nil {
		r.Fatal(err)
	}
	want, err := m.MarshalBinary()
	if err != nil || string(got) != string(want) {
		r.Fatalf("%v; the states are\n%q\n%q", err, got, want)
	}
}

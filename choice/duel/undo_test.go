package duel

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/internal/race"
)

// Undo leads back to the state before each of the last judgments, whatever they did, also
// after saving; and the tournament goes on from there as it did then.
func TestUndo(t *testing.T) {
	race.Skip(t, "one goroutine")
	for name, d := range designs() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				k := rapid.IntRange(2, 5).Draw(t, "k")
				clock := newClock()
				a, err := New(Config{Arms: names(k), Design: d, Seed: rapid.Uint64().Draw(t, "seed"), Lease: time.Minute, Order: RandomOrder}, clock.time)
				if err != nil {
					t.Fatal(err)
				}
				const most = 5
				if err := a.KeepUndo(most); err != nil {
					t.Fatal(err)
				}
				f := Constant(k, .45)
				var before []State // each judgment
				longest := 60
				if testing.Short() {
					longest = 25 // with more judgments than are kept, too
				}
				for range rapid.IntRange(1, longest).Draw(t, "steps") {
					a = reborn(t, a, rapid.IntRange(0, 2).Draw(t, "form"), clock.time)
					clock.now = clock.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
					next, err := a.Next(rapid.IntRange(1, 3).Draw(t, "count"))
					if err != nil {
						break
					}
					for _, d := range next {
						s := a.State()
						if rapid.IntRange(0, 9).Draw(t, "skip") == 0 {
							if err := a.Skip("ann", d.ID); err != nil && !errors.Is(err, ErrWithdrawn) {
								t.Fatal(err)
							}
							continue
						}
						r := judge(1, f, d)
						r.Tie = d.ID%3 == 0
						if d.A == d.B {
							r = a.Coin(d)
						}
						receipts, err := a.Report(r)
						if err == nil && receipts[0].Status != Repeated && receipts[0].Status != Settled && d.A != d.B {
							before = append(before, s)
						} else if err != nil && !errors.Is(err, ErrWithdrawn) {
							t.Fatal(err)
						}
					}
				}
				undone := 0
				for i := len(before) - 1; i >= 0; i-- {
					a = reborn(t, a, i%3, clock.time)
					if _, err := a.Undo(); errors.Is(err, ErrNothingToUndo) {
						break
					} else if err != nil {
						t.Fatal(err)
					}
					undone++
					want, is := before[i], a.State()
					want.Open, is.Open, want.Undone = 0, 0, int64(undone) // leases end with time
					if diff := cmp.Diff(want, is); diff != "" {
						t.Fatalf("undone %d: (-before +after)\n%s", undone, diff)
					}
				}
				if undone < min(most, len(before)) || undone > 2*most {
					t.Fatalf("undid %d of %d", undone, len(before))
				}
			})
		})
	}
}

// After an undo the duel is asked again, and the same answer gives the same tournament.
func TestUndoAnswersAgain(t *testing.T) {
	a := begin(t, Config{Arms: names(3), Design: Design{Delta: .3}, Seed: 2, Order: RandomOrder}, nil)
	if err := a.KeepUndo(10); err != nil {
		t.Fatal(err)
	}
	var last State
	var d Duel
	for {
		next, err := a.Next(1)
		if errors.Is(err, ErrEnded) {
			break
		}
		d = next[0]
		if _, err := a.Report(Result{Duel: d.ID, AWon: d.A < d.B, Judge: "ann"}); err != nil {
			t.Fatal(err)
		}
		last = a.State()
	}
	for range 4 { // after the winner was named, and again
		results, err := a.Undo()
		if err != nil || len(results) != 1 || results[0].Duel != d.ID || results[0].Judge != "ann" {
			t.Fatal(results, err)
		}
		if s := a.State(); s.Done || s.Duels != last.Duels-1 {
			t.Fatalf("%+v", s)
		}
		next, err := a.Next(1)
		if err != nil || next[0] != d {
			t.Fatalf("%v, %v; want %v", next, err, d)
		}
		if _, err := a.Report(Result{Duel: d.ID, AWon: d.A < d.B, Judge: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	last.Undone = 4
	if diff := cmp.Diff(last, a.State()); diff != "" {
		t.Errorf("(-first +again)\n%s", diff)
	}
	if _, err := begin(t, a.Config(), nil).Undo(); !errors.Is(err, ErrNothingToUndo) {
		t.Error(err)
	}
}

// A history that does not lead to its state is refused, for otherwise a later undo would fail.
func TestDamagedHistory(t *testing.T) {
	a := begin(t, Config{Arms: names(3), Design: Design{Delta: .3}, Seed: 2}, nil)
	if err := a.KeepUndo(10); err != nil {
		t.Fatal(err)
	}
	next, err := a.Next(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Report(Result{Duel: next[0].ID}); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(*history){
		"a step too few": func(h *history) { h.Steps = h.Steps[:1] },
		"no base":        func(h *history) { h.Base = nil },
		"none":           func(h *history) { h.Most = 0 },
		"another duel":   func(h *history) { h.Steps[1].Results = []Result{{Duel: 9}} },
	} {
		s := a.saved()
		h := *s.History
		h.Steps = append([]undoStep{}, h.Steps...)
		damage(&h)
		s.History = &h
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(text, nil); err == nil {
			t.Errorf("%s: was restored", name)
		}
	}
}

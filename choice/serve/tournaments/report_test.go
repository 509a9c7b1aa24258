package tournaments

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/choice/duel"
	"thresher/service/problem"
)

// Ties, judges and skips replay as they were, and the first verdict stays.
func TestVerdicts(t *testing.T) {
	config := duel.Config{Arms: []string{"x", "y", "z"}, Design: duel.Design{Delta: 1e-9}, Order: duel.RandomOrder, Lease: 1e9}
	g, err := newGame(config)
	if err != nil {
		t.Fatal(err)
	}
	again, err := newGame(config)
	if err != nil {
		t.Fatal(err)
	}
	both := func(e event) {
		t.Helper()
		if err := again.replay(&e); err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
	}
	for i := range 30 {
		judge := []string{"ann", "bob"}[i%2]
		duels, coins, err := g.draw(judge, 2, g.now)
		if err != nil || len(duels) == 0 {
			t.Fatal(duels, err)
		}
		both(event{Count: 2, At: g.now.UnixNano(), Judge: judge, Sum: sumOfDuels(duels, coins)})
		report := []Verdict{{Result: duel.Result{Duel: duels[0].ID, Tie: i%3 == 0, AWon: true, Judge: judge}}}
		if len(duels) > 1 {
			report = append(report, Verdict{Result: duel.Result{Duel: duels[1].ID, Judge: judge}, Skip: true})
		}
		results, _ := split(report)
		_, take, err := g.validate(results, false)
		if err != nil {
			t.Fatal(err)
		}
		skips, err := g.checkSkips(report, false)
		if err != nil || len(skips) != len(report)-1 {
			t.Fatal(skips, err)
		}
		receipts, err := g.apply(take)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.skip(skips); err != nil {
			t.Fatal(err)
		}
		both(reportEvent(take, skips, receipts))
		contrary := results[0]
		contrary.Tie = !contrary.Tie
		if _, _, err := g.validate([]duel.Result{contrary}, false); problem.Of(err).Kind != problem.Conflict {
			t.Errorf("%+v: %v", contrary, err)
		}
	}
	if diff := cmp.Diff(g.tournament.Judges(), again.tournament.Judges()); diff != "" || g.tournament.State().Ties == 0 {
		t.Errorf("%s", diff)
	}
	if _, err := g.checkSkips([]Verdict{{Result: duel.Result{Duel: 1 << 40}, Skip: true}}, true); problem.Of(err).Kind != UnknownDuel {
		t.Error(err)
	}
}

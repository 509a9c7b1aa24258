package tournaments

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/choice/duel"
	"thresher/internal/draws"
	"thresher/service/problem"
)

// designs returns a tournament of every algorithm and mode.
func designs() []Spec {
	return []Spec{
		{Mode: string(duel.PAC), Delta: of(.3)},
		{Mode: string(duel.PAC), Epsilon: of(.1), Delta: of(.01), Testing: string(duel.Sweep)},
		{Mode: string(duel.Online), Horizon: of[int64](300)},
		{Mode: string(duel.Online), Horizon: of[int64](300), Algorithm: string(duel.BeatTheMean)},
		{Mode: string(duel.Online), Horizon: of[int64](5000), Algorithm: string(duel.BeatTheMean), Testing: string(duel.Sweep)},
		{Mode: string(duel.PAC), Epsilon: of(.4), Delta: of(.3), Algorithm: string(duel.BeatTheMean), Testing: string(duel.Sweep)},
		{Mode: string(duel.PAC), Epsilon: of(.4), Delta: of(.3), Algorithm: string(duel.Knockout)},
		{Mode: string(duel.Online), Horizon: of[int64](1000), Algorithm: string(duel.InterleavedFilter2)},
		{Mode: string(duel.Online), Horizon: of[int64](300), Algorithm: string(duel.DoubleThompson), Testing: string(duel.Sweep)},
		{Mode: string(duel.PAC), Delta: of(.3), Algorithm: string(duel.Rank)},
		{Mode: string(duel.PAC), Delta: of(.3), Epsilon: of(.2), Top: of(1), Algorithm: string(duel.Rank), Testing: string(duel.Sweep)},
		{Mode: string(duel.PAC), Delta: of(.3), Horizon: of[int64](200), Algorithm: string(duel.Copeland)},
	}
}

// TestAsIfInMemory plays random sequences of calls with restarts, evictions, keys, expired
// leases and invalid results of every kind, and compares each answer and the whole state with
// a tournament in memory.
func TestAsIfInMemory(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		spec := rapid.SampledFrom(designs()).Draw(r, "design")
		spec.Arms = arms(rapid.IntRange(2, 9).Draw(r, "arms"))
		spec.LeaseSeconds = of(60.)
		spec.Seed = of(rapid.Uint64().Draw(r, "seed"))
		h := newHouse(t, Options{logBytes: rapid.SampledFrom([]int{1, 500, 1 << 20}).Draw(r, "log"), Memory: footprint(9) + 1})
		id := h.create(spec)
		other := h.create(online(9))
		m := newModel(r, spec, h.clock)
		ctx, ends := context.Background(), 0
		for range rapid.IntRange(1, 40).Draw(r, "calls") {
			switch at := rapid.IntRange(0, 12).Draw(r, "call"); {
			case at == 0:
				if ends++; ends%2 == 0 { // otherwise it is killed
					h.Store.Close(ctx)
				}
				h.reopen()
			case at == 1:
				h.get(other) // both do not fit into memory
			case at == 2:
				h.clock.pass(time.Duration(rapid.IntRange(1, 100).Draw(r, "seconds")) * time.Second)
			case at == 3:
				h.playOn(r, id, m, seen)
			case at == 4 && rapid.Bool().Draw(r, "undo"):
				h.undoOnce(r, id, m, seen)
			case at < 8:
				count := rapid.IntRange(1, 8).Draw(r, "count")
				key := rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(r, "key")
				if key != "" {
					key += string(rune('0' + count)) // another count under the key would be refused
				}
				want, refusal := m.next(count, key)
				got, err := h.Next(ctx, id, count, key)
				if refusal != nil {
					refused(r, err, TournamentEnded, "", -1)
					seen["ended"]++
					break
				}
				if err != nil {
					r.Fatal(err)
				}
				if d := cmp.Diff(viewDuels(m.arms, &numbers{}, m.see(want)), got.Duels); d != "" || got.Done != m.State().Done {
					r.Fatalf("done %t, duels:\n%s", got.Done, d)
				}
			default:
				h.tell(r, id, m, seen)
			}
			compare(r, h, id, m)
		}
		h.shut()
	})
	for _, what := range []string{"ended", "undone", "none to undo", "another's", "a winner undone", string(UnknownDuel), string(DuelWithdrawn), string(problem.Conflict),
		string(duel.Accepted), string(duel.Repeated), string(duel.Conflicting), string(duel.Settled), string(duel.Void)} {
		if seen[what] == 0 && draws.Usual() {
			t.Errorf("no history has %s: %v", what, seen)
		}
	}
	t.Log(seen)
}

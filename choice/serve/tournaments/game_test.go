package tournaments

import (
	"errors"
	"testing"
	"time"

	"thresher/choice/duel"
)

// TestCoinsThatEliminate: if the coin of one duel eliminates an arm, the duels drawn after it
// are withdrawn and not issued.
func TestCoinsThatEliminate(t *testing.T) {
	for seed := range uint64(100) {
		spec := online(6)
		spec.Horizon, spec.Seed = of[int64](3000), &seed
		config, err := checkSpec(&spec, 6)
		if err != nil {
			t.Fatal(err)
		}
		g, err := newGame(config)
		if err != nil {
			t.Fatal(err)
		}
		for {
			duels, _, err := g.draw("", 6, time.Unix(1, 0))
			if errors.Is(err, duel.ErrEnded) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range duels {
				if g.withdrawn(d) {
					t.Fatalf("seed %d: %+v was withdrawn and is handed out", seed, d)
				}
			}
			for _, d := range duels {
				r := duel.Result{Duel: d.ID, AWon: d.A < d.B}
				if g.withdrawn(d) {
					continue // withdrawn by an earlier one
				}
				if _, err := g.apply([]duel.Result{r}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

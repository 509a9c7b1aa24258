package trial

import (
	"context"
	"testing"

	"thresher/choice/slate"
	"thresher/internal/race"
)

// The alpha-regret of greedy algorithms is linear: the second half of the rounds costs as much as the first. That of
// AFSM-UCB decreases, since its lists are worth more than alpha OPT once it has learned. The seed is fixed; the gaps
// are so wide (lists of 0.19 or 0.06 against alpha = 0.208 and 1) that another seed would have to learn nothing at
// all to change the result.
func TestGreedyRegretIsLinear(t *testing.T) {
	race.Skip(t, "one goroutine")
	const m = 16
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	for _, c := range []struct {
		algorithm slate.Algorithm
		trap      func(int) (*Trap, error)
		rounds    int
	}{{slate.ModifiedGreedy, CheapTrap, 4 * rounds}, {slate.MCSGreedy, CheapTrap, rounds / 4}, {slate.LSBGreedy, DearTrap, 4 * rounds}} {
		trap, err := c.trap(m)
		if err != nil {
			t.Fatal(err)
		}
		greedy, afsm := halves(t, trap, c.algorithm, c.rounds), halves(t, trap, slate.AFSM, 4*rounds)
		t.Logf("%s: %.3f and %.3f a round in two halves; %s: %.3f and %.3f", c.algorithm, greedy[0], greedy[1], slate.AFSM, afsm[0], afsm[1])
		if greedy[1] < 0.01 || greedy[1] < 0.5*greedy[0] {
			t.Errorf("%s: regret %v a round in two halves: not linear", c.algorithm, greedy)
		}
		if afsm[1] > -0.1 {
			t.Errorf("AFSM: regret %v a round in two halves: it should fall in the second", afsm)
		}
	}
}

// halves returns alpha OPT - f(S_t) a round in the first and the second half of the rounds, where OPT = 1 and alpha
// is that of AFSM-UCB.
func halves(t *testing.T, trap *Trap, a slate.Algorithm, rounds int) (regret [2]float64) {
	t.Helper()
	s := &Simulation{
		Constraint: trap.Constraint, Algorithms: []slate.Algorithm{a}, Options: trap.Options(), Users: 1, Repeats: 1, Rounds: rounds,
		Marks: []int{rounds / 2, rounds}, Weights: [][]float64{trap.Weights}, Seed: 15,
	}
	outcomes, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	alpha := trap.Constraint.Alpha(trap.Options().Epsilon)
	first, all := outcomes[0].Values[0].Mean, outcomes[0].Values[1].Mean
	return [2]float64{alpha - first, alpha - (2*all - first)}
}

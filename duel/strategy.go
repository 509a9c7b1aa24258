package duel

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// pair is a duel of a against b; a began it, and a "win" is a's.
type pair struct{ a, b int }

// strategy is an algorithm at work. Duels are drawn one after the other; results
// come back in the order in which the duels were drawn.
type strategy interface {
	// draw makes the next duel. It is false if results of earlier duels must be
	// told first, or if the strategy has ended.
	draw() (pair, bool)
	// tell takes the result of the earliest duel that was drawn and not told.
	tell(d pair, won bool) change
	// ended says that no more duels are wanted.
	ended() bool
	// describe fills in active arms, standings, radius, leader and why it ended.
	describe(s *State)
	// save and load are the state in whole numbers. load gets the duels drawn and
	// not told, in order, and refuses what save never writes.
	save() progress
	load(p progress, drawn []pair) error
}

// change is what a result changed.
type change struct {
	eliminated []Elimination // nil if nobody
	// withdraw says that all duels drawn and not told are void.
	withdraw bool
}

// newStrategy begins a completed design with k arms.
func newStrategy(k int, d Design, rng *rand.Rand) strategy {
	switch d.Algorithm {
	case InterleavedFilter1, InterleavedFilter2:
		return newFilter(k, d, rng)
	case DoubleThompson:
		return newThompson(k, d, rng)
	case Knockout:
		return newKnockout(k, d, rng)
	}
	return newBeat(k, d, rng)
}

// tally counts the duels of a strategy.
type tally struct {
	drawn, told int64
	horizon     int64 // math.MaxInt64 without
}

func newTally(d Design) tally {
	if d.Goal == Online {
		return tally{horizon: d.Horizon}
	}
	return tally{horizon: math.MaxInt64}
}

// inFlight is how many duels are drawn and not told.
func (t *tally) inFlight() int { return int(t.drawn - t.told) }

// load takes the counts of a saved strategy.
func (t *tally) load(told int64, drawn int) error {
	if told < 0 || told > t.horizon-int64(drawn) || told > maxCount {
		return fmt.Errorf("%d duels told and %d drawn of %d", told, drawn, t.horizon)
	}
	t.told, t.drawn = told, told+int64(drawn)
	return nil
}

// rate is w/n, or 1/2 if there was no duel.
func rate(w, n int64) float64 {
	if n == 0 {
		return .5
	}
	return float64(w) / float64(n)
}

// radiusAt is scale/sqrt(n), or 1 if n is 0.
func radiusAt(scale float64, n int64) float64 {
	if n == 0 {
		return 1
	}
	return scale / math.Sqrt(float64(n))
}

// everybody lists the arms.
func everybody(k int) []int {
	arms := make([]int, k)
	for i := range arms {
		arms[i] = i
	}
	return arms
}

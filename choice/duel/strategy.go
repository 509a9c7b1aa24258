package duel

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// pair is a duel of a against b, begun by a; a win is a's.
type pair struct{ a, b int }

// strategy is an algorithm in progress. Duels are drawn one by one; results are told in
// the order of the draws.
type strategy interface {
	// draw returns the next duel. ok is false if results of earlier duels must be told
	// first, or if the strategy has ended.
	draw() (pair, bool)
	// tell takes the result of the earliest duel in flight.
	tell(d pair, won bool) change
	// ended reports that no more duels are wanted.
	ended() bool
	// describe sets active arms, standings, radius, leader and why the strategy ended.
	describe(s *State)
	// save and load convert the state to and from integers. load also gets the duels in
	// flight, in order, and rejects states that save never writes.
	save() progress
	load(p progress, drawn []pair) error
}

// change is the effect of a result.
type change struct {
	eliminated []Elimination // nil if none
	// withdraw voids all duels in flight.
	withdraw bool
}

// newStrategy starts a completed design with k arms.
func newStrategy(k int, d Design, rng *rand.Rand) strategy {
	switch d.Algorithm {
	case InterleavedFilter1, InterleavedFilter2:
		return newFilter(k, d, rng)
	case DoubleThompson:
		return newThompson(k, d, rng)
	case BeatTheMean:
		return newBeat(k, d, rng)
	case Knockout:
		return newKnockout(k, d, rng)
	case Rank:
		return newRanking(k, d, rng)
	case Copeland:
		return newCopeland(k, d, rng)
	}
	return newAnytime(k, d, rng)
}

// tally counts the duels of a strategy.
type tally struct {
	drawn, told int64
	horizon     int64 // math.MaxInt64 if none
}

func newTally(d Design) tally {
	if d.Goal == Online {
		return tally{horizon: d.Horizon}
	}
	return tally{horizon: math.MaxInt64}
}

// inFlight returns the number of duels drawn and not told.
func (t *tally) inFlight() int { return int(t.drawn - t.told) }

// load sets the counts of a saved strategy.
func (t *tally) load(told int64, drawn int) error {
	if told < 0 || told > t.horizon-int64(drawn) || told > maxCount {
		return fmt.Errorf("%d duels told and %d drawn of %d", told, drawn, t.horizon)
	}
	t.told, t.drawn = told, told+int64(drawn)
	return nil
}

// rate returns w/n, 1/2 if n is 0.
func rate(w, n int64) float64 {
	if n == 0 {
		return .5
	}
	return float64(w) / float64(n)
}

// radiusAt returns scale/sqrt(n), 1 if n is 0.
func radiusAt(scale float64, n int64) float64 {
	if n == 0 {
		return 1
	}
	return scale / math.Sqrt(float64(n))
}

// allArms lists all k arms.
func allArms(k int) []int {
	arms := make([]int, k)
	for i := range arms {
		arms[i] = i
	}
	return arms
}

package duel

import (
	"math/rand/v2"
	"testing"

	"thresher/internal/philox"
)

// Interleaved Filter 2 with the tight radius: it is not proven that its pruning spares
// the best arm. Of 20,000 tournaments at each horizon none loses it. The seed is fixed,
// so the result is deterministic.
func TestPruningSparesTheBestArm(t *testing.T) {
	if testing.Short() {
		t.Skip("60,000 tournaments; TestSkipAheadHasTheSameLaw runs some in parallel")
	}
	for _, horizon := range []int64{100, 1000, 10_000} {
		lost, ended := 0, 0
		for seed, f := range []*Preferences{Constant(3, .3), Constant(5, .45), Chain(6, .2, 1.3), Constant(10, .1)} {
			s := Simulation{
				Design: Design{Algorithm: InterleavedFilter2, Horizon: horizon, Radius: Tight},
				Arms:   f.k, Model: Always(f), Trials: 5000, Seed: uint64(seed),
			}
			for _, o := range runAll(t, &s) {
				if o.Duels < horizon {
					ended++
					if o.Winner != o.Best {
						lost++
					}
				}
			}
		}
		t.Logf("T = %d: %d of 20000 ended by eliminations, %d lost the best arm", horizon, ended, lost)
		if lost > 0 {
			t.Errorf("T = %d: the best arm was lost %d times", horizon, lost)
		}
	}
}

// The delay of the first elimination by sweep testing relative to strict testing: mostly
// less than a sweep, to the end of the sweep in which the test first held; more if the
// test does not hold there any more.
func TestSweepDelay(t *testing.T) {
	if testing.Short() {
		t.Skip("a measurement by one goroutine")
	}
	const arms, tournaments = 3, 3000
	f := Constant(arms, .2)
	late, latest := 0, int64(0)
	for seed := range uint64(tournaments) {
		d, err := Design{Algorithm: BeatTheMean, Horizon: 20_000, Testing: Sweep}.complete(arms)
		if err != nil {
			t.Fatal(err)
		}
		s := newBeat(arms, d, rand.New(philox.New(seed, 0)))
		results := rand.New(philox.New(seed, 1))
		strict := int64(0) // the duel after which the test first holds
		for removed := false; !removed && !s.ended(); {
			duel, ok := s.draw()
			if !ok {
				t.Fatal("waits for nothing")
			}
			before := len(s.active)
			s.tell(duel, results.Float64() < f.At(duel.a, duel.b))
			removed = len(s.active) < before
			if strict == 0 && (removed || s.lo+s.radius <= s.hi-s.radius && s.holds()) {
				strict = s.told
			}
			if removed {
				if delay := s.told - strict; delay > arms-1 {
					late++
					latest = max(latest, delay)
				} else if delay < 0 {
					t.Fatalf("seed %d: removed %d duels before a test held", seed, -delay)
				}
			}
		}
	}
	t.Logf("%d of %d first removals came more than %d duels late, the latest %d", late, tournaments, arms-1, latest)
	if late == 0 || late > tournaments/2 {
		t.Errorf("%d of %d first removals are late", late, tournaments)
	}
}

// holds evaluates line 16 of Algorithm 1 on the present rates.
func (s *beat) holds() bool {
	worst, best := s.extremes()
	return rate(s.w[worst], s.n[worst])+s.radius <= rate(s.w[best], s.n[best])-s.radius
}

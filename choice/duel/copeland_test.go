package duel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/internal/philox"
	"thresher/internal/race"
)

// topCircle has three arms in a circle, each of which beats all k-3 others.
func topCircle(k int, gap float64) *Preferences {
	return newPreferences(k, func(i, j int) float64 {
		if i == 0 && j == 2 {
			return -gap
		}
		return gap
	})
}

// wrongScores reports whether a claim, or the set at the end, is wrong.
func wrongScores(s *copeland, f *Preferences, arm []int) (claims, set bool) {
	score := make([]float64, s.k)
	for i := range s.k {
		for j := range s.k {
			if i == j {
				continue
			}
			p := f.At(arm[i], arm[j])
			even := s.even(i, j) && !s.decided(i, j)
			claims = claims || s.beats[i*s.k+j] && p <= .5 || even && (p >= .5+s.epsilon || p <= .5-s.epsilon)
			switch {
			case even || p == .5:
				score[i] += .5
			case p > .5:
				score[i]++
			}
		}
	}
	var st State
	s.describe(&st)
	var best []int
	for i, x := range score {
		if x == slices.Max(score) {
			best = append(best, i)
		}
	}
	return claims, s.complete() && !slices.Equal(best, st.Copeland.Winners)
}

// The probability that any claim is wrong at any time, and so the Copeland set at the end or
// that there is no unbeaten arm, is at most delta, whatever the preferences.
func TestCopelandFailures(t *testing.T) {
	race.Skip(t, "one goroutine a tournament; TestSimulationIsDeterministic plays several at once")
	wheel := newPreferences(5, func(i, j int) float64 { // each beats the two after it
		if (j-i+5)%5 <= 2 {
			return .15
		}
		return -.15
	})
	for _, c := range []struct {
		name string
		d    Design
		f    *Preferences
	}{
		{"3 arms in a circle of .2", Design{Delta: .05}, topCircle(3, .2)},
		{"3 arms in a circle of .02, at most 3,000 duels", Design{Delta: .3, Horizon: 3000}, topCircle(3, .02)},
		{"5 arms, each beats two by .15", Design{Delta: .05}, wheel},
		{"8 arms, three in a circle of .15 above the others", Design{Delta: .05}, topCircle(8, .15)},
		{"the same, sweeps", Design{Delta: .05, Testing: Sweep}, topCircle(8, .15)},
		{"8 arms, gap .15", Design{Delta: .05}, Constant(8, .15)},
		{"3 equal arms, at most 3,000 duels", Design{Delta: .3, Horizon: 3000}, Constant(3, 0)},
		{"4 equal arms, epsilon .1", Design{Delta: .2, Epsilon: .1}, Constant(4, 0)},
		{"3 arms in a circle of .101, epsilon .1", Design{Delta: .2, Epsilon: .1}, topCircle(3, .101)},
		{"3 arms in a circle of .05, epsilon .1", Design{Delta: .2, Epsilon: .1}, topCircle(3, .05)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.d.Algorithm = Copeland
			d, err := c.d.complete(c.f.k)
			if err != nil {
				t.Fatal(err)
			}
			wrong, sets, circles, ended, duels, all, trials := 0, 0, 0, 0, int64(0), int64(0), trials(*contests)
			for seed := range trials {
				played, arm, n := playPairs(d, c.f, uint64(seed), nil)
				s := played.(*copeland)
				duels += n
				all += everyPair(d, c.f, uint64(seed))
				claims, set := wrongScores(s, c.f, arm)
				if claims {
					wrong++
				}
				if set {
					sets++
				}
				if s.complete() {
					ended++
				}
				var st State
				if s.describe(&st); st.Copeland.Circle {
					circles++
				}
			}
			atMost(t, "wrong claims", wrong, trials, d.Delta)
			atMost(t, "wrong sets", sets, trials, d.Delta)
			if c.f.Best() >= 0 {
				atMost(t, "no unbeaten arm, wrongly", circles, trials, d.Delta)
			}
			t.Logf("| %s | %g | %d | %d | %d | %d | %d | %d |", c.name, d.Delta, wrong, sets, circles, ended, duels/int64(trials), all/int64(trials))
		})
	}
}

// everyPair plays all pairs in turn with the same claims until every pair is known.
func everyPair(d Design, f *Preferences, seed uint64) (duels int64) {
	r := rand.New(philox.New(seed, 1))
	l := newEvidence(f.k, d.Epsilon, 2*float64(pairsOf(f.k))/d.Delta)
	for before := int64(-1); duels > before && (d.Horizon == 0 || duels < d.Horizon); {
		before = duels
		for i := range f.k {
			for j := range i {
				if !l.decided(i, j) && !l.even(i, j) {
					l.tell(pair{i, j}, r.Float64() < f.At(i, j))
					duels++
				}
			}
		}
	}
	return duels
}

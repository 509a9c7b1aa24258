package duel

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/internal/philox"
	"thresher/internal/race"
)

// playPairs plays a completed design with the arms in random order, and calls after every
// result.
func playPairs(d Design, f *Preferences, seed uint64, each func(s strategy)) (s strategy, arm []int, duels int64) {
	r := rand.New(philox.New(seed, 1))
	arm = r.Perm(f.k)
	s = newStrategy(f.k, d, rand.New(philox.New(seed, 0)))
	for {
		p, ok := s.draw()
		if !ok {
			return s, arm, duels
		}
		duels++
		s.tell(p, r.Float64() < f.At(arm[p.a], arm[p.b]))
		if each != nil {
			each(s)
		}
	}
}

// misplaced reports whether a later arm of the goal's pairs beats an earlier one by more than
// epsilon.
func misplaced(s *ranking, f *Preferences, arm []int) (wrong bool) {
	s.goal(func(a, b int) { wrong = wrong || f.At(arm[b], arm[a]) > .5+s.epsilon+slack })
	return wrong
}

// contradicts reports whether a claim or what follows from it by transitivity is wrong. The
// preferences are those of an order, best first.
func contradicts(s *ranking, f *Preferences, arm []int) bool {
	for a := range s.k {
		for b := range s.k {
			if s.closed.above(a, b) && arm[a] > arm[b] && f.At(arm[b], arm[a]) > .5 || s.holds[a*s.k+b] && f.At(arm[b], arm[a]) >= .5+s.epsilon && f.At(arm[b], arm[a]) > .5 {
				return true
			}
		}
	}
	return false
}

// steps are preferences of an order with random gaps, of which distant arms may have smaller
// ones: transitivity holds in the weak sense only.
func steps(k int, least, most float64, seed uint64) *Preferences {
	r := rand.New(philox.New(seed, 7))
	return newPreferences(k, func(i, j int) float64 { return least + (most-least)*r.Float64() })
}

// rankingCells are the preferences and designs on which rankings are tested.
func rankingCells() []rankingCell {
	return []rankingCell{
		{"2 arms, gap .1", Design{Delta: .05}, Constant(2, .1)},
		{"2 arms, gap 1e-6, at most 3,000 duels", Design{Delta: .2, Horizon: 3000}, Constant(2, 1e-6)},
		{"5 arms, gap .15", Design{Delta: .05}, Constant(5, .15)},
		{"5 arms, gap .15, epsilon .1", Design{Delta: .05, Epsilon: .1}, Constant(5, .15)},
		{"5 arms, gap .15, top 2", Design{Delta: .05, Top: 2}, Constant(5, .15)},
		{"5 equal arms, epsilon .1", Design{Delta: .05, Epsilon: .1}, Constant(5, 0)},
		{"5 equal arms, at most 3,000 duels", Design{Delta: .3, Horizon: 3000}, Constant(5, 0)},
		{"3 arms, gap .101, epsilon .1", Design{Delta: .2, Epsilon: .1}, Constant(3, .101)},
		{"3 arms, gap .1001, epsilon .1, sweeps", Design{Delta: .2, Epsilon: .1, Testing: Sweep}, Constant(3, .1001)},
		{"10 arms, gap .1", Design{Delta: .2}, Constant(10, .1)},
		{"10 arms, gap .1, sweeps", Design{Delta: .2, Testing: Sweep}, Constant(10, .1)},
		{"10 arms, gap .1, top 3, epsilon .05", Design{Delta: .2, Top: 3, Epsilon: .05}, Constant(10, .1)},
		{"6 arms, chain, gamma 1.5", Design{Delta: .05}, Chain(6, .1, 1.5)},
		{"arXiv, gamma 1.5, epsilon .03", Design{Delta: .05, Epsilon: .03}, ArXiv()},
		{"6 arms, random gaps of .02 to .4, epsilon .05", Design{Delta: .2, Epsilon: .05}, steps(6, .02, .4, 1)},
		{"8 arms, random gaps of 0 to .3, top 4, epsilon .05", Design{Delta: .2, Epsilon: .05, Top: 4}, steps(8, 0, .3, 2)},
	}
}

type rankingCell struct {
	name string
	d    Design
	f    *Preferences
}

// The probability of a wrong ranking, or of any wrong claim at any time, is at most delta,
// whatever the preferences, as long as they have an order.
func TestRankingFailures(t *testing.T) {
	race.Skip(t, "one goroutine a tournament; TestSimulationIsDeterministic plays several at once")
	for _, c := range rankingCells() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.d.Algorithm = Rank
			d, err := c.d.complete(c.f.k)
			if err != nil {
				t.Fatal(err)
			}
			wrong, claims, ended, duels, trials := 0, 0, 0, int64(0), trials(*contests)
			for seed := range trials {
				played, arm, n := playPairs(d, c.f, uint64(seed), nil)
				s := played.(*ranking)
				duels += n
				if contradicts(s, c.f, arm) {
					claims++
				}
				if s.complete() {
					ended++
					if misplaced(s, c.f, arm) {
						wrong++
					}
				}
			}
			atMost(t, "wrong rankings", wrong, trials, d.Delta)
			atMost(t, "wrong claims", claims, trials, d.Delta)
			t.Logf("| %s | %g | %d | %d | %d | %d |", c.name, d.Delta, wrong, claims, ended, duels/int64(trials))
		})
	}
}

// roundRobin plays all pairs in turn that are not known, with the same claims, until the
// order by wins is one in which all pairs are safe.
func roundRobin(d Design, f *Preferences, seed uint64) (duels int64) {
	r := rand.New(philox.New(seed, 1))
	l := newEvidence(f.k, d.Epsilon, float64(pairsOf(f.k))/d.Delta)
	for before := int64(-1); duels > before; {
		before = duels
		for i := range f.k {
			for j := range i {
				if !l.decided(i, j) && !l.even(i, j) {
					l.tell(pair{i, j}, r.Float64() < f.At(i, j))
					duels++
				}
			}
		}
		x := l.standings()
		slices.SortStableFunc(x, func(a, b Standing) int { return -cmp.Compare(a.Rate, b.Rate) })
		done := true
		for p := range x {
			for _, later := range x[p+1:] {
				done = done && l.holds[x[p].Arm*f.k+later.Arm]
			}
		}
		if done {
			break
		}
	}
	return duels
}

// repeatedly finds the best arm by anytime, removes it, and so on: K-1 tournaments with a
// delta of delta/(K-1) each.
func repeatedly(t *testing.T, d Design, f *Preferences, seed uint64) (duels int64) {
	for first := range f.k - 1 {
		rest := newPreferences(f.k-first, func(i, j int) float64 { return f.At(first+i, first+j) - .5 })
		one, err := Design{Delta: d.Delta / float64(f.k-1), Epsilon: d.Epsilon}.complete(rest.k)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := playAnytime(one, rest, seed*100+uint64(first), nil)
		duels += s.told
	}
	return duels
}

// Judgments of whole rankings, beside all pairs in turn with the same claims, and the best
// arm again and again. Rank must not take many more than either. With -short, which plays few
// tournaments, none is compared.
func TestRankingJudgments(t *testing.T) {
	race.Skip(t, "one goroutine a tournament; TestSimulationIsDeterministic plays several at once")
	for _, c := range []struct {
		name string
		d    Design
		f    *Preferences
	}{
		{"2 arms, gap .1", Design{Delta: .05}, Constant(2, .1)},
		{"5 arms, gap .15", Design{Delta: .05}, Constant(5, .15)},
		{"5 arms, gap .15, epsilon .1", Design{Delta: .05, Epsilon: .1}, Constant(5, .15)},
		{"5 equal arms, epsilon .1", Design{Delta: .05, Epsilon: .1}, Constant(5, 0)},
		{"10 arms, gap .1", Design{Delta: .05}, Constant(10, .1)},
		{"10 arms, gap .1, epsilon .1", Design{Delta: .05, Epsilon: .1}, Constant(10, .1)},
		{"10 arms, logistic in 0, .5, .., 4.5", Design{Delta: .05}, Logistic([]float64{4.5, 4, 3.5, 3, 2.5, 2, 1.5, 1, .5, 0})},
		{"30 arms, gap .1", Design{Delta: .05}, Constant(30, .1)},
		{"arXiv, epsilon .03", Design{Delta: .05, Epsilon: .03}, ArXiv()},
	} {
		c.d.Algorithm = Rank
		d, err := c.d.complete(c.f.k)
		if err != nil {
			t.Fatal(err)
		}
		n := trials(max(*contests/20, 20))
		var ranked, all, repeated, top int64
		for seed := range uint64(n) {
			_, _, m := playPairs(d, c.f, seed, nil)
			ranked += m
			all += roundRobin(d, c.f, seed)
			repeated += repeatedly(t, d, c.f, seed)
			one := d
			one.Top = 1
			_, _, m = playPairs(one, c.f, seed, nil)
			top += m
		}
		if limit := min(all, repeated) * 5 / 4; !testing.Short() && ranked > limit {
			t.Errorf("%s: %d judgments in %d tournaments, at most %d are wanted", c.name, ranked, n, limit)
		}
		t.Logf("| %s | %d | %d | %d | %d |", c.name, ranked/int64(n), all/int64(n), repeated/int64(n), top/int64(n))
	}
}

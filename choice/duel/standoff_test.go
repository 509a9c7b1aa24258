package duel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/internal/philox"
)

// playTournament plays until the end, duel most or the first standoff, and returns the state with
// that standoff, nil if there was none.
func playTournament(t *testing.T, d Design, f *Preferences, seed uint64, most int64) (a *Tournament, first *State) {
	t.Helper()
	a = begin(t, Config{Arms: names(f.k), Design: d, Seed: seed, Order: RandomOrder}, nil)
	r := rand.New(philox.New(seed, 3))
	for range most {
		next, err := a.Next(1)
		if err != nil {
			return a, nil
		}
		if _, err := a.Report(Result{Duel: next[0].ID, AWon: r.Float64() < f.At(next[0].A, next[0].B)}); err != nil {
			t.Fatal(err)
		}
		if s := a.State(); s.Standoff != nil {
			return a, &s
		}
	}
	return a, nil
}

// Equal arms are said to be hard to tell apart, by every algorithm that may never end; arms that
// differ clearly, or end soon by an epsilon, are not. Seeds are fixed; over random ones a tournament
// of equal arms ends before its standoff is seen with probability 2 delta at most, of 20 more than 5
// with probability .01, of 4 more than 1 (-short) with .05.
func TestStandoff(t *testing.T) {
	for _, c := range []struct {
		name string
		d    Design
		f    *Preferences
		seen bool
	}{
		{"2 equal arms", Design{Delta: .05}, Constant(2, 0), true},
		{"3 equal arms", Design{Delta: .05}, Constant(3, 0), true},
		{"2 arms, gap .02", Design{Delta: .05}, Constant(2, .02), true},
		{"3 equal arms in order", Design{Algorithm: Rank, Delta: .05}, Constant(3, 0), true},
		{"3 equal arms, the most wins", Design{Algorithm: Copeland, Delta: .05}, Constant(3, 0), true},
		{"2 equal arms, a horizon", Design{Delta: .05, Horizon: 1e6}, Constant(2, 0), false},
		{"2 equal arms, epsilon .1", Design{Delta: .05, Epsilon: .1}, Constant(2, 0), false},
		{"2 arms, gap .15", Design{Delta: .05}, Constant(2, .15), false},
		{"4 arms, gap .15", Design{Delta: .05}, Constant(4, .15), false},
		{"3 arms, gap .15, in order", Design{Algorithm: Rank, Delta: .05}, Constant(3, .15), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const maxDuels = 4000
			trials := trials(20)
			maxEnded := trials / 4
			said, duels := 0, []int64{}
			for seed := range uint64(trials) {
				a, first := playTournament(t, c.d, c.f, seed, maxDuels)
				if s := a.State(); s.Done && s.Standoff != nil {
					t.Fatal("a tournament that has ended has a standoff")
				}
				if first == nil {
					continue
				}
				said++
				duels = append(duels, first.Duels)
				x := first.Standoff
				if x.A == x.B || 2*x.Wins < x.Duels || x.Rate != rate(x.Wins, x.Duels) || !(.4 <= x.Low && x.Low <= x.Rate && x.Rate <= x.High && x.High <= .6) {
					t.Fatalf("%+v", x)
				}
				if x.Needed > 0 && x.Needed < 2*x.Duels {
					t.Fatalf("%d duels are needed after %d: %+v", x.Needed, x.Duels, x)
				}
			}
			slices.Sort(duels)
			t.Logf("%d of %d, after %v duels", said, trials, duels)
			if c.seen && said < trials-maxEnded || !c.seen && said > 0 {
				t.Errorf("%d of %d had a standoff, after %v duels", said, trials, duels)
			}
		})
	}
}

// The forecast agrees with the mean of simulated tournaments within a factor of 1.5.
func TestDuelsNeeded(t *testing.T) {
	for _, c := range []struct{ gap, delta, epsilon float64 }{{.1, .05, 0}, {.1, .001, 0}, {.04, .05, 0}, {.02, .2, 0}, {.05, .05, .05}, {.02, .05, .03}} {
		is := float64(duelsNeeded(.5+c.gap, -math.Log(c.delta), c.epsilon))
		mean := meanDuels(t, Design{Delta: c.delta, Epsilon: c.epsilon}, Constant(2, c.gap), max(trials(400), 100))
		t.Logf("%+v: %.0f, simulated %.0f", c, is, mean)
		if is < mean/1.5 || is > mean*1.5 {
			t.Errorf("%+v: %.0f duels are said to be needed, simulated %.0f", c, is, mean)
		}
	}
	if n := duelsNeeded(.5, 3, 0); n != 0 {
		t.Errorf("equal arms need %d duels", n)
	}
}

// meanDuels is the mean number of duels of strategies of a design.
func meanDuels(t *testing.T, d Design, f *Preferences, trials int) float64 {
	t.Helper()
	d, err := d.complete(f.k)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for seed := range trials {
		_, _, n := playPairs(d, f, uint64(seed), nil)
		sum += n
	}
	return float64(sum) / float64(trials)
}

package duel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/internal/philox"
)

// thompsonOf returns a strategy with wins[i][j] wins of i over j.
func thompsonOf(t *testing.T, wins [][]int64) *thompson {
	t.Helper()
	k := len(wins)
	d, err := Design{Algorithm: DoubleThompson, Horizon: 1e6}.complete(k)
	if err != nil {
		t.Fatal(err)
	}
	s := newThompson(k, d, rand.New(philox.New(1, 0)))
	s.wins = slices.Concat(wins...)
	return s
}

// 0 beats 1, 2 and 3 with confidence; 1 and 2 are even; 3 has met 0 only.
func someWins() [][]int64 {
	return [][]int64{{0, 400, 400, 400}, {100, 0, 250, 0}, {100, 250, 0, 0}, {100, 0, 0, 0}}
}

func TestThompsonBounds(t *testing.T) {
	s := thompsonOf(t, someWins())
	const width = .51 * 9 // alpha ln t
	for _, c := range []struct {
		i, j         int
		lower, upper float64
	}{
		{0, 1, .8 - math.Sqrt(width/500), .8 + math.Sqrt(width/500)},
		{1, 0, .2 - math.Sqrt(width/500), .2 + math.Sqrt(width/500)},
		{1, 3, 0, 1}, {2, 2, .5, .5},
	} {
		if l, u := s.bounds(c.i, c.j, width); math.Abs(l-c.lower)+math.Abs(u-c.upper) > 1e-12 {
			t.Errorf("bounds of %d and %d are %g, %g; want %g, %g", c.i, c.j, l, u, c.lower, c.upper)
		}
	}
}

// The first arm is one that may beat the most others. The second is none that beats it
// with confidence: if 1 is first, 0 would do best against it and is excluded.
func TestThompsonChoices(t *testing.T) {
	s := thompsonOf(t, someWins())
	const width = .51 * 9
	if got := s.optimists(width); !slices.Equal(got, []int{0}) {
		t.Errorf("%v may beat the most others, want 0", got)
	}
	seen := map[int]int{}
	for range 300 {
		if a := s.first(width); a != 0 {
			t.Fatalf("%d is first", a)
		}
		seen[s.second(1, width)]++
	}
	// Theta of 2 against 1 exceeds 1/2 half of the time, and so does that of 3. If neither
	// does, 1 itself is second; mostly 3 is, since least is known of it.
	if seen[0] != 0 || seen[1] == 0 || seen[2] == 0 || seen[3] < seen[2] {
		t.Errorf("against 1: %v", seen)
	}
	// No arm may beat 0: it meets itself.
	if b := s.second(0, width); b != 0 {
		t.Errorf("%d against 0", b)
	}
}

// Among arms of equal score, the one whose duels cost least is chosen: losses of scores
// divided by the divergence from 1/2.
func TestThompsonTies(t *testing.T) {
	s := thompsonOf(t, [][]int64{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}})
	s.theta = []float64{.5, .6, .3, .4, .5, .9, .7, .1, .5} // 0 > 1 > 2 > 0
	s.scores = []int{1, 1, 1}
	kl := func(p float64) float64 { return math.Ln2 + p*math.Log(p) + (1-p)*math.Log(1-p) }
	if r := s.regret(0, 1); r != 0 {
		t.Errorf("no arm has a lower score, and the regret is %g", r)
	}
	// Nearly even preferences cost the most to tell apart, despite rounding.
	for _, x := range []float64{1e-3, 1e-6, 1e-8, 1e-12, 4e-16} {
		want := 2 * x * x * (1 + 2*x*x/3)
		if got := divergence(.5 + x); math.Abs(got-want) > 1e-3*want && x > 1e-15 || got <= 0 { // 1/2 + x is rounded
			t.Errorf("KL(1/2 + %g, 1/2) = %g, want %g", x, got, want)
		}
	}
	for _, p := range []float64{.4949, .4951, .51} {
		if got, want := divergence(p), kl(p); math.Abs(got-want) > 1e-10*want {
			t.Errorf("KL(%g, 1/2) = %.15g, want %.15g", p, got, want)
		}
	}
	s.scores = []int{2, 2, 0}
	for i, want := range []float64{1 / kl(.3), 1 / kl(.9)} {
		if r := s.regret(i, 2); math.Abs(r-want) > 1e-12*want {
			t.Errorf("regret of %d is %g, want %g", i, r, want)
		}
	}
}

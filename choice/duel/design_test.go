package duel

import (
	"math"
	"strings"
	"testing"
)

// Values of the specification and the paper: the smallest fixed point of equation (8).
func TestPACComparisons(t *testing.T) {
	for _, c := range []struct {
		k                     int
		gamma, epsilon, delta float64
		want                  int64
	}{
		{10, 1, .1, .05, 76117},
		{100, 1, .1, .05, 102040},
		{100, 1.3, .1, .05, 520852},
		{500, 1.5, .05, .01, 6383563},
	} {
		n, err := Comparisons(c.k, c.gamma, c.epsilon, c.delta)
		if err != nil || n != c.want {
			t.Errorf("K=%d gamma=%g epsilon=%g delta=%g: N = %d, %v; want %d", c.k, c.gamma, c.epsilon, c.delta, n, err, c.want)
		}
	}
	for _, bad := range [][4]float64{{1, 1, .1, .05}, {5, .9, .1, .05}, {5, 1, 0, .05}, {5, 1, .5, .05}, {5, 1, .1, 1}} {
		if n, err := Comparisons(int(bad[0]), bad[1], bad[2], bad[3]); err == nil {
			t.Errorf("%v: N = %d", bad, n)
		}
	}
	// No smaller integer is a fixed point: search all where that is cheap.
	n, err := pacComparisons(2, 1, .49, .9)
	if err != nil {
		t.Fatal(err)
	}
	for m := int64(1); m <= n; m++ {
		fixed := float64(m) == math.Ceil(36/(.49*.49)*math.Log(8*float64(m)/.9))
		if fixed != (m == n) {
			t.Errorf("N = %d, and at %d fixed is %v", n, m, fixed)
		}
	}
}

func TestRadii(t *testing.T) {
	const k, horizon = 10, 1e6
	log := math.Log(2 * k * horizon)
	filterLog := math.Log(horizon * k * k)
	for _, c := range []struct {
		name string
		d    Design
		want float64 // c(16)
	}{
		{"(9)", Design{Algorithm: BeatTheMean, Horizon: horizon}, math.Sqrt(log / 16)},
		{"(4)", Design{Algorithm: BeatTheMean, Horizon: horizon, Gamma: 2}, 12 * math.Sqrt(log/16)},
		{"(4) at gamma 1", Design{Algorithm: BeatTheMean, Horizon: horizon, Radius: Wide}, 3 * math.Sqrt(log/16)},
		{"(7)", Design{Algorithm: BeatTheMean, Epsilon: .1, Delta: .05, Gamma: 2}, 12 * math.Sqrt(math.Log(1000*5872740/.05)/16)},
		{"filter", Design{Algorithm: InterleavedFilter2, Horizon: horizon}, math.Sqrt(filterLog / 16)},
		{"filter wide", Design{Algorithm: InterleavedFilter1, Horizon: horizon, Radius: Wide}, math.Sqrt(4 * filterLog / 16)},
	} {
		d, err := c.d.complete(k)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var scale float64
		if d.Algorithm == BeatTheMean {
			scale, _ = beatScale(k, d)
		} else {
			scale = filterScale(k, d)
		}
		if got := radiusAt(scale, 16); math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%s: c(16) = %g, want %g", c.name, got, c.want)
		}
		if got := radiusAt(scale, 0); got != 1 {
			t.Errorf("%s: c(0) = %g, want 1", c.name, got)
		}
	}
}

func TestBadDesigns(t *testing.T) {
	pac := Design{Algorithm: BeatTheMean, Epsilon: .1, Delta: .05}
	for _, c := range []struct {
		k    int
		d    Design
		want string
	}{
		{1, pac, "1 arms; a tournament has at least 2"},
		{MaxArms + 1, pac, "at most 2048"},
		{3, Design{Algorithm: BeatTheMean, Epsilon: .1, Delta: .05, Gamma: .9}, "gamma 0.9 is not in [1, 1e6]"},
		{3, Design{Algorithm: BeatTheMean, Epsilon: .1, Delta: .05, Gamma: math.NaN()}, "gamma NaN"},
		{3, Design{Algorithm: BeatTheMean, Epsilon: .1, Delta: .05, Gamma: math.Inf(1)}, "gamma +Inf"},
		{3, Design{Algorithm: BeatTheMean, Horizon: 100, Gamma: 1e200}, "gamma 1e+200 is not in [1, 1e6]"},
		{3, Design{Algorithm: BeatTheMean, Epsilon: .1}, "delta 0 is not in (0, 1)"},
		{3, Design{Algorithm: BeatTheMean, Epsilon: .1, Delta: 1}, "delta 1 is not in (0, 1)"},
		{3, Design{Algorithm: BeatTheMean, Epsilon: .1, Delta: math.NaN()}, "delta NaN"},
		{3, Design{Algorithm: BeatTheMean, Delta: .1}, "epsilon 0 is not in (0, 1/2)"},
		{3, Design{Algorithm: BeatTheMean, Epsilon: .5, Delta: .1}, "epsilon 0.5"},
		{3, Design{Algorithm: BeatTheMean, Epsilon: 1e-9, Delta: .1}, "more than 2^53"},
		{3, Design{Algorithm: BeatTheMean, Goal: Online}, "horizon 0 is not in [3, 2^53]"},
		{3, Design{Algorithm: BeatTheMean, Horizon: 2}, "horizon 2"},
		{3, Design{Algorithm: BeatTheMean, Horizon: -5}, "horizon -5"},
		{3, Design{Algorithm: BeatTheMean, Horizon: 100, Delta: .1}, "give one of both"},
		{3, Design{Algorithm: BeatTheMean, Goal: PAC, Horizon: 100}, "give one of both"},
		{3, Design{Algorithm: BeatTheMean, Goal: "best"}, `goal "best"`},
		{3, Design{Algorithm: "borda", Horizon: 100}, `algorithm "borda"`},
		{3, Design{Algorithm: BeatTheMean, Testing: "never", Horizon: 100}, `testing "never"`},
		{3, Design{Algorithm: BeatTheMean, Radius: "huge", Horizon: 100}, `radius "huge"`},
		{3, Design{Algorithm: BeatTheMean, Radius: Tight, Gamma: 1.2, Horizon: 100}, "proven for gamma = 1, not 1.2"},
		{3, Design{Algorithm: BeatTheMean, Radius: Tight, Epsilon: .1, Delta: .1}, "has one radius only"},
		{3, Design{Algorithm: InterleavedFilter2, Epsilon: .1, Delta: .1}, "is for online, not for pac"},
		{3, Design{Algorithm: InterleavedFilter1, Horizon: 100, Gamma: 2}, "proven for gamma = 1, not 2"},
		{3, Design{Algorithm: DoubleThompson, Horizon: 100, Alpha: .5}, "alpha 0.5 is not in (1/2, inf)"},
		{3, Design{Algorithm: DoubleThompson, Horizon: 100, Radius: Wide}, "one radius only"},
		{3, Design{Algorithm: BeatTheMean, Horizon: 100, Alpha: 1}, "alpha belongs to double-thompson"},
		{3, Design{Algorithm: Knockout, Horizon: 100}, "is for pac, not for online"},
		{1, Design{Algorithm: Knockout, Epsilon: .1, Delta: .1}, "1 arms; a tournament has at least 2"},
		{2, Design{Algorithm: Knockout, Epsilon: .1, Delta: 5e-324}, "delta 5e-324 is not in [2^-1022, 1)"},
		{2, Design{Algorithm: Knockout, Epsilon: 5e-324, Delta: .1}, "gamma 1 with epsilon 5e-324 wants matches of more than 2^53 duels"},
		{MaxArms, Design{Algorithm: Knockout, Epsilon: .1, Delta: .1, Gamma: 1e6}, "gamma 1e+06 with epsilon 0.1 wants matches"},
		{3, Design{Algorithm: BeatTheMean, Epsilon: 5e-324, Delta: .1}, "more than 2^53 comparisons an arm"},
		{3, Design{Algorithm: BeatTheMean, Epsilon: .1, Delta: .1, Gamma: 1e6}, "more than 2^53 comparisons an arm"},
	} {
		if _, err := c.d.complete(c.k); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d arms, %+v: %v; want %q", c.k, c.d, err, c.want)
		}
	}
}

func TestBadPreferences(t *testing.T) {
	for _, c := range []struct {
		m    [][]float64
		want string
	}{
		{[][]float64{{.5}}, "1 arms"},
		{[][]float64{{.5, .6}, {.4}}, "row 1 has 1 entries, not 2"},
		{[][]float64{{.5, .6}, {.5, .5}}, "P(1 > 0) + P(0 > 1) = 1.1, not 1"},
		{[][]float64{{.4, .6}, {.4, .5}}, "P(0 > 0) + P(0 > 0) = 0.8, not 1"},
		{[][]float64{{.5, 1.2}, {-.2, .5}}, "P(0 > 1) = 1.2 is not in [0, 1]"},
		{[][]float64{{.5, math.NaN()}, {.5, .5}}, "P(0 > 1) = NaN"},
	} {
		if _, err := NewPreferences(c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v; want %q", c.m, err, c.want)
		}
	}
}

func TestPreferences(t *testing.T) {
	f, err := NewPreferences([][]float64{{.5, .3, .6}, {.7, .5, .8}, {.4, .2, .5}})
	if err != nil {
		t.Fatal(err)
	}
	if f.Best() != 1 || f.At(1, 2) != .8 {
		t.Errorf("best %d, P(1 > 2) = %g", f.Best(), f.At(1, 2))
	}
	cycle, err := NewPreferences([][]float64{{.5, .6, .4}, {.4, .5, .6}, {.6, .4, .5}})
	if err != nil {
		t.Fatal(err)
	}
	if cycle.Best() != -1 {
		t.Errorf("a cycle has best arm %d", cycle.Best())
	}
	// eps(1, 2) = gap gamma in the paper's numbering, where the first arm is 1.
	chain := Chain(5, .1, 1.3)
	for _, c := range []struct {
		i, j int
		want float64
	}{{0, 1, .6}, {1, 2, .63}, {3, 4, .63}, {1, 3, .6}, {2, 1, .37}, {3, 3, .5}} {
		if got := chain.At(c.i, c.j); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("chain: P(%d > %d) = %g, want %g", c.i, c.j, got, c.want)
		}
	}
}

package bandit

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"thresher/internal/philox"
)

// Figures worked out by hand from the formulas.
func TestMeanRadiusFigures(t *testing.T) {
	cases := []struct {
		name      string
		got, want float64
	}{
		{"one reward", MeanRadius(1, 100, 1, .001), math.Sqrt(2 * math.Log(4e5))},
		{"ten rewards", MeanRadius(2.5, 7, 10, .01), 2.5 * math.Sqrt(2*math.Log(4*7*100/.01)/10)},
		{"none", MeanRadius(1, 100, 0, .001), math.Inf(1)},
		{"no overflow", MeanRadius(1, math.MaxInt64, math.MaxInt64, 1e-300), math.Sqrt(2 * (math.Log(4) + 3*63*math.Ln2 + 300*math.Ln10) / 0x1p63)},
		{"bounded", BoundedSigma(-5, 5), 5},
		{"Bernstein", bernsteinRadius(.09, 2, 3, 20, .1), math.Sqrt(2*.09*math.Log(8*3*400/.1)/20) + 7*2*math.Log(8*3*400/.1)/(3*19)},
		{"Bernstein of one", bernsteinRadius(.09, 2, 3, 1, .1), math.Inf(1)},
		{"Bernstein-Serfling, half the list", bernsteinSerflingRadius(.1, 2, 3, 20, 40, .1),
			math.Sqrt(2*(1-19./40)*.095*math.Log(20*3*400/.1)/20) + (7./3+3/math.Sqrt2)*2*math.Log(20*3*400/.1)/20},
		{"Bernstein-Serfling, the whole list", bernsteinSerflingRadius(.1, 2, 3, 20, 20, .1),
			(7./3 + 3/math.Sqrt2) * 2 * math.Log(20*3*400/.1) / 20},
	}
	for _, c := range cases {
		if c.got != c.want && math.Abs(c.got-c.want) > 1e-12*c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestMeanRadiusShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := rapid.Float64Range(1e-3, 1e3).Draw(t, "sigma")
		n := rapid.IntRange(1, 1e6).Draw(t, "n")
		s := rapid.IntRange(3, 1e6).Draw(t, "s")
		delta := rapid.Float64Range(1e-9, .999).Draw(t, "delta")
		c := MeanRadius(sigma, n, s, delta)
		if !(c > 0) {
			t.Fatalf("radius %v", c)
		}
		if MeanRadius(sigma, n, s+1, delta) >= c {
			t.Error("another reward does not shrink the radius")
		}
		if MeanRadius(sigma, n+1, s, delta) <= c || MeanRadius(sigma, n, s, delta/2) <= c {
			t.Error("more arms or less delta do not widen the radius")
		}
		if twice := MeanRadius(2*sigma, n, s, delta); math.Abs(twice-2*c) > 1e-12*twice {
			t.Error("the radius is not proportional to sigma")
		}
	})
}

// At no s up to 120 may a running mean of Bernoulli rewards leave its radius,
// except in a share delta of the trials: one-sided binomial at 1e-6. The same
// trials must catch radii a quarter as wide.
func TestRadiiCoverTheMean(t *testing.T) {
	const d, upTo, delta = 160, 120, .1
	trials := 1500
	if testing.Short() {
		trials = 300
	}
	list := make([]float64, d)
	mean := 0.0
	for j := range list {
		if j%8 == 0 {
			list[j] = 1
		}
		mean += list[j] / d
	}
	cases := []struct {
		name     string
		sampling Sampling
		spread   Spread
	}{
		{"Hoeffding, with replacement", WithReplacement, SigmaBounded},
		{"Hoeffding, without replacement", WithoutReplacement, SigmaBounded},
		{"Maurer-Pontil", WithReplacement, EmpiricalBernstein},
		{"Bardenet-Maillard", WithoutReplacement, EmpiricalBernstein},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rule := meanRule{spread: c.spread, lo: 0, hi: 1, n: 1, d: d, delta: delta, sampling: c.sampling}
			if err := rule.check(); err != nil {
				t.Fatal(err)
			}
			left := func(shrink float64) int {
				count := 0
				for trial := range trials {
					coords := newCoordinates(d, c.sampling, rand.New(philox.New(uint64(trial), 7)))
					sum, squares := 0.0, 0.0
					for s := 1; s <= upTo; s++ {
						j, _ := coords.next()
						sum += list[j]
						squares += list[j] * list[j]
						m := sum / float64(s)
						variance := (squares - sum*m) / float64(max(s-1, 1))
						if math.Abs(m-mean) > shrink*rule.radius(s, variance) {
							count++
							break
						}
					}
				}
				return count
			}
			if count := left(1); exceeds(trials, count, delta) {
				t.Errorf("left in %d of %d trials at delta %v", count, trials, delta)
			}
			shrink := .25
			if c.spread == EmpiricalBernstein {
				shrink = .04 // the range term, 1/s, dominates at these s
			}
			if count := left(shrink); !exceeds(trials, count, delta) {
				t.Errorf("a radius %v as wide passed, left in %d of %d", shrink, count, trials)
			}
		})
	}
}

package papers

import (
	"math"
	"math/rand/v2"
	"testing"

	"thresher/internal/philox"
)

// Figures worked out by hand from the formulas.
func TestBernsteinFigures(t *testing.T) {
	cases := []struct {
		name      string
		got, want float64
	}{
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

package slate

import (
	"flag"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

var millionRewards = flag.Bool("million", false, "a million rewards for TestDrift, not a tenth of it")

// compensated is a sum with its rounding error kept separately (Kahan and Babuska).
type compensated struct{ sum, rest float64 }

func (c *compensated) add(x float64) {
	s := c.sum + x
	if math.Abs(c.sum) >= math.Abs(x) {
		c.rest += (c.sum - s) + x
	} else {
		c.rest += (x - s) + c.sum
	}
	c.sum = s
}

func (c *compensated) value() float64 { return c.sum + c.rest }

// Rounding errors of many updates accumulate slowly: ln det and theta agree with sums that
// have almost none.
func TestDrift(t *testing.T) {
	const d, lambda, each = 18, 1, 100
	rewards := 100_000
	if *millionRewards {
		rewards *= 10
	} else if testing.Short() {
		rewards /= 10
	}
	r := newRand(8, 0)
	e := must(NewEstimator(d, lambda))
	m, b := make([]compensated, d*d), make([]compensated, d)
	for range rewards / each {
		x, y := uniform(r, each*d, 0, 1), uniform(r, each, 0, 1)
		must(0, e.Update(x, y))
		for i, v := range y {
			row := x[i*d : (i+1)*d]
			for g, z := range row {
				b[g].add(v * z)
				for h := range row[:g+1] {
					m[g*d+h].add(z * row[h])
				}
			}
		}
	}
	dense, right := mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	for g := range d {
		for h := range g + 1 {
			dense.SetSym(g, h, m[g*d+h].value())
		}
		dense.SetSym(g, g, dense.At(g, g)+lambda)
		right.SetVec(g, b[g].value())
	}
	var chol mat.Cholesky
	if !chol.Factorize(dense) {
		t.Fatal("not positive definite")
	}
	var theta mat.VecDense
	must(0, chol.SolveVecTo(&theta, right))
	got := make([]float64, d)
	e.Weights(got)
	off := 0.0
	for g, w := range got {
		off = max(off, math.Abs(w-theta.AtVec(g)))
	}
	volume := math.Abs(e.LogDet() - chol.LogDet())
	t.Logf("after %d rewards: ln det %.3g of %.4g off, theta %.3g", rewards, volume, chol.LogDet(), off)
	if volume > 1e-11 || off > 1e-11 {
		t.Errorf("ln det is off by %g, theta by %g", volume, off)
	}
}

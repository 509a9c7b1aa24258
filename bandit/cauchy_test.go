package bandit

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDeterministicBoundsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	tightest := map[string]float64{}
	note := func(name string, actual, bound float64) {
		t.Helper()
		if actual > bound {
			t.Fatalf("%s: %.17g above the bound %.17g", name, actual, bound)
		}
		if bound > 0 {
			tightest[name] = max(tightest[name], actual/bound)
		}
	}
	for trial := range 3000 {
		d := 1 + rng.IntN(40)
		y, w := make([]float64, d), make([]float64, d)
		gaussian(rng, y)
		gaussian(rng, w)
		if trial%3 == 0 { // parallel: Cauchy-Schwarz is an equality
			for j := range w {
				w[j] = 3 * y[j]
			}
		}
		norm := func(x []float64) float64 { return math.Sqrt(dot64(x, x)) }
		// The tolerance is that of this test's own sums.
		loose := 1 + 1e-13
		note("norm cap", dot64(y, w)/loose, NormCap(norm(w), norm(y)))
		cut := rng.IntN(d + 1)
		note("prefix", (dot64(y, w)-dot64(y[:cut], w[:cut]))/loose-1e-13, PrefixRadius(norm(y[cut:]), norm(w[cut:])))
		yHat, wHat := make([]float64, d), make([]float64, d)
		yError, wError := make([]float64, d), make([]float64, d)
		for j := range y {
			yHat[j], wHat[j] = math.Round(y[j]*4)/4, math.Round(w[j]*4)/4
			yError[j], wError[j] = y[j]-yHat[j], w[j]-wHat[j]
		}
		lost := math.Abs(dot64(y, w) - dot64(yHat, wHat))
		note("rounding", lost/loose-1e-13, RoundingError(norm(y), norm(wError), norm(yError), norm(wHat)))
	}
	for name, ratio := range tightest {
		if ratio < 0.9 {
			t.Errorf("%s: the bound was never less than %.2f times too large", name, 1/ratio)
		}
	}
}

func TestPrefixRadiusEndsAtZero(t *testing.T) {
	if got := PrefixRadius(0, 5); got != 0 {
		t.Errorf("radius %g when the whole row was seen, want 0", got)
	}
}

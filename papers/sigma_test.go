package papers

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// The estimate is the standard deviation of the rewards of all arms together, uniform or weighted; of 4,096
// samples of a bounded reward it is within 10%.
func TestEstimateSigma(t *testing.T) {
	const n, d = 20, 50
	atoms := randomRows(t, n, d, 3, func(r *rand.Rand, i int) float32 { return float32(i) + 4*r.Float32() })
	query := make([]float32, d)
	for j := range query {
		query[j] = 1 + float32(j%5)
	}
	products, err := NewProducts(atoms, query)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := BetaWeights(query, 1)
	if err != nil {
		t.Fatal(err)
	}
	uniform := make([]float64, d)
	for j := range uniform {
		uniform[j] = 1. / d
	}
	for name, x := range map[string]struct{ given, by []float64 }{"uniform": {nil, uniform}, "weighted": {weights, weights}} {
		mean, squares, column := 0.0, 0.0, make([]float64, n)
		for j := range d {
			products.Pull(j, allArms(n), column)
			for _, v := range column {
				v *= weightFactor(x.by[j], d)
				mean += x.by[j] * v / n
				squares += x.by[j] * v * v / n
			}
		}
		want := math.Sqrt(squares - mean*mean)
		got, pulls, err := EstimateSigma(products, x.given, 4096, 1)
		if err != nil || pulls != 4096 || math.Abs(got/want-1) > .1 {
			t.Errorf("%s: sigma %v by %d pulls (%v), the data's is %v", name, got, pulls, err, want)
		}
	}
	if got, _, err := EstimateSigma(randomRows(t, 3, 4, 1, func(*rand.Rand, int) float32 { return 7 }), nil, 9, 1); got != 0 || err != nil {
		t.Errorf("of equal rewards: %v, %v", got, err)
	}
	if _, _, err := EstimateSigma(products, nil, 1, 1); !errors.Is(err, ErrSigma) {
		t.Errorf("of one sample: %v", err)
	}
	if _, _, err := EstimateSigma(products, weights[1:], 9, 1); !errors.Is(err, ErrDim) {
		t.Errorf("49 weights: %v", err)
	}
}

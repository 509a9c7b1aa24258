package papers

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// A fair sign has sigma 1, for cosh(l) <= exp(l^2/2); the square of that of a coin of probability p is
// (1-2p) / (2 log((1-p)/p)), by Kearns and Saul ("Large deviation methods for approximate probabilistic inference", UAI 1998).
func TestSubGaussianSigma(t *testing.T) {
	coin := func(p float64) float64 { return math.Sqrt((1 - 2*p) / (2 * math.Log((1-p)/p))) }
	cases := []struct {
		name string
		ones int // of 1,000
		lo   float64
		want float64
	}{
		{"fair sign", 500, -1, 1},
		{"coin of .1", 100, 0, coin(.1)},
		{"coin of .01", 10, 0, coin(.01)},
		{"coin of .9", 900, 0, coin(.1)},
	}
	for _, c := range cases {
		arms, err := NewComputed(2, 1000, func(i, j int) float64 {
			if i == 1 {
				return 5 // equal rewards: sigma 0
			}
			if j < c.ones {
				return 1
			}
			return c.lo
		})
		if err != nil {
			t.Fatal(err)
		}
		got, pulls, err := SubGaussianSigma(context.Background(), arms, 0, 1)
		if err != nil || pulls != 2000 {
			t.Fatalf("%s: %d pulls, %v", c.name, pulls, err)
		}
		if math.Abs(got-c.want) > 2e-3*c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	atoms := randomRows(t, 3, 400, 1, func(r *rand.Rand, _ int) float32 { return float32(r.NormFloat64()) })
	if got, pulls, err := SubGaussianSigma(context.Background(), atoms, 100, 1); err != nil || pulls != 300 || got < .7 || got > 1.4 {
		t.Errorf("a sample of normal rewards: %v, %d pulls, %v", got, pulls, err)
	}
	if _, _, err := SubGaussianSigma(context.Background(), atoms, -1, 1); !errors.Is(err, ErrSigma) {
		t.Errorf("-1 coordinates: %v", err)
	}
}

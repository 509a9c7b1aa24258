package slate

import (
	"math/rand/v2"
	"testing"

	"thresher/internal/philox"
)

// must unwraps a result that cannot fail.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func newRand(seed, stream uint64) *rand.Rand { return rand.New(philox.New(seed, stream)) }

// uniform returns n numbers in [low, high).
func uniform(r *rand.Rand, n int, low, high float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = low + (high-low)*r.Float64()
	}
	return x
}

// coin is 1 with probability p.
func coin(r *rand.Rand, p float64) float64 {
	if r.Float64() < p {
		return 1
	}
	return 0
}

func skipLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short: takes seconds")
	}
}

package cpu

import (
	"math"
	"testing"

	"thresher/collection"
)

// TestDenseTau: a threshold is lowered by as many least numbers as there are coordinates, whether or not
// its step is so small that this can be seen.
func TestDenseTau(t *testing.T) {
	for _, dim := range []int{1, 768, collection.MaxDim} {
		s := &state{c: &collection.Collection{Dim: dim}}
		for _, tau := range []float64{0, 1e-44, -1e-44, 1e-38, -1e-36, 0x1p-106, math.Nextafter(absorbsTiny, 0), absorbsTiny, -absorbsTiny, 1, -3e38, math.Inf(-1), math.Inf(1)} {
			want := float32(float64(float32(tau)) - s.denseTiny())
			if got := s.denseTau(tau/2, tau/2); got != want {
				t.Errorf("%d coordinates: %g is lowered to %g, want %g", dim, tau, got, want)
			}
		}
	}
}

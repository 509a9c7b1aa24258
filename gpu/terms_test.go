//go:build cuda && cgo

package gpu

import (
	"math"
	"testing"

	"thresher/bandit"
	"thresher/collection"
)

// TestReachIsKept asks for reaches, some of them again, and for more than are kept.
func TestReachIsKept(t *testing.T) {
	r := &resident{c: &collection.Collection{D: 64, Kappa: 1.25}, reaches: map[float64]float64{}}
	for i := range 4 * reachesKept {
		alpha := math.Ldexp(1, -1-i/2)
		if got, want := r.reach(alpha), bandit.Reach(alpha, 1.25, 64); got != want {
			t.Fatalf("%g at %g, want %g", got, alpha, want)
		}
		if n := len(r.reaches); n == 0 || n > reachesKept {
			t.Fatalf("%d are kept", n)
		}
	}
}

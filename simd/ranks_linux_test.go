package simd

import "testing"

// TestCountFromEdges asserts that no kernel reads beyond the values.
func TestCountFromEdges(t *testing.T) {
	for _, before := range []bool{false, true} {
		for n := range 40 {
			values := edge(t, before, make([]float32, n))
			var counts [Pivots]int32
			var pivots [Pivots]float32
			for _, kern := range Available() {
				kern.CountFrom(&counts, values, &pivots)
				if counts[0] != int32(n) {
					t.Fatalf("%v: %d of %d", kern, counts[0], n)
				}
			}
		}
	}
}

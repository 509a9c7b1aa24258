package simd

import "testing"

// TestConvertEdges asserts that no kernel reads or writes beyond the numbers it is given.
func TestConvertEdges(t *testing.T) {
	for _, before := range []bool{false, true} {
		for n := range 40 {
			floats, doubles := edge(t, before, make([]float32, n)), edge(t, before, make([]float64, n))
			for _, kern := range Available() {
				kern.Widen(doubles, floats, 2)
				kern.Narrow(floats, doubles, 2)
			}
			halves, bytes := edge(t, before, make([]uint16, n)), edge(t, before, make([]uint8, n))
			for _, kern := range Available() {
				kern.Halves(floats, halves)
				kern.UpperHalves(floats, halves)
				kern.Signed(floats, bytes)
				kern.Unsigned(floats, bytes)
			}
		}
	}
}

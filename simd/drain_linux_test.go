package simd

import (
	"math/rand/v2"
	"testing"
)

// TestDrainEdges asserts that no kernel reads or writes beyond its slices.
func TestDrainEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(74, 75))
	for _, before := range []bool{false, true} {
		for _, n := range []int{1, 2, 3, 7, 64, 70, 256, 257, 300} {
			for range 8 {
				c := newDrainCase(r, n, PanelLanes+r.IntN(20))
				masks, values, add := edge(t, before, c.masks), edge(t, before, c.values), edge(t, before, c.add)
				ids, bounds := edge(t, before, make([]uint32, n*c.stride)), edge(t, before, make([]float32, n*c.stride))
				counts := edge(t, before, c.counts)
				for _, kern := range Available() {
					copy(counts, c.counts)
					kern.Drain(ids, bounds, c.stride, counts, masks, values, c.base, add)
				}
			}
		}
	}
}

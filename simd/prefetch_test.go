package simd

import (
	"slices"
	"testing"
)

// TestPrefetch: prefetching changes nothing and may be asked of nothing, of one number and of more than there is a cache
// for; what it is good for only times say.
func TestPrefetch(t *testing.T) {
	x := make([]float32, 1<<20+3)
	for i := range x {
		x[i] = float32(i)
	}
	before := slices.Clone(x)
	for _, kern := range Available() {
		for _, n := range []int{0, 1, 15, 16, 17, len(x)} {
			kern.Prefetch(x[:n])
		}
		kern.Prefetch(nil)
	}
	if !slices.Equal(x, before) {
		t.Error("changed")
	}
}

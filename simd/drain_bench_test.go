package simd

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkDrain reports ns a query and panel, by instructions/queries/percent of bits
// set in random masks. Lists start empty and are reset every 64 panels.
func BenchmarkDrain(b *testing.B) {
	const panels, chunk, stride = 512, 64, 4160
	r := rand.New(rand.NewPCG(63, 64))
	for _, n := range []int{1, 64, 256} {
		ids, bounds, counts := make([]uint32, n*stride), make([]float32, n*stride), make([]int32, n)
		masks, values, add := make([]uint64, n*panels), make([]float32, PanelLanes*n), make([]float32, n)
		for _, percent := range []float64{0, .3, 1, 3, 10, 50, 100} {
			for k := range masks {
				masks[k] = 0
				for i := range PanelLanes {
					if 100*r.Float64() < percent {
						masks[k] |= 1 << i
					}
				}
			}
			for _, kern := range Available() {
				b.Run(fmt.Sprintf("%v/%d/%g%%", kern, n, percent), func(b *testing.B) {
					p := 0
					for b.Loop() {
						if p%chunk == 0 {
							clear(counts)
							p %= panels
						}
						kern.Drain(ids, bounds, stride, counts, masks[p*n:][:n], values, uint32(PanelLanes*p), add)
						p++
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/query")
				})
			}
		}
	}
}

package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCountFrom compares counts with those of a loop, for values at and next to pivots, infinities,
// NaNs and zeros of both signs, and for pivots that are equal.
func TestCountFrom(t *testing.T) {
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)),
		math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32}
	for n := range 70 {
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(uint64(n), seed))
			var pivots [Pivots]float32
			for j := range pivots {
				pivots[j] = float32(r.IntN(9) - 4)
				if r.IntN(8) == 0 {
					pivots[j] = odd[1+r.IntN(len(odd)-1)]
				}
			}
			slices.Sort(pivots[:])
			values := newGrid(1, n, n, func(int, int) float32 {
				switch r.IntN(4) {
				case 0:
					return odd[r.IntN(len(odd))]
				case 1:
					return math.Nextafter32(pivots[r.IntN(Pivots)], odd[1+r.IntN(2)])
				case 2:
					return pivots[r.IntN(Pivots)]
				}
				return float32(r.NormFloat64())
			})
			var want [Pivots]int32
			for j, p := range pivots {
				for _, v := range values.row(0) {
					if v >= p {
						want[j]++
					}
				}
			}
			for _, kern := range Available() {
				got := [Pivots]int32{7, 7, 7, 7, 7, 7, 7, 7}
				kern.CountFrom(&got, values.row(0), &pivots)
				if got != want {
					t.Fatalf("%v: %v of %v from %v on, want %v", kern, got, values.row(0), pivots, want)
				}
			}
		}
	}
}

func TestCountFromAllocatesNothing(t *testing.T) {
	values := make([]float32, 37)
	for _, kern := range Available() {
		var counts [Pivots]int32
		var pivots [Pivots]float32
		if got := testing.AllocsPerRun(10, func() { kern.CountFrom(&counts, values, &pivots) }); got != 0 {
			t.Errorf("%v: %g allocations", kern, got)
		}
	}
}

// BenchmarkCountFrom reports values a nanosecond.
func BenchmarkCountFrom(b *testing.B) {
	for _, n := range []int{30, 200, 4000} {
		r := rand.New(rand.NewPCG(1, 2))
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(r.NormFloat64())
		}
		for _, kern := range Available() {
			b.Run(fmt.Sprintf("%v/%d", kern, n), func(b *testing.B) {
				pivots := [Pivots]float32{-1.5, -1, -.5, 0, .5, 1, 1.5, 2}
				var counts [Pivots]int32
				for b.Loop() {
					kern.CountFrom(&counts, values, &pivots)
				}
				b.ReportMetric(float64(n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "values/ns")
			})
		}
	}
}

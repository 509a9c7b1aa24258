package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestConvert compares conversions with those of single numbers, bit for bit, for numbers of every size
// and factors that make them overflow, vanish and round.
func TestConvert(t *testing.T) {
	for n := range 67 {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		for _, factor := range []float64{1, .5, 0, -1. / 3, 0x1p100, 0x1p-140, 1 + 0x1p-30, math.Pi * 0x1p-149} {
			src := newGrid(1, n, n, func(int, int) float32 {
				return float32(math.Ldexp(r.NormFloat64(), r.IntN(270)-145))
			}).row(0)
			doubles := make([]float64, n+2)
			for i := range doubles {
				doubles[i] = math.Ldexp(r.NormFloat64(), r.IntN(300)-150)
			}
			for _, kern := range Available() {
				wide := make([]float64, n+2)
				kern.Widen(wide[1:n+1], src, factor)
				for i, v := range src {
					if want := float64(v) * factor; math.Float64bits(wide[i+1]) != math.Float64bits(want) {
						t.Fatalf("%v: %g times %g is %g, want %g", kern, v, factor, wide[i+1], want)
					}
				}
				narrow := newGrid(1, n, n, func(int, int) float32 { return 0 })
				kern.Narrow(narrow.row(0), doubles[1:n+1], factor)
				for i, v := range doubles[1 : n+1] {
					if want := float32(v * factor); math.Float32bits(narrow.row(0)[i]) != math.Float32bits(want) {
						t.Fatalf("%v: %g times %g is %g, want %g", kern, v, factor, narrow.row(0)[i], want)
					}
				}
				if wide[0] != 0 || wide[n+1] != 0 || !narrow.intact() {
					t.Fatalf("%v: wrote outside %d numbers", kern, n)
				}
			}
		}
	}
}

// BenchmarkConvert reports the time of a query of 768 coordinates.
func BenchmarkConvert(b *testing.B) {
	floats, doubles := make([]float32, 768), make([]float64, 768)
	for _, kern := range Available() {
		b.Run("widen/"+kern.String(), func(b *testing.B) {
			for b.Loop() {
				kern.Widen(doubles, floats, .5)
			}
		})
		b.Run("narrow/"+kern.String(), func(b *testing.B) {
			for b.Loop() {
				kern.Narrow(floats, doubles, .5)
			}
		})
	}
}

package simd

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestListColumn: all Kernels list the same rows, in order, with the bounds of a loop bit for bit, and
// report those whose bound is not finite.
func TestListColumn(t *testing.T) {
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, math.MaxFloat32}
	for _, rows := range []int{1, 15, 16, 33, 63, 64} {
		for _, ld := range []int{1, 16, 48, 64, 128} {
			for seed := range uint64(12) {
				r := rand.New(rand.NewPCG(uint64(rows*1000+ld), seed))
				draw := func(int, int) float32 {
					if r.IntN(20) == 0 {
						return odd[r.IntN(len(odd))]
					}
					return float32(r.NormFloat64())
				}
				dots, terms := newGrid(1, (rows-1)*ld+1, (rows-1)*ld+1, draw), newGrid(3, rows, rows+70, draw)
				mask := r.Uint64()
				switch seed % 4 {
				case 1:
					mask |= r.Uint64() | r.Uint64()
				case 2:
					mask &= r.Uint64() & r.Uint64()
				case 3:
					mask = ^uint64(0)
				}
				mask &= ^uint64(0) >> (64 - rows)
				margin, factor, base := float32(r.NormFloat64()), float32(r.NormFloat64()), r.Uint32()
				var ids []uint32
				var bounds []float32
				var unbounded uint64
				for m := mask; m != 0; m &= m - 1 {
					i := bits.TrailingZeros64(m)
					// The conversions keep compilers from fusing products with sums.
					b := float32(dots.data[i*ld]*terms.row(0)[i]) + float32(margin*terms.row(1)[i])
					b += float32(terms.row(2)[i] * factor)
					if b-b != 0 {
						unbounded |= 1 << i
						continue
					}
					ids, bounds = append(ids, base+uint32(i)), append(bounds, b)
				}
				for _, kern := range Available() {
					toIDs, toBounds := make([]uint32, 130), newGrid(1, 128, 128, func(int, int) float32 { return 0 })
					n, others := kern.ListColumn(toIDs[1:129], toBounds.row(0), mask, dots.data, ld, margin, factor,
						terms.row(0), terms.row(1), terms.row(2), base)
					if !slices.Equal(toIDs[1:n+1], ids) || others != unbounded {
						t.Fatalf("%v, %d rows, mask %x: rows %v and %x, want %v and %x", kern, rows, mask, toIDs[1:n+1], others, ids, unbounded)
					}
					for i, b := range bounds {
						if math.Float32bits(toBounds.row(0)[i]) != math.Float32bits(b) {
							t.Fatalf("%v: bound %d is %g, want %g", kern, i, toBounds.row(0)[i], b)
						}
					}
					if toIDs[0] != 0 || toIDs[129] != 0 || !toBounds.intact() {
						t.Fatalf("%v: wrote outside", kern)
					}
				}
			}
		}
	}
}

// BenchmarkListColumn reports ns for a column of 64 rows, by how many pass.
func BenchmarkListColumn(b *testing.B) {
	const ld = 64
	dots, terms := make([]float32, 64*ld), make([]float32, 64)
	ids, bounds := make([]uint32, 128), make([]float32, 128)
	for _, kern := range []Kernels{Generic, Best()} {
		for _, passing := range []int{4, 8, 16, 32, 64} {
			b.Run(fmt.Sprintf("%v/%d", kern, passing), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				masks := make([]uint64, 64)
				for i := range masks {
					for bits.OnesCount64(masks[i]) < passing {
						masks[i] |= 1 << r.IntN(64)
					}
				}
				for i := 0; b.Loop(); i++ {
					kern.ListColumn(ids, bounds, masks[i%64], dots[i%64:], ld, 1, 1, terms, terms, terms, 7)
				}
			})
		}
	}
}

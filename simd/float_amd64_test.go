//go:build !noasm && !purego

package simd

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSumsOfGroups compares the kernels of groups of rows with each row alone, also where they
// prefetch rows, which Dots leaves out for matrices that caches hold. Rows after the last group have
// no sum.
func TestSumsOfGroups(t *testing.T) {
	if !slices.Contains(Available(), AVX512) {
		t.Skip("needs AVX-512")
	}
	r := rand.New(rand.NewPCG(5, 6))
	const count = 30
	for _, n := range append(sumLengths()[1:], 768) {
		rows, _ := fencedFloats(normals(r, count*n, true))
		q, _ := fenced(n, math.NaN(), equal[float64])
		for i := range q {
			q[i] = float64(float32(r.NormFloat64()))
		}
		for _, list := range []int{1, 3, 4, 7, 13} {
			ids := make([]uint32, list)
			for i := range ids {
				ids[i] = uint32(r.IntN(count))
			}
			for _, far := range []int{0, 4, 64} {
				for _, differences := range []bool{false, true} {
					summed := list &^ (together - 1)
					out, intact := fenced(summed, -7, equal[float64])
					sumGroups(differences, out[:summed:summed], rows, n, ids, q, far)
					for i := range out {
						row := rows[int(ids[i])*n:][:n]
						want := Dot(row, q)
						if differences {
							want = SquaredDistance(row, q)
						}
						if !sameBits(out[i], want) {
							t.Fatalf("row %d of %d, %d floats, %d ahead, differences %t: %x, want %x", i, list, n, far, differences, out[i], want)
						}
					}
					if !intact() {
						t.Fatalf("wrote beyond %d of %d rows of %d floats", summed, list, n)
					}
				}
			}
		}
	}
}

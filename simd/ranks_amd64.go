//go:build !noasm && !purego

package simd

import "unsafe"

// countFrom sets the counts of the first values and returns how many these are.
func (kern Kernels) countFrom(counts *[Pivots]int32, values []float32, pivots *[Pivots]float32) int {
	n := len(values)
	switch {
	case n == 0:
	case kern == AVX512:
		ranksAVX512(unsafe.SliceData(values), n, &pivots[0], &counts[0])
		return n
	case kern == AVX2:
		ranksAVX2(unsafe.SliceData(values), n&^7, &pivots[0], &counts[0])
		return n &^ 7
	}
	return 0
}

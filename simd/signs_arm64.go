//go:build !noasm && !purego

package simd

import "unsafe"

// signGroups is signsWithin for whole groups; it ignores the ids after the last one.
func (kern Kernels) signGroups(out []SignSums, codes []uint8, stride int, ids []uint32, hi, lo []int8, head, end, near, far int) {
	signSumsNEON(&out[0].HeadHi, &codes[0], stride, &ids[0], len(ids), &hi[0], unsafe.SliceData(lo), head, end, near, far)
}

func (kern Kernels) packSigns(dst []uint8, x []float32) {
	if kern == Generic || len(x) == 0 {
		packSignsGeneric(dst, x)
		return
	}
	packSignsNEON(&dst[0], &x[0], len(x))
}

func (kern Kernels) sumAbs(x []float32) float64 {
	n := len(x) &^ 31
	if kern == Generic || n == 0 {
		return sumAbsGeneric(x)
	}
	return sumAbsNEON(&x[0], n) + sumAbsGeneric(x[n:])
}

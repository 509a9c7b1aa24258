//go:build !noasm && !purego

package simd

import "unsafe"

// signGroups is signsWithin for whole groups; it ignores the ids after the last one.
func (kern Kernels) signGroups(out []SignSums, codes []uint8, stride int, ids []uint32, hi, lo []int8, head, end, near, far int) {
	if kern == AVX512 {
		signSumsAVX512(&out[0].HeadHi, &codes[0], stride, &ids[0], len(ids), &hi[0], unsafe.SliceData(lo), head, end, near, far)
		return
	}
	signSumsAVX2(&out[0].HeadHi, &codes[0], stride, &ids[0], len(ids), &hi[0], unsafe.SliceData(lo), head, end, near, far)
}

func (kern Kernels) packSigns(dst []uint8, x []float32) {
	switch {
	case kern == Generic || len(x) == 0:
		packSignsGeneric(dst, x)
	case kern == AVX512:
		packSignsAVX512(dst, x)
	default:
		packSignsAVX2(dst, x)
	}
}

func (kern Kernels) sumAbs(x []float32) float64 {
	n := len(x) &^ 31
	switch {
	case kern == Generic || n == 0:
		return sumAbsGeneric(x)
	case kern == AVX512:
		return sumAbsAVX512(x[:n]) + sumAbsGeneric(x[n:])
	}
	return sumAbsAVX2(x[:n]) + sumAbsGeneric(x[n:])
}

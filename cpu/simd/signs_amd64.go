//go:build !noasm && !purego

package simd

import (
	"slices"
	"unsafe"
)

// signGroup is the number of rows the kernels sum at a time.
const signGroup = 4

func (l Level) signs(out []SignSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	end, size := head+width, head+width/8
	if l == Generic || len(ids) == 0 || end == 0 {
		signsGeneric(out, codes, stride, ids, head, width, q)
		return
	}
	out, hi, lo := out[:len(ids)], q.Hi[:end], q.Lo[:head]
	_ = codes[int(slices.Max(ids))*stride:][:size]
	whole := len(ids) &^ (signGroup - 1)
	if whole > 0 {
		near, far := rowsAhead(len(codes), size)
		l.signGroups(out, codes, stride, ids, hi, lo, head, size, near, far)
	}
	if whole == len(ids) {
		return
	}
	// the last row again in the places of those that lack
	var few [signGroup]uint32
	var sums [signGroup]SignSums
	for j := range few {
		few[j] = ids[min(whole+j, len(ids)-1)]
	}
	l.signGroups(sums[:], codes, stride, few[:], hi, lo, head, size, 0, 0)
	copy(out[whole:], sums[:])
}

// signGroups is signs of whole groups; of rows left over it does not write sums.
func (l Level) signGroups(out []SignSums, codes []uint8, stride int, ids []uint32, hi, lo []int8, head, size, near, far int) {
	if l == AVX512 {
		signSumsAVX512(&out[0].HeadHi, &codes[0], stride, &ids[0], len(ids), &hi[0], unsafe.SliceData(lo), head, size, near, far)
		return
	}
	signSumsAVX2(&out[0].HeadHi, &codes[0], stride, &ids[0], len(ids), &hi[0], unsafe.SliceData(lo), head, size, near, far)
}

func (l Level) packSigns(dst []uint8, x []float32) {
	switch {
	case l == Generic || len(x) == 0:
		packSignsGeneric(dst, x)
	case l == AVX512:
		packSignsAVX512(dst, x)
	default:
		packSignsAVX2(dst, x)
	}
}

func (l Level) sumAbs(x []float32) float64 {
	n := len(x) &^ 31
	switch {
	case l == Generic || n == 0:
		return sumAbsGeneric(x)
	case l == AVX512:
		return sumAbsAVX512(x[:n]) + sumAbsGeneric(x[n:])
	}
	return sumAbsAVX2(x[:n]) + sumAbsGeneric(x[n:])
}

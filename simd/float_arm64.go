//go:build !noasm && !purego

package simd

import (
	"slices"
	"unsafe"
)

func (kern Kernels) dot(a []float32, q []float64) float64 {
	if kern == Generic {
		return Dot(a, q)
	}
	return dotNEON(unsafe.SliceData(a), unsafe.SliceData(q), len(a))
}

func (kern Kernels) dots(out []float64, rows []float32, ld int, ids []uint32, q []float64, _ bool) {
	if kern == Generic || len(ids) == 0 || len(q) == 0 {
		Dots(out, rows, ld, ids, q)
		return
	}
	_ = rows[int(slices.Max(ids))*ld:][:len(q)]
	ahead := max(1, fetched/4/len(q))
	dotsNEON(unsafe.SliceData(out), unsafe.SliceData(rows), ld, unsafe.SliceData(ids), len(ids), unsafe.SliceData(q), len(q), ahead)
}

func (kern Kernels) squaredDistance(a []float32, q []float64) float64 {
	if kern == Generic {
		return SquaredDistance(a, q)
	}
	return squaredDistanceNEON(unsafe.SliceData(a), unsafe.SliceData(q), len(a))
}

func (kern Kernels) squaredDistances(out []float64, rows []float32, ld int, ids []uint32, q []float64, _ bool) {
	if kern == Generic || len(ids) == 0 || len(q) == 0 {
		SquaredDistances(out, rows, ld, ids, q)
		return
	}
	_ = rows[int(slices.Max(ids))*ld:][:len(q)]
	ahead := max(1, fetched/4/len(q))
	squaredDistancesNEON(unsafe.SliceData(out), unsafe.SliceData(rows), ld, unsafe.SliceData(ids), len(ids), unsafe.SliceData(q), len(q), ahead)
}

func (kern Kernels) dots64(out, rows []float64, ld int, ids []uint32, q []float64) {
	if kern == Generic || len(ids) == 0 || len(q) == 0 {
		Dots64(out, rows, ld, ids, q)
		return
	}
	_ = rows[int(slices.Max(ids))*ld:][:len(q)]
	ahead := max(1, fetched/8/len(q))
	dots64NEON(unsafe.SliceData(out), unsafe.SliceData(rows), ld, unsafe.SliceData(ids), len(ids), unsafe.SliceData(q), len(q), ahead)
}

func (kern Kernels) squaredDistances64(out, rows []float64, ld int, ids []uint32, q []float64) {
	if kern == Generic || len(ids) == 0 || len(q) == 0 {
		SquaredDistances64(out, rows, ld, ids, q)
		return
	}
	_ = rows[int(slices.Max(ids))*ld:][:len(q)]
	ahead := max(1, fetched/8/len(q))
	squaredDistances64NEON(unsafe.SliceData(out), unsafe.SliceData(rows), ld, unsafe.SliceData(ids), len(ids), unsafe.SliceData(q), len(q), ahead)
}

func (kern Kernels) dotSquares(a, q []float32) (sum, squares float64) {
	if kern == Generic {
		return DotSquares(a, q)
	}
	return dotSquaresNEON(unsafe.SliceData(a), unsafe.SliceData(q), len(a))
}

func (kern Kernels) dotGather(a []float32, perm []uint32, q []float64) (sum, squares float64) {
	if kern == Generic || len(a) == 0 {
		return DotGather(a, perm, q)
	}
	left, sum, squares := dotGatherNEON(unsafe.SliceData(a), unsafe.SliceData(perm), unsafe.SliceData(q), len(perm), last(a))
	// The portable code takes the remaining entries and panics on an index beyond a.
	n := len(perm) - left
	s, t := DotGather(a, perm[n:], q[n:])
	return sum + s, squares + t
}

func (kern Kernels) sumSquares(x []float32) float64 {
	if kern == Generic {
		return SumSquares(x)
	}
	return sumSquaresNEON(unsafe.SliceData(x), len(x))
}

func (kern Kernels) maxAbs(x []float32) float32 {
	if kern == Generic {
		return MaxAbs(x)
	}
	return maxAbsNEON(unsafe.SliceData(x), len(x))
}

func (kern Kernels) quantize(dst []uint8, x []float32, inv float32) {
	if kern != Generic {
		n := len(x) &^ 3
		quantizeNEON(unsafe.SliceData(dst), unsafe.SliceData(x), n, inv)
		dst, x = dst[n:], x[n:]
	}
	Quantize(dst, x, inv)
}

func (kern Kernels) quantizeError(dst []int16, x []float32, inv float32, limit int32, step float32) (sum int64, err2 float64) {
	if kern == Generic {
		return QuantizeError(dst, x, inv, limit, step)
	}
	n := len(x) &^ 3
	sum, err2 = quantizeErrorNEON(unsafe.SliceData(dst), unsafe.SliceData(x), n, inv, limit, step)
	s, e := QuantizeError(dst[n:], x[n:], inv, limit, step)
	return sum + s, err2 + e
}

func (kern Kernels) codeMoments(code []uint8, o []float32) (co, cc float64) {
	if kern == Generic {
		return CodeMoments(code, o)
	}
	n := len(code) &^ 7
	co, cc = codeMomentsNEON(unsafe.SliceData(code), unsafe.SliceData(o), n)
	a, b := CodeMoments(code[n:], o[n:])
	return co + a, cc + b
}

// fwhtBlocks is fwhtScale for blocks of 16 to fwhtVisit entries.
func (Kernels) fwhtBlocks(x []float32, sign *float32, block int, f float32) {
	p, n := unsafe.SliceData(x), len(x)
	switch block {
	case 16:
		fwht16xNEON(p, n, sign, f)
	case 32:
		fwht32xNEON(p, n, sign, f)
	case 64:
		fwht64xNEON(p, n, sign, f)
	case 128:
		fwht128xNEON(p, n, sign, f)
	case 256:
		fwht256xNEON(p, n, sign, f)
	}
}

func (Kernels) prefetchBytes([]byte) {}

func (kern Kernels) permute(dst, src []float32, perm []uint32) {
	n := 0
	if kern != Generic && len(src) > 0 {
		n = len(dst) - permuteNEON(unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(perm), len(dst), last(src))
	}
	// The portable code takes the remaining entries and panics on an index beyond src.
	Permute(dst[n:], src, perm[n:])
}

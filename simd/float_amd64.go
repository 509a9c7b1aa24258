//go:build !noasm && !purego

package simd

import "unsafe"

import "slices"

func (kern Kernels) dot(a []float32, q []float64) float64 {
	switch kern {
	case AVX512:
		return dotAVX512(a, q)
	case AVX2:
		return dotAVX2(a, q)
	}
	return Dot(a, q)
}

func (kern Kernels) dots(out []float64, rows []float32, ld int, ids []uint32, q []float64, near bool) {
	if kern == Generic || len(ids) == 0 || len(q) == 0 {
		Dots(out, rows, ld, ids, q)
		return
	}
	_ = rows[int(slices.Max(ids))*ld:][:len(q)]
	if kern == AVX512 {
		inGroups(false, near, out, rows, ld, ids, q)
		return
	}
	dotsAVX2(out, rows, ld, ids, q, max(1, fetched/4/len(q)))
}

// together is how many rows the AVX-512 kernels of Dots and SquaredDistances sum at once.
const together = 4

// inGroups sets out[i] to the Dot of row ids[i] and q, or to their SquaredDistance, by the AVX-512
// kernels: of groups of rows, and then of those left over one at a time. It prefetches rows unless near
// is set.
func inGroups(differences, near bool, out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	n, ahead := len(ids)&^(together-1), max(1, fetched/4/len(q))
	if n > 0 {
		far := max(together, ahead)
		if near || len(rows) <= cachedRows/4 {
			far = 0
		}
		sumGroups(differences, out, rows, ld, ids, q, far)
		if len(ids)-n == together-1 { // with a row that is summed already, which takes less time than three rows one by one
			sumGroups(differences, out[n-1:], rows, ld, ids[n-1:], q, 0)
			n = len(ids)
		}
	}
	switch {
	case n == len(ids):
	case differences:
		squaredDistancesAVX512(out[n:], rows, ld, ids[n:], q, ahead)
	default:
		dotsAVX512(out[n:], rows, ld, ids[n:], q, ahead)
	}
}

// sumGroups is inGroups of the first len(ids) &^ 3 rows. The rows from far places later on are
// prefetched, unless far is 0.
func sumGroups(differences bool, out []float64, rows []float32, ld int, ids []uint32, q []float64, far int) {
	if differences {
		squaredDistancesTogetherAVX512(out, rows, ld, ids, q, far)
		return
	}
	dotsTogetherAVX512(out, rows, ld, ids, q, far)
}

func (kern Kernels) squaredDistance(a []float32, q []float64) float64 {
	switch kern {
	case AVX512:
		return squaredDistanceAVX512(a, q)
	case AVX2:
		return squaredDistanceAVX2(a, q)
	}
	return SquaredDistance(a, q)
}

func (kern Kernels) squaredDistances(out []float64, rows []float32, ld int, ids []uint32, q []float64, near bool) {
	if kern == Generic || len(ids) == 0 || len(q) == 0 {
		SquaredDistances(out, rows, ld, ids, q)
		return
	}
	_ = rows[int(slices.Max(ids))*ld:][:len(q)]
	if kern == AVX512 {
		inGroups(true, near, out, rows, ld, ids, q)
		return
	}
	squaredDistancesAVX2(out, rows, ld, ids, q, max(1, fetched/4/len(q)))
}

func (kern Kernels) dots64(out, rows []float64, ld int, ids []uint32, q []float64) {
	if kern == Generic || len(ids) == 0 || len(q) == 0 {
		Dots64(out, rows, ld, ids, q)
		return
	}
	_ = rows[int(slices.Max(ids))*ld:][:len(q)]
	ahead := max(1, fetched/8/len(q))
	if kern == AVX512 {
		dots64AVX512(out, rows, ld, ids, q, ahead)
		return
	}
	dots64AVX2(out, rows, ld, ids, q, ahead)
}

func (kern Kernels) squaredDistances64(out, rows []float64, ld int, ids []uint32, q []float64) {
	if kern == Generic || len(ids) == 0 || len(q) == 0 {
		SquaredDistances64(out, rows, ld, ids, q)
		return
	}
	_ = rows[int(slices.Max(ids))*ld:][:len(q)]
	ahead := max(1, fetched/8/len(q))
	if kern == AVX512 {
		squaredDistances64AVX512(out, rows, ld, ids, q, ahead)
		return
	}
	squaredDistances64AVX2(out, rows, ld, ids, q, ahead)
}

func (kern Kernels) dotSquares(a, q []float32) (sum, squares float64) {
	switch kern {
	case AVX512:
		return dotSquaresAVX512(a, q)
	case AVX2:
		return dotSquaresAVX2(a, q)
	}
	return DotSquares(a, q)
}

func (kern Kernels) dotGather(a []float32, perm []uint32, q []float64) (sum, squares float64) {
	if kern == Generic || len(a) == 0 {
		return DotGather(a, perm, q)
	}
	n, sum, squares := dotGatherAVX2(a, perm, q, last(a))
	// The portable code takes the remaining entries and panics on an index beyond a.
	s, t := DotGather(a, perm[n:], q[n:])
	return sum + s, squares + t
}

func (kern Kernels) sumSquares(x []float32) float64 {
	switch kern {
	case AVX512:
		return sumSquaresAVX512(x)
	case AVX2:
		return sumSquaresAVX2(x)
	}
	return SumSquares(x)
}

func (kern Kernels) maxAbs(x []float32) float32 {
	switch kern {
	case AVX512:
		n := len(x) &^ 15
		return max(maxAbsAVX512(x[:n]), MaxAbs(x[n:]))
	case AVX2:
		n := len(x) &^ 7
		return max(maxAbsAVX2(x[:n]), MaxAbs(x[n:]))
	}
	return MaxAbs(x)
}

func (kern Kernels) quantize(dst []uint8, x []float32, inv float32) {
	switch kern {
	case AVX512:
		quantizeAVX512(dst, x, inv)
		return
	case AVX2:
		n := len(x) &^ 31
		quantizeAVX2(dst, x[:n], inv)
		dst, x = dst[n:], x[n:]
	}
	Quantize(dst, x, inv)
}

func (kern Kernels) quantizeError(dst []int16, x []float32, inv float32, limit int32, step float32) (sum int64, err2 float64) {
	switch kern {
	case AVX512:
		return quantizeErrorAVX512(dst, x, inv, limit, step)
	case AVX2:
		n := len(x) &^ 7
		sum, err2 = quantizeErrorAVX2(dst, x[:n], inv, limit, step)
		s, e := QuantizeError(dst[n:], x[n:], inv, limit, step)
		return sum + s, err2 + e
	}
	return QuantizeError(dst, x, inv, limit, step)
}

func (kern Kernels) codeMoments(code []uint8, o []float32) (co, cc float64) {
	n := 0
	switch kern {
	case AVX512:
		n = len(code) &^ 7
		co, cc = codeMomentsAVX512(code[:n], o[:n])
	case AVX2:
		n = len(code) &^ 3
		co, cc = codeMomentsAVX2(code[:n], o[:n])
	}
	a, b := CodeMoments(code[n:], o[n:])
	return co + a, cc + b
}

// fwhtBlocks is fwhtScale for blocks of 16 to fwhtVisit entries.
func (kern Kernels) fwhtBlocks(x []float32, sign *float32, block int, f float32) {
	if kern == AVX512 {
		switch block {
		case 16:
			fwht16xAVX512(x, sign, f)
		case 32:
			fwht32xAVX512(x, sign, f)
		case 64:
			fwht64xAVX512(x, sign, f)
		case 128:
			fwht128xAVX512(x, sign, f)
		case 256:
			fwht256xAVX512(x, sign, f)
		}
		return
	}
	switch block {
	case 16:
		fwht16xAVX2(x, sign, f)
	case 32:
		fwht32xAVX2(x, sign, f)
	case 64:
		fwht64xAVX2(x, sign, f)
	case 128:
		fwht128xAVX2(x, sign, f)
	case 256:
		fwht256xAVX2(x, sign, f)
	}
}

func (kern Kernels) prefetchBytes(x []byte) {
	if kern != Generic {
		fetchLines((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
	}
}

func (kern Kernels) permute(dst, src []float32, perm []uint32) {
	n := 0
	if kern != Generic && len(src) > 0 {
		n = permuteAVX2(dst, src, perm, last(src))
	}
	// The portable code takes the remaining entries and panics on an index beyond src.
	Permute(dst[n:], src, perm[n:])
}

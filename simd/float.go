package simd

import "unsafe"

// Dot is the function Dot by kern: bit for bit where products are exact.
func (kern Kernels) Dot(a []float32, q []float64) float64 { return kern.dot(a, q[:len(a)]) }

// Dots is the function Dots by kern: out[i] is kern.Dot of row ids[i], bit for bit,
// independently of the other rows.
func (kern Kernels) Dots(out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	kern.dots(out[:len(ids)], rows, ld, ids, q, false)
}

// DotsNear is Dots for rows most of which are in a cache: it does not prefetch them.
func (kern Kernels) DotsNear(out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	kern.dots(out[:len(ids)], rows, ld, ids, q, true)
}

// SquaredDistance is the function SquaredDistance by kern, bit for bit.
func (kern Kernels) SquaredDistance(a []float32, q []float64) float64 {
	return kern.squaredDistance(a, q[:len(a)])
}

// SquaredDistances is the function SquaredDistances by kern, bit for bit.
func (kern Kernels) SquaredDistances(out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	kern.squaredDistances(out[:len(ids)], rows, ld, ids, q, false)
}

// SquaredDistancesNear is SquaredDistances for rows most of which are in a cache: it does not prefetch
// them.
func (kern Kernels) SquaredDistancesNear(out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	kern.squaredDistances(out[:len(ids)], rows, ld, ids, q, true)
}

// DotSquares is the function DotSquares by kern. Both errors are below
// (len(a)+2) 2^-53 times the sum of the terms' magnitudes.
func (kern Kernels) DotSquares(a, q []float32) (sum, squares float64) {
	return kern.dotSquares(a, q[:len(a)])
}

// DotGather is the function DotGather by kern. Both errors are below
// (len(q)+4) 2^-53 times the sum of the terms' magnitudes.
func (kern Kernels) DotGather(a []float32, perm []uint32, q []float64) (sum, squares float64) {
	return kern.dotGather(a, perm, q[:len(perm)])
}

// SumSquares is the function SumSquares by kern, bit for bit.
func (kern Kernels) SumSquares(x []float32) float64 { return kern.sumSquares(x) }

// MaxAbs is the function MaxAbs by kern, bit for bit; NaN if x holds one.
func (kern Kernels) MaxAbs(x []float32) float32 { return kern.maxAbs(x) }

// Quantize is the function Quantize by kern, bit for bit.
func (kern Kernels) Quantize(dst []uint8, x []float32, inv float32) {
	kern.quantize(dst[:len(x)], x, inv)
}

// QuantizeError is the function QuantizeError by kern: codes and sum bit for bit,
// err2 up to a factor of 1 +- (len(x)+4) 2^-53.
func (kern Kernels) QuantizeError(dst []int16, x []float32, inv float32, limit int32, step float32) (sum int64, err2 float64) {
	return kern.quantizeError(dst[:len(x)], x, inv, limit, step)
}

// CodeMoments is the function CodeMoments by kern: cc is exact, the error of co is
// below len(code) 2^-53 sum |c_j o_j|.
func (kern Kernels) CodeMoments(code []uint8, o []float32) (co, cc float64) {
	return kern.codeMoments(code, o[:len(code)])
}

// FWHTScale multiplies x by sign, transforms each block in place and multiplies the
// result by f. Both slices have equal lengths, a multiple of block; block is a power
// of two, at least 4; sign holds +1 and -1. Every set gives the same bits.
func (kern Kernels) FWHTScale(x, sign []float32, block int, f float32) {
	kern.fwhtScale(x, sign[:len(x)], block, f)
}

// Prefetch begins to read x into the level-2 cache. It does nothing where it was not measured to help.
func (kern Kernels) Prefetch(x []float32) {
	kern.prefetchBytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x)))
}

// Permute is the function Permute by kern, bit for bit.
func (kern Kernels) Permute(dst, src []float32, perm []uint32) {
	kern.permute(dst, src, perm[:len(dst)])
}

// PrefetchBytes is Prefetch of bytes.
func (kern Kernels) PrefetchBytes(x []byte) { kern.prefetchBytes(x) }

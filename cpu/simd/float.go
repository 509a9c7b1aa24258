package simd

// Dot is the function Dot at level l; its error is below
// (len(a)+2) 2^-53 sum |a_j q_j|.
func (l Level) Dot(a []float32, q []float64) float64 { return Dot(a, q) }

// Dots is the function Dots at level l: out[i] is l.Dot of row ids[i], bit for
// bit, whatever the other rows are.
func (l Level) Dots(out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	Dots(out, rows, ld, ids, q)
}

// DotSquares is the function DotSquares at level l, in float64.
func (l Level) DotSquares(a, q []float32) (sum, squares float64) { return DotSquares(a, q) }

// DotGather is the function DotGather at level l, in float64.
func (l Level) DotGather(a []float32, perm []uint32, q []float64) (sum, squares float64) {
	return DotGather(a, perm, q)
}

// SumSquares is the function SumSquares at level l, in float64.
func (l Level) SumSquares(x []float32) float64 { return SumSquares(x) }

// MaxAbs is the function MaxAbs at level l, bit for bit.
func (l Level) MaxAbs(x []float32) float32 { return MaxAbs(x) }

// Quantize is the function Quantize at level l, bit for bit.
func (l Level) Quantize(dst []uint8, x []float32, inv float32) { Quantize(dst, x, inv) }

// QuantizeSigned is the function QuantizeSigned at level l, bit for bit.
func (l Level) QuantizeSigned(dst []int16, x []float32, inv float32, limit int32) {
	QuantizeSigned(dst, x, inv, limit)
}

// QuantizeError is the function QuantizeError at level l: the codes and their
// sum bit for bit, err2 in float64.
func (l Level) QuantizeError(dst []int16, x []float32, inv float32, limit int32, step float32) (sum int64, err2 float64) {
	return QuantizeError(dst, x, inv, limit, step)
}

// CodeMoments is the function CodeMoments at level l, in float64.
func (l Level) CodeMoments(code []uint8, o []float32) (co, cc float64) { return CodeMoments(code, o) }

// FWHT is the function FWHT at level l, bit for bit: the additions are the same.
func (l Level) FWHT(x []float32) { FWHT(x) }

// FWHTScale is the function FWHTScale at level l, bit for bit.
func (l Level) FWHTScale(x, sign []float32, block int, f float32) { FWHTScale(x, sign, block, f) }

// PermuteScale writes dst[i] = src[perm[i]] * scale[i].
func (l Level) PermuteScale(dst, src []float32, perm []uint32, scale []float32) {
	permuteScaleGeneric(dst, src, perm, scale)
}

func permuteScaleGeneric(dst, src []float32, perm []uint32, scale []float32) {
	perm, scale = perm[:len(dst)], scale[:len(dst)]
	for i := range dst {
		dst[i] = src[perm[i]] * scale[i]
	}
}

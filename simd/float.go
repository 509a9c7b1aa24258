package simd

// Dot is the function Dot at level l: bit for bit where products are exact.
func (l Level) Dot(a []float32, q []float64) float64 { return l.dot(a, q[:len(a)]) }

// Dots is the function Dots at level l: out[i] is l.Dot of row ids[i], bit for bit,
// independently of the other rows.
func (l Level) Dots(out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	l.dots(out[:len(ids)], rows, ld, ids, q)
}

// SquaredDistance is the function SquaredDistance at level l, bit for bit.
func (l Level) SquaredDistance(a []float32, q []float64) float64 {
	return l.squaredDistance(a, q[:len(a)])
}

// SquaredDistances is the function SquaredDistances at level l, bit for bit.
func (l Level) SquaredDistances(out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	l.squaredDistances(out[:len(ids)], rows, ld, ids, q)
}

// DotSquares is the function DotSquares at level l. Both errors are below
// (len(a)+2) 2^-53 times the sum of the terms' magnitudes.
func (l Level) DotSquares(a, q []float32) (sum, squares float64) {
	return l.dotSquares(a, q[:len(a)])
}

// DotGather is the function DotGather at level l. Both errors are below
// (len(q)+4) 2^-53 times the sum of the terms' magnitudes.
func (l Level) DotGather(a []float32, perm []uint32, q []float64) (sum, squares float64) {
	return l.dotGather(a, perm, q[:len(perm)])
}

// SumSquares is the function SumSquares at level l, bit for bit.
func (l Level) SumSquares(x []float32) float64 { return l.sumSquares(x) }

// MaxAbs is the function MaxAbs at level l, bit for bit; NaN if x holds one.
func (l Level) MaxAbs(x []float32) float32 { return l.maxAbs(x) }

// Quantize is the function Quantize at level l, bit for bit.
func (l Level) Quantize(dst []uint8, x []float32, inv float32) { l.quantize(dst[:len(x)], x, inv) }

// QuantizeSigned is the function QuantizeSigned at level l, bit for bit.
func (l Level) QuantizeSigned(dst []int16, x []float32, inv float32, limit int32) {
	l.quantizeSigned(dst[:len(x)], x, inv, limit)
}

// QuantizeError is the function QuantizeError at level l: codes and sum bit for bit,
// err2 up to a factor of 1 +- (len(x)+4) 2^-53.
func (l Level) QuantizeError(dst []int16, x []float32, inv float32, limit int32, step float32) (sum int64, err2 float64) {
	return l.quantizeError(dst[:len(x)], x, inv, limit, step)
}

// CodeMoments is the function CodeMoments at level l: cc is exact, the error of co is
// below len(code) 2^-53 sum |c_j o_j|.
func (l Level) CodeMoments(code []uint8, o []float32) (co, cc float64) {
	return l.codeMoments(code, o[:len(code)])
}

// FWHT is the function FWHT at level l, bit for bit: every level does the same additions.
func (l Level) FWHT(x []float32) { l.fwhtScale(x, nil, len(x), 1) }

// FWHTScale is the function FWHTScale at level l, bit for bit.
func (l Level) FWHTScale(x, sign []float32, block int, f float32) {
	l.fwhtScale(x, sign[:len(x)], block, f)
}

// PermuteScale is the function PermuteScale at level l, bit for bit.
func (l Level) PermuteScale(dst, src []float32, perm []uint32, scale []float32) {
	if scale != nil {
		scale = scale[:len(dst)]
	}
	l.permuteScale(dst, src, perm[:len(dst)], scale)
}

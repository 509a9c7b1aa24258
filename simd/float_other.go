//go:build (!amd64 && !arm64) || noasm || purego

package simd

func (Level) dot(a []float32, q []float64) float64 { return Dot(a, q) }

func (Level) dots(out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	Dots(out, rows, ld, ids, q)
}

func (Level) dotSquares(a, q []float32) (sum, squares float64) { return DotSquares(a, q) }

func (Level) dotGather(a []float32, perm []uint32, q []float64) (sum, squares float64) {
	return DotGather(a, perm, q)
}

func (Level) sumSquares(x []float32) float64 { return SumSquares(x) }

func (Level) maxAbs(x []float32) float32 { return MaxAbs(x) }

func (Level) quantize(dst []uint8, x []float32, inv float32) { Quantize(dst, x, inv) }

func (Level) quantizeSigned(dst []int16, x []float32, inv float32, limit int32) {
	QuantizeSigned(dst, x, inv, limit)
}

func (Level) quantizeError(dst []int16, x []float32, inv float32, limit int32, step float32) (sum int64, err2 float64) {
	return QuantizeError(dst, x, inv, limit, step)
}

func (Level) codeMoments(code []uint8, o []float32) (co, cc float64) { return CodeMoments(code, o) }

func (Level) fwhtScale(x, sign []float32, block int, f float32) { fwhtScale(x, sign, block, f) }

func (Level) permuteScale(dst, src []float32, perm []uint32, scale []float32) {
	PermuteScale(dst, src, perm, scale)
}

func (Level) squaredDistance(a []float32, q []float64) float64 { return SquaredDistance(a, q) }

func (Level) squaredDistances(out []float64, rows []float32, ld int, ids []uint32, q []float64) {
	SquaredDistances(out, rows, ld, ids, q)
}

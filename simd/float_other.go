//go:build (!amd64 && !arm64) || noasm || purego

package simd

func (Kernels) dot(a []float32, q []float64) float64 { return Dot(a, q) }

func (Kernels) dots(out []float64, rows []float32, ld int, ids []uint32, q []float64, _ bool) {
	Dots(out, rows, ld, ids, q)
}

func (Kernels) dotSquares(a, q []float32) (sum, squares float64) { return DotSquares(a, q) }

func (Kernels) dotGather(a []float32, perm []uint32, q []float64) (sum, squares float64) {
	return DotGather(a, perm, q)
}

func (Kernels) sumSquares(x []float32) float64 { return SumSquares(x) }

func (Kernels) maxAbs(x []float32) float32 { return MaxAbs(x) }

func (Kernels) quantize(dst []uint8, x []float32, inv float32) { Quantize(dst, x, inv) }

func (Kernels) quantizeError(dst []int16, x []float32, inv float32, limit int32, step float32) (sum int64, err2 float64) {
	return QuantizeError(dst, x, inv, limit, step)
}

func (Kernels) codeMoments(code []uint8, o []float32) (co, cc float64) { return CodeMoments(code, o) }

func (Kernels) fwhtScale(x, sign []float32, block int, f float32) { fwhtScale(x, sign, block, f) }

func (Kernels) prefetchBytes([]byte) {}

func (Kernels) permute(dst, src []float32, perm []uint32) { Permute(dst, src, perm) }

func (Kernels) squaredDistance(a []float32, q []float64) float64 { return SquaredDistance(a, q) }

func (Kernels) squaredDistances(out []float64, rows []float32, ld int, ids []uint32, q []float64, _ bool) {
	SquaredDistances(out, rows, ld, ids, q)
}

func (Kernels) dots64(out, rows []float64, ld int, ids []uint32, q []float64) {
	Dots64(out, rows, ld, ids, q)
}

func (Kernels) squaredDistances64(out, rows []float64, ld int, ids []uint32, q []float64) {
	SquaredDistances64(out, rows, ld, ids, q)
}

//go:build (!amd64 && !arm64) || noasm || purego

package simd

func (Kernels) signs(out []SignSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	signsGeneric(out, codes, stride, ids, head, width, q)
}

func (Kernels) packSigns(dst []uint8, x []float32) { packSignsGeneric(dst, x) }

func (Kernels) sumAbs(x []float32) float64 { return sumAbsGeneric(x) }

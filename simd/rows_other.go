//go:build (!amd64 && !arm64) || noasm || purego

package simd

func (Kernels) rows(out []RowSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	rowsGeneric(out, codes, stride, ids, head, width, q)
}

func (Kernels) rows8(out []RowSums8, codes []uint8, stride int, ids []uint32, head, width int, q []int8) {
	rows8Generic(out, codes, stride, ids, head, width, q)
}

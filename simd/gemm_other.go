//go:build (!amd64 && !arm64) || noasm || purego

package simd

func (Kernels) pack(panel, src []float32, ld, n, k, width int) {
	packGeneric(panel, src, ld, n, k, width)
}

func (Kernels) gemm(out []float32, ldo int, rows []float32, ldr, n int, panel []float32, k, width int, add bool) {
	gemmGeneric(out, ldo, rows, ldr, n, panel, k, width, add)
}

func (Kernels) denseTestRows(dots []float32, ld int, margin, factor, tau, scale, size, offset []float32, masks []uint64) {
	denseTestRowsGeneric(dots, ld, margin, factor, tau, scale, size, offset, masks)
}

func (Kernels) gemmFew(out []float32, ldo int, rows []float32, ldr, n int, queries []float32, ldq, m, k int, add bool) {
	gemmFewGeneric(out, ldo, rows, ldr, n, queries, ldq, m, k, add)
}

func (Kernels) denseTestColumn(dots []float32, margin, factor, tau float32, scale, size, offset []float32, masks []uint64) int {
	return 0
}

// listsColumn reports whether there is assembly for ListColumn.
func (Kernels) listsColumn() bool { return false }

func listColumn([]uint32, []float32, uint64, []float32, int, float32, float32, []float32, []float32, []float32, uint32) (n int, odd uint64) {
	return 0, 0
}

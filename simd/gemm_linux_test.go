package simd

import "testing"

// TestGemmEdges asserts that no kernel reads or writes beyond the rows it is given.
func TestGemmEdges(t *testing.T) {
	for _, before := range []bool{false, true} {
		floats := func(n int) []float32 { return edge(t, before, make([]float32, n)) }
		for _, width := range PanelWidths {
			for _, k := range []int{0, 1, 3, 7, 8, 15, 16, 17, 40} {
				src, panel := floats(width*k), floats(k*width)
				for _, n := range []int{1, 2, 3, 6, 8, 15, 24, 25} {
					rows, out := floats(n*k), floats(n*width)
					columns, terms := floats(width), floats(n)
					masks := edge(t, before, make([]uint64, n))
					for _, kern := range Available() {
						kern.Pack(panel, src, k, width, k, width)
						kern.Pack(panel, src, k, min(n, width), k, width)
						kern.Gemm(out, width, rows, k, n, panel, k, width, false)
						kern.Gemm(out, width, rows, k, n, panel, k, width, true)
						kern.DenseTestRows(out, width, columns, columns, columns, width, terms, terms, terms, masks)
					}
				}
			}
		}
	}
}

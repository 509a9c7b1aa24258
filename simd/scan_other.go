//go:build (!amd64 && !arm64) || noasm || purego

package simd

func (Kernels) scan(w *ScanScratch, panel []uint8, _, head, width int, codes []int8, stride int, queries []ScanQuery,
	t *PanelTerms, masks []uint64, values []float32) {
	scanGeneric(w, panel, head, width, codes, stride, queries, t, masks, values)
}

func (Kernels) test(sums []RowSums8, t *PanelTerms, q *ScanQuery, values []float32) uint64 {
	return testGeneric(sums, t, q, values)
}

func (Kernels) transpose(panel []uint8, rows []uint8, stride, n, width int) {
	transposeGeneric(panel, rows, stride, 0, n, width)
}

func (Kernels) selects(toIDs []uint32, toBounds []float32, ids []uint32, bounds []float32, lo, hi float32) int {
	return selectGeneric(toIDs, toBounds, ids, bounds, lo, hi)
}

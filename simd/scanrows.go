package simd

// ScanRows is Scan of the panel that Transpose makes of the first head+width codes of n <= 64
// rows, stride bytes apart, with the same kernels: values and masks are equal bit for bit. The
// queries' codes are codeStride bytes apart. The 64 rows after these are prefetched if rows extends
// to them.
//
// Few queries are multiplied with the rows as they are, where the processor has a kernel for that,
// since to transpose a row costs as much as four to six products with it.
func (kern Kernels) ScanRows(w *ScanScratch, rows []uint8, stride, n, head, width int, codes []int8, codeStride int, queries []ScanQuery,
	t *PanelTerms, masks []uint64, values []float32) {
	if len(queries) == 0 {
		return
	}
	all := head + width
	if n == PanelLanes && all > 0 && len(queries) <= kern.tiledQueries() {
		_ = rows[:(n-1)*stride+all]
		kern.scanTiles(w, rows, stride, head, width, codes, codeStride, queries, t, masks, values)
		return
	}
	if len(w.panel) < PanelLanes*all {
		w.panel = make([]uint8, PanelLanes*all)
	}
	panel := w.panel[:PanelLanes*all]
	kern.Transpose(panel, rows, stride, n, all)
	kern.scan(w, panel, rowsAfter(panel, rows, stride), head, width, codes, codeStride, queries, t, masks, values)
}

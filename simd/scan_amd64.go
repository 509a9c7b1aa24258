//go:build !noasm && !purego

package simd

import "unsafe"

// fetchedBy is the number of queries during whose scan the next rows come from memory.
const fetchedBy = 16

func (kern Kernels) scan(w *ScanScratch, panel []uint8, ahead, head, width int, codes []int8, stride int, queries []ScanQuery,
	t *PanelTerms, masks []uint64, values []float32) {
	n, all := len(queries), head+width
	if kern == Generic || n == 0 {
		scanGeneric(w, panel, head, width, codes, stride, queries, t, masks, values)
		return
	}
	if ahead != 0 && len(panel) > fetchedPanel && n > 2*fetchedBy { // the first queries prefetch what comes after rows
		kern.scan(w, panel, ahead, head, width, codes, stride, queries[:fetchedBy], t, masks, values)
		kern.scan(w, panel, 0, head, width, codes[fetchedBy*stride:], stride, queries[fetchedBy:], t, masks[fetchedBy:], values[fetchedBy*PanelLanes:])
		return
	}
	panel, codes = panel[:PanelLanes*all], codes[:(n-1)*stride+all]
	masks, values = masks[:n], values[:PanelLanes*n]
	heads, rests, radii, offsets := t.pointers()
	// A scan without codes has empty slices.
	atoms, code := unsafe.SliceData(panel), unsafe.SliceData(codes)
	if kern == AVX2 {
		scanAVX2(atoms, ahead, head, width, code, stride, &queries[0].Head, n, heads, rests, radii, offsets, &masks[0], &values[0])
		return
	}
	fours := n &^ 3
	if fours > 0 {
		scanAVX512(atoms, ahead, head, width, code, stride, &queries[0].Head, fours/4, heads, rests, radii, offsets, &masks[0], &values[0])
	}
	if fours < n {
		code = unsafe.SliceData(codes[fours*stride:])
		scanOneAVX512(atoms, ahead, head, width, code, stride, &queries[fours].Head, n-fours, heads, rests, radii, offsets,
			&masks[fours], &values[PanelLanes*fours])
	}
}

// testSums tests a whole panel of sums.
func (kern Kernels) testSums(sums *int32, query, heads, rests, radii, offsets, values *float32) uint64 {
	if kern == AVX2 {
		return testAVX2(sums, query, heads, rests, radii, offsets, values)
	}
	return testAVX512(sums, query, heads, rests, radii, offsets, values)
}

// transposeRows transposes 16 rows of at least 16 codes.
func transposeRows(panel, rows *uint8, stride, width, ahead int) {
	transposeAVX2(panel, rows, stride, width, ahead)
}

// selectEights is Kernels.Select of n entries, a multiple of 8.
func selectEights(toIDs *uint32, toBounds *float32, ids *uint32, bounds *float32, n int, lo, hi float32) int {
	return selectAVX2(toIDs, toBounds, ids, bounds, n, lo, hi)
}

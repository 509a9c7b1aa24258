//go:build !noasm && !purego

package simd

import "unsafe"

func (kern Kernels) scan(w *ScanScratch, panel []uint8, ahead, head, width int, codes []int8, stride int, queries []ScanQuery,
	t *PanelTerms, masks []uint64, values []float32) {
	n, all := len(queries), head+width
	if kern == Generic || n == 0 {
		scanGeneric(w, panel, head, width, codes, stride, queries, t, masks, values)
		return
	}
	panel, codes = panel[:PanelLanes*all], codes[:(n-1)*stride+all]
	masks, values = masks[:n], values[:PanelLanes*n]
	heads, rests, radii, offsets := t.pointers()
	// A scan without codes has empty slices.
	atoms, q := unsafe.SliceData(panel), 0
	if n >= 8 {
		if words := all * PanelLanes / 8; len(w.words) < words {
			w.words = make([]int64, words)
		}
		keep := unsafe.SliceData(w.words)
		scanKeepingNEON(atoms, keep, ahead, head, width, unsafe.SliceData(codes), stride, &queries[0].Head, 1,
			heads, rests, radii, offsets, &masks[0], &values[0])
		if q = 8; n >= 16 {
			scanKeptNEON(keep, head, width, unsafe.SliceData(codes[q*stride:]), stride, &queries[q].Head, n/8-1,
				heads, rests, radii, offsets, &masks[q], &values[PanelLanes*q])
			q = n &^ 7
		}
	}
	if n-q >= 4 {
		scanFourNEON(atoms, ahead, head, width, unsafe.SliceData(codes[q*stride:]), stride, &queries[q].Head, 1,
			heads, rests, radii, offsets, &masks[q], &values[PanelLanes*q])
		q += 4
	}
	if q < n {
		scanOneNEON(atoms, ahead, head, width, unsafe.SliceData(codes[q*stride:]), stride, &queries[q].Head, n-q,
			heads, rests, radii, offsets, &masks[q], &values[PanelLanes*q])
	}
}

// testSums tests a whole panel of sums.
func (Kernels) testSums(sums *int32, query, heads, rests, radii, offsets, values *float32) uint64 {
	return testNEON(sums, query, heads, rests, radii, offsets, values)
}

// transposeRows transposes 16 rows of at least 16 codes.
func transposeRows(panel, rows *uint8, stride, width, ahead int) {
	transposeNEON(panel, rows, stride, width, ahead)
}

// selectEights is Kernels.Select of n entries, a multiple of 8.
func selectEights(toIDs *uint32, toBounds *float32, ids *uint32, bounds *float32, n int, lo, hi float32) int {
	return selectNEON(toIDs, toBounds, ids, bounds, n, lo, hi)
}

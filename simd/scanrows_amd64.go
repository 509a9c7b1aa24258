//go:build !noasm && !purego

package simd

const (
	// tileQueries is the number of queries that rowTilesAVX512 multiplies at a time.
	tileQueries = 4
	// tiledAhead is the distance in rows at which tiles prefetch.
	tiledAhead = 16
)

// tiledQueries is the greatest number of queries for which scanTiles is faster than a transposed panel.
func (kern Kernels) tiledQueries() int {
	if kern == AVX512 {
		return 28
	}
	return 0
}

// scanTiles is ScanRows of 64 rows and at least one code.
func (kern Kernels) scanTiles(w *ScanScratch, rows []uint8, stride, head, width int, codes []int8, codeStride int, queries []ScanQuery,
	t *PanelTerms, masks []uint64, values []float32) {
	n, all := len(queries), head+width
	codes = codes[:(n-1)*codeStride+all]
	groups := (n + tileQueries - 1) / tileQueries
	back := groups*tileQueries - n
	if n < tileQueries { // zeros, or the codes of an earlier call, stand for the missing queries
		if len(w.codes) < tileQueries*all {
			w.codes = make([]int8, tileQueries*all)
		}
		for q := range n {
			copy(w.codes[q*all:(q+1)*all], codes[q*codeStride:])
		}
		codes, codeStride, back = w.codes, all, 0
	}
	if len(w.sums) < groups*tileQueries*PanelLanes {
		w.sums = make([]RowSums8, groups*tileQueries*PanelLanes)
	}
	ahead := 0
	if len(rows) > PanelLanes*stride {
		ahead = tiledAhead * stride
	}
	rowTilesAVX512(&w.sums[0].Head, &rows[0], stride, &codes[0], codeStride, groups, back, head, all, ahead)
	heads, rests, radii, offsets := t.pointers()
	masks, values = masks[:n], values[:PanelLanes*n]
	for q := range queries {
		masks[q] = testAVX512(&w.sums[q*PanelLanes].Head, &queries[q].Head, heads, rests, radii, offsets, &values[PanelLanes*q])
	}
}

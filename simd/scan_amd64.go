//go:build !noasm && !purego

package simd

import "unsafe"

func (kern Kernels) scan(w *ScanScratch, panel []uint8, head, width int, codes []int8, stride int, queries []ScanQuery,
	t *PanelTerms, masks []uint64, values []float32) {
	n, all := len(queries), head+width
	if kern == Generic || n == 0 {
		scanGeneric(w, panel, head, width, codes, stride, queries, t, masks, values)
		return
	}
	ahead := fetchAhead(panel, all, n)
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

func (kern Kernels) test(sums []RowSums8, t *PanelTerms, q *ScanQuery, values []float32) uint64 {
	if kern == Generic {
		return testGeneric(sums, t, q, values)
	}
	n := len(sums)
	if n < PanelLanes {
		var whole [PanelLanes]RowSums8
		copy(whole[:], sums)
		sums = whole[:]
	}
	heads, rests, radii, offsets := t.pointers()
	_, values = sums[:PanelLanes], values[:PanelLanes]
	if kern == AVX2 {
		return testAVX2(&sums[0].Head, &q.Head, heads, rests, radii, offsets, &values[0]) & laneMask(n)
	}
	return testAVX512(&sums[0].Head, &q.Head, heads, rests, radii, offsets, &values[0]) & laneMask(n)
}

func (kern Kernels) transpose(panel []uint8, rows []uint8, stride, n, width int) {
	i := 0
	if kern != Generic && width >= 16 {
		panel = panel[:PanelLanes*width]
		for ; i+16 <= n; i += 16 {
			from, size := rows[i*stride:], 15*stride+width
			ahead := PanelLanes * stride
			if len(from) < ahead+size {
				ahead = 0
			}
			transposeAVX2(&panel[4*i], &from[:size][0], stride, width, ahead)
		}
	}
	transposeGeneric(panel, rows, stride, i, n, width)
}

func (kern Kernels) selects(toIDs []uint32, toBounds []float32, ids []uint32, bounds []float32, lo, hi float32) int {
	n, eights := 0, len(ids)&^7
	if kern != Generic && eights > 0 {
		n = selectAVX2(&toIDs[:eights][0], &toBounds[:eights][0], &ids[0], &bounds[:eights][0], eights, lo, hi)
		toIDs, toBounds, ids, bounds = toIDs[n:], toBounds[n:], ids[eights:], bounds[eights:]
	}
	return n + selectGeneric(toIDs, toBounds, ids, bounds, lo, hi)
}

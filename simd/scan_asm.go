//go:build (amd64 || arm64) && !noasm && !purego

package simd

// pointers returns the terms' first lanes; offsets is nil if there are none.
func (t *PanelTerms) pointers() (heads, rests, radii, offsets *float32) {
	if t.Offset != nil {
		offsets = &t.Offset[0]
	}
	return &t.Head[0], &t.Rest[0], &t.Radius[0], offsets
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
	return kern.testSums(&sums[0].Head, &q.Head, heads, rests, radii, offsets, &values[0]) & laneMask(n)
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
			transposeRows(&panel[4*i], &from[:size][0], stride, width, ahead)
		}
	}
	transposeGeneric(panel, rows, stride, i, n, width)
}

func (kern Kernels) selects(toIDs []uint32, toBounds []float32, ids []uint32, bounds []float32, lo, hi float32) int {
	n, eights := 0, len(ids)&^7
	if kern != Generic && eights > 0 {
		n = selectEights(&toIDs[:eights][0], &toBounds[:eights][0], &ids[0], &bounds[:eights][0], eights, lo, hi)
		toIDs, toBounds, ids, bounds = toIDs[n:], toBounds[n:], ids[eights:], bounds[eights:]
	}
	return n + selectGeneric(toIDs, toBounds, ids, bounds, lo, hi)
}

//go:build !noasm && !purego

package simd

// rowSums is rows with slices checked and distances of prefetching; no slice is empty.
func (kern Kernels) rowSums(out []RowSums, codes []uint8, stride int, ids []uint32, hi, lo []int8, head, end, near, far int) {
	if kern == AVX512 {
		rowSumsAVX512(&out[0].HeadHi, &codes[0], stride, &ids[0], len(ids), &hi[0], &lo[0], head, end, near, far)
		return
	}
	rowSumsAVX2(&out[0].HeadHi, &codes[0], stride, &ids[0], len(ids), &hi[0], &lo[0], head, end, near, far)
}

// rowSums8 is rows8 as rowSums is rows.
func (kern Kernels) rowSums8(out []RowSums8, codes []uint8, stride int, ids []uint32, q []int8, head, end, near, far int) {
	if kern == AVX512 {
		rowSums8AVX512(&out[0].Head, &codes[0], stride, &ids[0], len(ids), &q[0], head, end, near, far)
		return
	}
	rowSums8AVX2(&out[0].Head, &codes[0], stride, &ids[0], len(ids), &q[0], head, end, near, far)
}

//go:build !noasm && !purego

package simd

import "slices"

func (kern Kernels) rows(out []RowSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	end := head + width
	if kern == Generic || len(ids) == 0 || end == 0 {
		rowsGeneric(out, codes, stride, ids, head, width, q)
		return
	}
	out, hi, lo := out[:len(ids)], q.Hi[:end], q.Lo[:end]
	_ = codes[int(slices.Max(ids))*stride:][:end]
	near, far := rowsAhead(len(codes), end)
	rowSumsNEON(&out[0].HeadHi, &codes[0], stride, &ids[0], len(ids), &hi[0], &lo[0], head, end, near, far)
}

func (kern Kernels) rows8(out []RowSums8, codes []uint8, stride int, ids []uint32, head, width int, q []int8) {
	end := head + width
	if kern == Generic || len(ids) == 0 || end == 0 {
		rows8Generic(out, codes, stride, ids, head, width, q)
		return
	}
	out, q = out[:len(ids)], q[:end]
	_ = codes[int(slices.Max(ids))*stride:][:end]
	near, far := rowsAhead(len(codes), end)
	rowSums8NEON(&out[0].Head, &codes[0], stride, &ids[0], len(ids), &q[0], head, end, near, far)
}

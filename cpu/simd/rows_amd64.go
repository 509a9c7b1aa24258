//go:build !noasm && !purego

package simd

import "slices"

func (l Level) rows(out []RowSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	end := head + width
	if l == Generic || len(ids) == 0 || end == 0 {
		rowsGeneric(out, codes, stride, ids, head, width, q)
		return
	}
	out, hi, lo := out[:len(ids)], q.Hi[:end], q.Lo[:end]
	_ = codes[int(slices.Max(ids))*stride:][:end]
	near, far := rowsAhead(len(codes), end)
	if l == AVX512 {
		rowSumsAVX512(&out[0].HeadHi, &codes[0], stride, &ids[0], len(ids), &hi[0], &lo[0], head, end, near, far)
		return
	}
	rowSumsAVX2(&out[0].HeadHi, &codes[0], stride, &ids[0], len(ids), &hi[0], &lo[0], head, end, near, far)
}

func (l Level) rows8(out []RowSums8, codes []uint8, stride int, ids []uint32, head, width int, q []int8) {
	end := head + width
	if l == Generic || len(ids) == 0 || end == 0 {
		rows8Generic(out, codes, stride, ids, head, width, q)
		return
	}
	out, q = out[:len(ids)], q[:end]
	_ = codes[int(slices.Max(ids))*stride:][:end]
	near, far := rowsAhead(len(codes), end)
	if l == AVX512 {
		rowSums8AVX512(&out[0].Head, &codes[0], stride, &ids[0], len(ids), &q[0], head, end, near, far)
		return
	}
	rowSums8AVX2(&out[0].Head, &codes[0], stride, &ids[0], len(ids), &q[0], head, end, near, far)
}

// What is fetched ahead, in bytes of rows and in rows: the rate at which rows come
// from memory hardly changes from half of these to twice them.
const (
	nearBytes, fewestNear, mostNear = 10 << 10, 4, 12
	farBytes, fewestFar, mostFar    = 40 << 10, 8, 48
	// cachedCodes is the size up to which codes are taken to be in the second
	// cache, where fetching more than the next rows only takes time.
	cachedCodes = 1 << 20
)

// rowsAhead is how many rows ahead of those being summed rows of size codes are
// fetched to the first cache, and to the second.
func rowsAhead(codes, size int) (near, far int) {
	if codes <= cachedCodes {
		return fewestNear, 0
	}
	return min(max(nearBytes/size, fewestNear), mostNear), min(max(farBytes/size, fewestFar), mostFar)
}

//go:build (amd64 || arm64) && !noasm && !purego

package simd

import "slices"

// How far ahead rows are prefetched: a number of bytes, within limits in rows. On
// amd64, half or twice as much changes the rate of reading from memory hardly at all.
const (
	nearBytes, minNear, maxNear = 10 << 10, 4, 12
	farBytes, minFar, maxFar    = 40 << 10, 8, 48
	// cachedCodes is the size up to which codes are assumed to be in the level-2 cache,
	// where prefetching more than the next rows only costs time.
	cachedCodes = 1 << 20
)

// rowsAhead returns how many rows ahead of those being summed are prefetched to the
// level-1 and to the level-2 cache. codes is the bytes of all rows, size of one.
func rowsAhead(codes, size int) (near, far int) {
	if codes <= cachedCodes {
		return minNear, 0
	}
	return min(max(nearBytes/size, minNear), maxNear), min(max(farBytes/size, minFar), maxFar)
}

func (kern Kernels) rows(out []RowSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	end := head + width
	if kern == Generic || len(ids) == 0 || end == 0 {
		rowsGeneric(out, codes, stride, ids, head, width, q)
		return
	}
	_ = codes[int(slices.Max(ids))*stride:][:end]
	near, far := rowsAhead(len(codes), end)
	kern.rowSums(out[:len(ids)], codes, stride, ids, q.Hi[:end], q.Lo[:end], head, end, near, far)
}

func (kern Kernels) rows8(out []RowSums8, codes []uint8, stride int, ids []uint32, head, width int, q []int8) {
	end := head + width
	if kern == Generic || len(ids) == 0 || end == 0 {
		rows8Generic(out, codes, stride, ids, head, width, q)
		return
	}
	_ = codes[int(slices.Max(ids))*stride:][:end]
	near, far := rowsAhead(len(codes), end)
	kern.rowSums8(out[:len(ids)], codes, stride, ids, q[:end], head, end, near, far)
}

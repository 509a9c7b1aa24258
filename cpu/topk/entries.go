package topk

import (
	"math"

	"thresher/simd"
)

// Grow returns s with length n; its content is undefined.
func Grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Entries are arms with their least upper bounds so far, in the query's scaled units, in
// ascending order of internal indexes.
type Entries struct {
	IDs    []uint32
	Bounds []float32
}

// manyEntries is the capacity from which entries grow by a quarter, as batch.Footprint expects; below they double.
const manyEntries = 1 << 14

// Reserve grows the capacity to n more entries, and overrun.
func (s *Entries) Reserve(n int) {
	n += len(s.IDs) + Overrun
	if min(cap(s.IDs), cap(s.Bounds)) >= n {
		return
	}
	more := cap(s.IDs)
	if more >= manyEntries {
		more /= 4
	}
	n = max(n, cap(s.IDs)+more)
	ids, bounds := make([]uint32, len(s.IDs), n), make([]float32, len(s.IDs), n)
	copy(ids, s.IDs)
	copy(bounds, s.Bounds)
	s.IDs, s.Bounds = ids, bounds
}

// Overrun is how many entries kernels may write beyond the end of their output.
const Overrun = 64

// Truncate drops the entries from n on.
func (s *Entries) Truncate(n int) { s.IDs, s.Bounds = s.IDs[:n], s.Bounds[:n] }

// AppendSelected appends the entries of from with lo <= bound < hi.
func (s *Entries) AppendSelected(kern simd.Kernels, from Entries, lo, hi float32) {
	s.Reserve(len(from.IDs))
	n := len(s.IDs)
	all := n + len(from.IDs) + Overrun
	s.Truncate(n + kern.Select(s.IDs[n:all], s.Bounds[n:all], from.IDs, from.Bounds, lo, hi))
}

// Append appends all entries of more.
func (s *Entries) Append(more Entries) {
	s.Reserve(len(more.IDs))
	s.IDs, s.Bounds = append(s.IDs, more.IDs...), append(s.Bounds, more.Bounds...)
}

// DropFirst drops the first n entries.
func (s *Entries) DropFirst(n int) {
	copy(s.Bounds, s.Bounds[n:])
	s.Truncate(copy(s.IDs, s.IDs[n:]))
}

// DropBelow drops the entries whose bound is below least.
func (s *Entries) DropBelow(kern simd.Kernels, least float32) {
	s.Truncate(kern.Select(s.IDs, s.Bounds, s.IDs, s.Bounds, least, float32(math.Inf(1))))
}

// DropTies drops the entries of bound tie but the first of them that together with those of greater bound, which
// are at least as good, are k. No bound is less.
func (s *Entries) DropTies(kern simd.Kernels, tie float32, k int) {
	if len(s.IDs) <= k {
		return
	}
	above := math.Nextafter32(tie, float32(math.Inf(1)))
	var counts [simd.Pivots]int32
	var pivots [simd.Pivots]float32
	for i := range pivots {
		pivots[i] = above
	}
	kern.CountFrom(&counts, s.Bounds, &pivots)
	room, end := k-int(counts[0]), 0 // ties that stay, and where the last of them ends
	for ; room > 0 && end < len(s.Bounds); end++ {
		if s.Bounds[end] == tie {
			room--
		}
	}
	s.Truncate(end + kern.Select(s.IDs[end:], s.Bounds[end:], s.IDs[end:], s.Bounds[end:], above, float32(math.Inf(1))))
}

package cpu

import (
	"math"

	"thresher/backend"
	"thresher/collection"
	"thresher/simd"
)

// scratch is the memory of one goroutine. Slices grow as needed and are reused; their
// contents are undefined between uses.
type scratch struct {
	unchecked int // pairs computed since the last check of the context (spend)

	prepare collection.PrepareScratch
	scales  []float64
	queries []collection.Query

	scan      simd.ScanScratch
	codes     []int8  // 8-bit codes of the queries of a scan
	liveCodes []int8  // those of the queries that have not ended it, contiguous
	codes16   []int16 // codes of one query
	tests     []simd.ScanQuery
	lanes     simd.PanelTerms
	masks     []uint64
	slacks    []float32 // bound of the rounding in a strip, for each query
	taus      []float64 // thresholds that the scan of panels compares with, for each query
	values    []float32
	passed    chunkLists
	hidden    []uint64 // bits of the hidden atoms of a chunk

	selected   survivors // part of a list
	eligible   survivors // the arms of a chunk whose estimates are at most the ceiling
	candidates survivors
	sums       rowSums
	estimates  []float64       // of the arms of a later look
	uppers     []float64       // their upper bounds
	sums8      []simd.RowSums8 // of the rows of a strip
	sorting    sorting
	fetchSink  float32 // stores the result of fetchSides, so that the compiler keeps its reads

	scores []float64
	lowers []float64 // lower bounds that raise a threshold together
	ids    []uint32
	order  backend.IndexSorter
	rows   rowLists
	dense  denseScratch
}

// grow returns s with length n; its content is undefined.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// survivors are arms with their least upper bounds so far, in the query's scaled units, in
// ascending order of internal indexes.
type survivors struct {
	ids    []uint32
	bounds []float32
}

// reserve grows the capacity to n more entries, and overrun.
func (s *survivors) reserve(n int) {
	n += len(s.ids) + overrun
	if min(cap(s.ids), cap(s.bounds)) >= n {
		return
	}
	n = max(n, 2*cap(s.ids))
	ids, bounds := make([]uint32, len(s.ids), n), make([]float32, len(s.ids), n)
	copy(ids, s.ids)
	copy(bounds, s.bounds)
	s.ids, s.bounds = ids, bounds
}

// overrun is how many entries kernels may write beyond the end of their output.
const overrun = 64

// truncate drops the entries from n on.
func (s *survivors) truncate(n int) { s.ids, s.bounds = s.ids[:n], s.bounds[:n] }

// appendSelected appends the entries of from with lo <= bound < hi.
func (s *survivors) appendSelected(kern simd.Kernels, from survivors, lo, hi float32) {
	s.reserve(len(from.ids))
	n := len(s.ids)
	all := n + len(from.ids) + overrun
	s.truncate(n + kern.Select(s.ids[n:all], s.bounds[n:all], from.ids, from.bounds, lo, hi))
}

// dropFirst drops the first n entries.
func (s *survivors) dropFirst(n int) {
	copy(s.bounds, s.bounds[n:])
	s.truncate(copy(s.ids, s.ids[n:]))
}

// dropBelow drops the entries whose bound is below least.
func (s *survivors) dropBelow(kern simd.Kernels, least float32) {
	s.truncate(kern.Select(s.ids, s.bounds, s.ids, s.bounds, least, float32(math.Inf(1))))
}

// dropTies drops the entries of bound tie but the first of them that together with those of greater bound, which
// are at least as good, are k. No bound is less.
func (s *survivors) dropTies(kern simd.Kernels, tie float32, k int) {
	if len(s.ids) <= k {
		return
	}
	above := math.Nextafter32(tie, float32(math.Inf(1)))
	var counts [simd.Pivots]int32
	var pivots [simd.Pivots]float32
	for i := range pivots {
		pivots[i] = above
	}
	kern.CountFrom(&counts, s.bounds, &pivots)
	room, end := k-int(counts[0]), 0 // ties that stay, and where the last of them ends
	for ; room > 0 && end < len(s.bounds); end++ {
		if s.bounds[end] == tie {
			room--
		}
	}
	s.truncate(end + kern.Select(s.ids[end:], s.bounds[end:], s.ids[end:], s.bounds[end:], above, float32(math.Inf(1))))
}

// chunkLists hold for each query the arms of a chunk that passed the look. Lists of
// consecutive queries begin stride entries apart.
type chunkLists struct {
	ids    []uint32
	bounds []float32
	counts []int32
	stride int
}

// reset empties the lists and reserves entries for the given number of atoms for each query.
func (h *chunkLists) reset(queries, atoms int) {
	h.stride = atoms + overrun
	h.ids, h.bounds = grow(h.ids, queries*h.stride), grow(h.bounds, queries*h.stride)
	h.counts = grow(h.counts, queries)
	clear(h.counts)
}

// list returns the list of query k; h owns it.
func (h *chunkLists) list(k int) survivors {
	lo, hi := k*h.stride, k*h.stride+int(h.counts[k])
	return survivors{h.ids[lo:hi:hi], h.bounds[lo:hi:hi]}
}

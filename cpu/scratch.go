package cpu

import (
	"thresher/collection"
	"thresher/simd"
)

// scratch is one goroutine's memory. Slices grow to what a job needs and are kept.
type scratch struct {
	prepare collection.PrepareScratch
	scales  []float64
	norms   []float64 // of queries
	queries []collection.Query

	scan   simd.ScanScratch
	codes  []int8 // of a block of queries for the scan
	live   []int8 // the codes of the queries still being scanned
	small  []int16
	panel  []uint8 // rows of a panel, transposed
	tests  []simd.ScanQuery
	lanes  simd.PanelTerms
	masks  []uint64
	slacks []float32 // roundings of a strip, per query
	values []float32
	hits   hits // of a chunk

	picked  survivors // chosen from a list
	hot     survivors
	sums    []simd.RowSums
	signs   []simd.SignSums
	sums8   []simd.RowSums8 // of a strip
	top     top
	fetched float32 // keeps the compiler from removing the reads of fetch

	scores []float64
	ids    []uint32
	dense  denseScratch
}

// grow returns s with length n; its content is undefined.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// survivors are arms with their least upper bounds so far, in the query's scaled units, by
// ascending internal index.
type survivors struct {
	ids    []uint32
	bounds []float32
}

// room makes room for n more entries, plus as many as kernels may overrun.
func (s *survivors) room(n int) {
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

// overrun is how many entries kernels may write beyond theirs.
const overrun = 64

// cut drops the entries from n on.
func (s *survivors) cut(n int) { s.ids, s.bounds = s.ids[:n], s.bounds[:n] }

// choose appends the entries of from with lo <= bound < hi.
func (s *survivors) choose(k simd.Kernels, from survivors, lo, hi float32) {
	s.room(len(from.ids))
	n := len(s.ids)
	all := n + len(from.ids) + overrun
	s.cut(n + k.Select(s.ids[n:all], s.bounds[n:all], from.ids, from.bounds, lo, hi))
}

// hits are the arms that passed in a chunk, by query, stride entries apart.
type hits struct {
	ids    []uint32
	bounds []float32
	counts []int32
	stride int
}

// reset makes room for the given number of atoms for each query.
func (h *hits) reset(queries, atoms int) {
	h.stride = atoms + overrun
	h.ids, h.bounds = grow(h.ids, queries*h.stride), grow(h.bounds, queries*h.stride)
	h.counts = grow(h.counts, queries)
	clear(h.counts)
}

// of returns the hits of query k; the scratch owns them.
func (h *hits) of(k int) survivors {
	lo, hi := k*h.stride, k*h.stride+int(h.counts[k])
	return survivors{h.ids[lo:hi:hi], h.bounds[lo:hi:hi]}
}

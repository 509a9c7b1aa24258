package scan

import (
	"thresher/cpu/topk"
)

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
	h.stride = atoms + topk.Overrun
	h.ids, h.bounds = topk.Grow(h.ids, queries*h.stride), topk.Grow(h.bounds, queries*h.stride)
	h.counts = topk.Grow(h.counts, queries)
	clear(h.counts)
}

// list returns the list of query k; h owns it.
func (h *chunkLists) list(k int) topk.Entries {
	lo, hi := k*h.stride, k*h.stride+int(h.counts[k])
	return topk.Entries{IDs: h.ids[lo:hi:hi], Bounds: h.bounds[lo:hi:hi]}
}

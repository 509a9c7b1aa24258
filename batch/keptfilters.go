package batch

import (
	"hash/maphash"
	"slices"
	"sync"
	"unsafe"

	"thresher/backend"
)

const (
	// filtersKept is how many filters an engine keeps, those that were asked for last.
	filtersKept = 4
	// filtersSeen is how many filters an engine remembers by their digests, to keep those that come again.
	filtersSeen = 16
	// keptFilterPart: a filter that is kept takes at most 1/keptFilterPart of the bytes of the collection.
	keptFilterPart = 64
)

// keptFilters are filters of requests that came more than once, with all that searches have made of them: requests of
// one user, language or permission have the same rows again and again, as lists or masks of their own. Its zero value is
// ready, and it is safe for concurrent use.
type keptFilters struct {
	mu    sync.Mutex
	kept  []*backend.Filter // the last one first
	seen  []uint64          // digests, the last one at next-1
	next  int
	seed  maphash.Seed
	spare []uint64 // memory of bitmap
}

// bitmap returns words of zeros, for of.
func (k *keptFilters) bitmap(words int) []uint64 {
	k.mu.Lock()
	b := k.spare
	k.spare = nil
	k.mu.Unlock()
	if len(b) != words {
		return make([]uint64, words)
	}
	clear(b)
	return b
}

// of returns the filter of a bitmap by row numbers, which it takes over.
func (k *keptFilters) of(e *Engine, b []uint64) *backend.Filter {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, f := range k.kept {
		if slices.Equal(f.RowBits(), b) {
			copy(k.kept[1:i+1], k.kept[:i])
			k.kept[0], k.spare = f, b
			return f
		}
	}
	f := backend.RowFilter(e.c.Order, e.inverse, b)
	if f.MaxSize(e.gatheredBytes()) > e.c.Bytes()/keptFilterPart {
		return f
	}
	if k.seen == nil {
		k.seed, k.seen = maphash.MakeSeed(), make([]uint64, 0, filtersSeen)
	}
	digest := maphash.Bytes(k.seed, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b))), 8*len(b)))
	switch {
	case slices.Contains(k.seen, digest):
		f.Reuse()
		k.kept = slices.Insert(k.kept[:min(len(k.kept), filtersKept-1)], 0, f)
	case len(k.seen) < filtersSeen:
		k.seen = append(k.seen, digest)
	default:
		k.seen[k.next] = digest
		k.next = (k.next + 1) % filtersSeen
	}
	return f
}

// gatheredBytes bounds the bytes of a copy of an atom's codes and terms that first looks read.
func (e *Engine) gatheredBytes() int {
	const terms, perPanel = 4 * 4, 2 // of them, panels are filled by more than half
	return perPanel * (e.c.R + e.c.D + terms)
}

// size bounds the bytes of the filters that are kept.
func (k *keptFilters) size(atomBytes int) (all int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.kept {
		all += f.MaxSize(atomBytes)
	}
	return all
}

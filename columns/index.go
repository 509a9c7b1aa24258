package columns

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// key is what values of columns are compared by: integers, times and bools; floats; the numbers of texts in a
// dictionary that is sorted.
type key interface{ int64 | uint32 | float64 }

// span is the keys from lo to hi, both of which belong to it.
type span[K key] struct{ lo, hi K }

// ordered are the keys of the values of a column, by which rows are found. It is safe for concurrent use.
type ordered[K key] struct {
	keys  []K
	owner []uint32        // the row of each key, ascending; nil if key i is of row i
	rows  int             // of the column
	valid *roaring.Bitmap // rows with a key; others have any key in keys, if owner is nil

	mu    sync.Mutex
	scans int      // that were made before there was an index
	index []uint32 // positions in keys that are valid, by ascending key
}

// scansBeforeIndex is how often all keys are read before they are sorted, which takes some thirty times as long: an
// expression that is used once never pays for that.
const scansBeforeIndex = 16

// within returns the rows that have a key in one of the spans, which are disjoint and ascend. The bitmap is the
// caller's.
func (o *ordered[K]) within(spans []span[K]) *roaring.Bitmap {
	if len(spans) == 0 {
		return roaring.New()
	}
	if index := o.sorted(); index != nil {
		return o.lookUp(index, spans)
	}
	return o.scan(spans)
}

// sorted returns the index, nil while it does not pay.
func (o *ordered[K]) sorted() []uint32 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.index == nil {
		if o.scans++; o.scans <= scansBeforeIndex {
			return nil
		}
		o.index = o.sort()
	}
	return o.index
}

// scan reads all keys.
func (o *ordered[K]) scan(spans []span[K]) *roaring.Bitmap {
	bits := make([]uint64, (o.rows+63)/64)
	if o.owner != nil {
		for i, k := range o.keys {
			if inside(spans, k) {
				row := o.owner[i]
				bits[row/64] |= 1 << (row % 64)
			}
		}
		return roaring.FromDense(bits, false)
	}
	if len(spans) == 1 {
		for word := range bits {
			bits[word] = spans[0].mask(o.keys[word*64 : min(word*64+64, o.rows)])
		}
	} else {
		for i, k := range o.keys {
			if inside(spans, k) {
				bits[i/64] |= 1 << (i % 64)
			}
		}
	}
	found := roaring.FromDense(bits, false)
	found.And(o.valid)
	return found
}

// mask returns a bit for each of at most 64 keys, without branches that depend on them.
func (s span[K]) mask(keys []K) (bits uint64) {
	for i, k := range keys {
		bit := uint64(0)
		if k >= s.lo {
			bit = 1
		}
		below := uint64(0)
		if k <= s.hi {
			below = 1
		}
		bits |= (bit & below) << i
	}
	return bits
}

// inside reports whether a key is in one of the spans.
func inside[K key](spans []span[K], k K) bool {
	at := sort.Search(len(spans), func(i int) bool { return spans[i].hi >= k })
	return at < len(spans) && spans[at].lo <= k
}

// sparse is the share of the rows, as its inverse, below which rows that are found are sorted rather than set as bits.
const sparse = 256

// lookUp finds the rows of the spans by binary search, and reads no others. Of most of the rows it reads the others.
func (o *ordered[K]) lookUp(index []uint32, spans []span[K]) *roaring.Bitmap {
	var runs, gaps [][]uint32
	count, next := 0, 0
	for _, s := range spans {
		from := sort.Search(len(index), func(i int) bool { return o.keys[index[i]] >= s.lo })
		to := sort.Search(len(index), func(i int) bool { return o.keys[index[i]] > s.hi })
		if from < to {
			runs, gaps = append(runs, index[from:to]), append(gaps, index[next:from])
			count += to - from
			next = to
		}
	}
	if o.owner == nil && 2*count > len(index) {
		return roaring.AndNot(o.valid, o.rowsOf(append(gaps, index[next:]), len(index)-count))
	}
	return o.rowsOf(runs, count)
}

// rowsOf returns the rows of count positions.
func (o *ordered[K]) rowsOf(runs [][]uint32, count int) *roaring.Bitmap {
	if count > o.rows/sparse {
		bits := make([]uint64, (o.rows+63)/64)
		for _, run := range runs {
			for _, at := range run {
				row := o.row(at)
				bits[row/64] |= 1 << (row % 64)
			}
		}
		return roaring.FromDense(bits, false)
	}
	rows := make([]uint32, 0, count)
	for _, run := range runs {
		for _, at := range run {
			rows = append(rows, o.row(at))
		}
	}
	slices.Sort(rows)
	found := roaring.New()
	found.AddMany(rows)
	return found
}

// row returns the row of a position in keys.
func (o *ordered[K]) row(at uint32) uint32 {
	if o.owner != nil {
		return o.owner[at]
	}
	return at
}

// merged sorts spans and joins those that overlap.
func merged[K key](spans []span[K]) []span[K] {
	slices.SortFunc(spans, func(a, b span[K]) int { return cmp.Compare(a.lo, b.lo) })
	joined := spans[:0]
	for _, s := range spans {
		if last := len(joined) - 1; last >= 0 && s.lo <= joined[last].hi {
			joined[last].hi = max(joined[last].hi, s.hi)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

package cpu

import (
	"slices"

	"thresher/bandit"
)

// scored is an atom with its exact search score, in the query's scaled units.
type scored struct {
	score float64
	row   uint32
}

// ranksBefore is the order of answers: score descending, row number ascending.
func ranksBefore(a, b scored) bool { return a.score > b.score || a.score == b.score && a.row < b.row }

// heapMost is the greatest k for which a heap is the fastest structure of the k best.
const heapMost = 1024

// top holds the k best scored atoms pushed, or all if k is 0. The first k are in any order. When
// one of them is replaced, they become a heap, whose root is the worst of them, or for k above
// heapMost buckets.
type top struct {
	k       int
	entries []scored
	ranked  bool   // there are k > 0 entries, and least is the worst of them
	least   scored // the k-th best
	ordered bool   // the entries are a heap, or in buckets
	buckets buckets
}

// reset empties t, for the k best of what is pushed from now on; all for k = 0.
func (t *top) reset(k int) {
	t.unrank()
	t.k, t.entries = k, t.entries[:0]
	if k > heapMost && cap(t.entries) < k {
		t.entries = nil
	}
}

// unrank forgets which entry is the worst.
func (t *top) unrank() { t.ranked, t.ordered = false, false }

// len is how many of the atoms pushed are kept.
func (t *top) len() int { return len(t.entries) }

func (t *top) push(x scored) {
	if !t.ranked || ranksBefore(x, t.least) {
		t.add(x)
	}
}

// add is push of an atom that ranks before the k-th best, if that is known.
func (t *top) add(x scored) {
	if t.k > 0 && len(t.entries) == t.k {
		if !t.ranked {
			t.rank()
		}
		if ranksBefore(x, t.least) {
			t.replaceWorst(x)
		}
		return
	}
	if t.k > heapMost && t.entries == nil {
		t.entries = make([]scored, 0, t.k)
	}
	t.entries = append(t.entries, x)
}

// append is push without a choice of the k best, which dropWorse makes.
func (t *top) append(x scored) { t.entries = append(t.entries, x) }

// dropWorse drops all entries but the k best, after append.
func (t *top) dropWorse(w *sorting) {
	t.unrank()
	if t.k > 0 && len(t.entries) > t.k {
		w.sort(t.entries)
		t.entries = t.entries[:t.k]
		t.ranked, t.least = true, t.entries[t.k-1]
	}
}

// rank finds the worst of k entries.
func (t *top) rank() {
	t.ranked, t.least = true, t.entries[0]
	for _, x := range t.entries[1:] {
		if ranksBefore(t.least, x) {
			t.least = x
		}
	}
}

// replaceWorst replaces the worst of k entries by x, which ranks before it.
func (t *top) replaceWorst(x scored) {
	if !t.ordered {
		t.order()
	}
	if t.k > heapMost {
		t.least = t.buckets.replaceWorst(t.entries, x)
		return
	}
	t.entries[0] = x
	sink(t.entries, 0)
	t.least = t.entries[0]
}

// order makes a heap or buckets of k entries.
func (t *top) order() {
	t.ordered = true
	if t.k > heapMost {
		t.buckets.divide(t.entries)
		return
	}
	for i := len(t.entries)/2 - 1; i >= 0; i-- {
		sink(t.entries, i)
	}
}

// sink restores the heap h below i, whose entry may rank before others there.
func sink(h []scored, i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && ranksBefore(h[c], h[c+1]) {
			c++
		}
		if !ranksBefore(h[i], h[c]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// full reports whether k > 0 and there are k.
func (t *top) full() bool { return t.k > 0 && len(t.entries) == t.k }

// worst returns the k-th best. t must be full.
func (t *top) worst() scored {
	if !t.ranked {
		t.rank()
	}
	return t.least
}

// better returns how many of the k best score more than the k-th. t must be full.
func (t *top) better() (n int) {
	worst := t.worst().score
	for _, x := range t.entries {
		if x.score > worst {
			n++
		}
	}
	return n
}

// take pushes all of list. It may keep the slice, which the caller gives up.
func (t *top) take(list []scored) {
	if len(t.entries) == 0 && (t.k == 0 || len(list) <= t.k) {
		t.unrank()
		t.entries = list
		return
	}
	for _, x := range list {
		t.push(x)
	}
}

// release empties t and returns what it held, in any order, in a slice that the caller owns.
func (t *top) release() []scored {
	all := t.entries
	t.entries = nil
	t.unrank()
	return all
}

// sorted sorts the entries in place, best first, and returns them. Nothing can be pushed
// afterwards.
func (t *top) sorted(w *sorting) []scored {
	t.unrank()
	w.sort(t.entries)
	return t.entries
}

// topFloats holds the k > 0 greatest numbers pushed. Up to heapMost they are in any order until one
// of them is replaced by a push, which makes them a heap, whose root is the least of them; beyond that they
// are the scores of many.
type topFloats struct {
	k      int
	kept   []float64
	lowest float64 // the least of k, if known
	known  bool
	heap   bool // kept is a heap
	many   top
}

// reset empties t, for the k > 0 greatest of what is pushed from now on.
func (t *topFloats) reset(k int) {
	t.k, t.kept, t.known, t.heap = k, t.kept[:0], false, false
	t.many.reset(k)
}

// len is how many of the numbers pushed are kept.
func (t *topFloats) len() int { return max(len(t.kept), t.many.len()) }

func (t *topFloats) push(x float64) {
	switch {
	case t.k > heapMost:
		t.many.push(scored{score: x})
	case len(t.kept) < t.k:
		t.kept = append(t.kept, x)
	case t.takes(x):
		t.order()
		t.kept[0] = x
		lift(t.kept, 0)
		t.lowest = t.kept[0]
	}
}

// order makes a heap of k numbers.
func (t *topFloats) order() {
	if !t.heap {
		for i := len(t.kept)/2 - 1; i >= 0; i-- {
			lift(t.kept, i)
		}
		t.heap, t.known, t.lowest = true, true, t.kept[0]
	}
}

// manyPushed is the share of k from which numbers are selected together instead of pushed one by one.
const manyPushed = 8

// pushAll pushes all of list; memory is for as many and k more.
func (t *topFloats) pushAll(list []float64, memory *[]float64) {
	if t.k > heapMost || len(list)*manyPushed < t.k {
		for _, x := range list {
			t.push(x)
		}
		return
	}
	h := t.kept
	t.heap = false
	if len(h)+len(list) <= t.k {
		t.kept = append(h, list...)
		return
	}
	*memory = append(append((*memory)[:0], h...), list...)
	least := bandit.KthLargest(*memory, t.k)
	n := 0
	for _, x := range h {
		if x > least {
			h[n] = x
			n++
		}
	}
	h = h[:n]
	for _, x := range list {
		if x > least {
			h = append(h, x)
		}
	}
	for len(h) < t.k {
		h = append(h, least)
	}
	t.kept, t.lowest, t.known = h, least, true
}

// lift restores the heap h below i, whose number may be greater than others there.
func lift(h []float64, i int) {
	x := h[i]
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		least := h[c]
		if c+1 < len(h) && h[c+1] < least {
			c++
			least = h[c]
		}
		if least >= x {
			break
		}
		h[i] = least
		i = c
	}
	h[i] = x
}

// takes reports whether x would be one of the k greatest.
func (t *topFloats) takes(x float64) bool { return !t.full() || x > t.least() }

// full reports whether there are k.
func (t *topFloats) full() bool { return t.len() == t.k }

// least returns the k-th greatest. t must be full.
func (t *topFloats) least() float64 {
	if t.k > heapMost {
		return t.many.worst().score
	}
	if !t.known {
		t.lowest, t.known = slices.Min(t.kept), true
	}
	return t.lowest
}

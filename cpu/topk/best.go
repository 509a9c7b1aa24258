package topk

// Scored is an atom with its exact search score, in the query's scaled units.
type Scored struct {
	Score float64
	Row   uint32
}

// ranksBefore is the order of answers: score descending, row number ascending.
func ranksBefore(a, b Scored) bool { return a.Score > b.Score || a.Score == b.Score && a.Row < b.Row }

// maxHeap is the greatest k for which a heap is the fastest structure of the k best.
const maxHeap = 1024

// Best holds the k best scored atoms pushed, or all if k is 0. The first k are in any order. When
// one of them is replaced, they become a heap, whose root is the worst of them, or for k above
// maxHeap buckets.
type Best struct {
	k       int
	entries []Scored
	ranked  bool   // there are k > 0 entries, and least is the worst of them
	least   Scored // the k-th best
	ordered bool   // the entries are a heap, or in buckets
	buckets buckets
	sorted  int // so many entries, if there are no others, are best first
}

// Reset empties t, for the k best of what is pushed from now on; all for k = 0.
func (t *Best) Reset(k int) {
	t.unrank()
	t.k, t.entries = k, t.entries[:0]
	if k > maxHeap && cap(t.entries) < k {
		t.entries = nil
	}
}

// unrank forgets which entry is the worst.
func (t *Best) unrank() { t.ranked, t.ordered, t.sorted = false, false, 0 }

// All returns the atoms kept, in any order; t owns the slice.
func (t *Best) All() []Scored { return t.entries }

// Len is how many of the atoms pushed are kept.
func (t *Best) Len() int { return len(t.entries) }

func (t *Best) Push(x Scored) {
	if !t.ranked || ranksBefore(x, t.least) {
		t.add(x)
	}
}

// add is push of an atom that ranks before the k-th best, if that is known.
func (t *Best) add(x Scored) {
	if t.k > 0 && len(t.entries) == t.k {
		if !t.ranked {
			t.rank()
		}
		if ranksBefore(x, t.least) {
			t.replaceWorst(x)
		}
		return
	}
	if t.k > maxHeap && t.entries == nil {
		t.entries = make([]Scored, 0, t.k)
	}
	t.entries = append(t.entries, x)
}

// Append is push without a choice of the k best, which DropWorse makes.
func (t *Best) Append(x Scored) { t.entries = append(t.entries, x) }

// DropWorse drops all entries but the k best, after append.
func (t *Best) DropWorse(w *Sorter) {
	before := t.sorted
	t.unrank()
	if t.k > 0 && len(t.entries) > t.k {
		if before == t.k {
			w.merge(t.entries, before)
		} else {
			w.Sort(t.entries)
		}
		t.entries = t.entries[:t.k]
		t.ranked, t.least, t.sorted = true, t.entries[t.k-1], t.k
	}
}

// rank finds the worst of k entries.
func (t *Best) rank() {
	t.ranked, t.least = true, t.entries[0]
	for _, x := range t.entries[1:] {
		if ranksBefore(t.least, x) {
			t.least = x
		}
	}
}

// replaceWorst replaces the worst of k entries by x, which ranks before it.
func (t *Best) replaceWorst(x Scored) {
	t.sorted = 0
	if !t.ordered {
		t.order()
	}
	if t.k > maxHeap {
		t.least = t.buckets.replaceWorst(t.entries, x)
		return
	}
	t.entries[0] = x
	sink(t.entries, 0)
	t.least = t.entries[0]
}

// order makes a heap or buckets of k entries.
func (t *Best) order() {
	t.ordered = true
	if t.k > maxHeap {
		t.buckets.divide(t.entries)
		return
	}
	for i := len(t.entries)/2 - 1; i >= 0; i-- {
		sink(t.entries, i)
	}
}

// sink restores the heap h below i, whose entry may rank before others there.
func sink(h []Scored, i int) {
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

// Full reports whether k > 0 and there are k.
func (t *Best) Full() bool { return t.k > 0 && len(t.entries) == t.k }

// Worst returns the k-th best. t must be full.
func (t *Best) Worst() Scored {
	if !t.ranked {
		t.rank()
	}
	return t.least
}

// Better returns how many of the k best score more than the k-th. t must be full.
func (t *Best) Better() (n int) {
	worst := t.Worst().Score
	for _, x := range t.entries {
		if x.Score > worst {
			n++
		}
	}
	return n
}

// Take pushes all of list. It may keep the slice, which the caller gives up.
func (t *Best) Take(list []Scored) {
	if len(t.entries) == 0 && (t.k == 0 || len(list) <= t.k) {
		t.unrank()
		t.entries = list
		return
	}
	for _, x := range list {
		t.Push(x)
	}
}

// Release empties t and returns what it held, in any order, in a slice that the caller owns.
func (t *Best) Release() []Scored {
	all := t.entries
	t.entries = nil
	t.unrank()
	return all
}

// Sorted sorts the entries in place, best first, and returns them. Nothing can be pushed
// afterwards.
func (t *Best) Sorted(w *Sorter) []Scored {
	if t.sorted < len(t.entries) {
		w.Sort(t.entries)
	}
	t.unrank()
	return t.entries
}

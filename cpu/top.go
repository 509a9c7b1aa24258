package cpu

import "slices"

// scored is an atom with its exact search score, in the query's scaled units.
type scored struct {
	score float64
	row   uint32
}

// ranksBefore is the order of answers: score descending, row number ascending.
func ranksBefore(a, b scored) bool { return a.score > b.score || a.score == b.score && a.row < b.row }

// top is a heap of the k best scored atoms pushed, or of all if k is 0. Its root is the worst
// of them, if k > 0.
type top struct {
	k       int
	entries []scored
}

// reset empties t, for the k best of what is pushed from now on; all for k = 0.
func (t *top) reset(k int) { t.k, t.entries = k, t.entries[:0] }

// len is how many of the atoms pushed are kept.
func (t *top) len() int { return len(t.entries) }

func (t *top) push(x scored) {
	if t.k == 0 || len(t.entries) < t.k {
		t.entries = append(t.entries, x)
		if t.k == 0 {
			return
		}
		for i := len(t.entries) - 1; i > 0; {
			p := (i - 1) / 2
			if ranksBefore(t.entries[i], t.entries[p]) {
				break
			}
			t.entries[i], t.entries[p] = t.entries[p], t.entries[i]
			i = p
		}
		return
	}
	h := t.entries
	if !ranksBefore(x, h[0]) {
		return
	}
	h[0] = x
	for i := 0; ; {
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
func (t *top) worst() scored { return t.entries[0] }

// sorted sorts the entries in place, best first, and returns it. Nothing can be pushed afterwards.
func (t *top) sorted() []scored {
	slices.SortFunc(t.entries, func(a, b scored) int {
		if ranksBefore(a, b) {
			return -1
		}
		if ranksBefore(b, a) {
			return 1
		}
		return 0
	})
	return t.entries
}

// topFloats is a heap of the k > 0 greatest numbers pushed. Its root is the least of them.
type topFloats struct {
	k    int
	heap []float64
}

// reset empties t, for the k > 0 greatest of what is pushed from now on.
func (t *topFloats) reset(k int) { t.k, t.heap = k, t.heap[:0] }

// len is how many of the numbers pushed are kept.
func (t *topFloats) len() int { return len(t.heap) }

func (t *topFloats) push(x float64) {
	h := t.heap
	if len(h) < t.k {
		h = append(h, x)
		for i := len(h) - 1; i > 0; {
			p := (i - 1) / 2
			if h[p] <= h[i] {
				break
			}
			h[p], h[i] = h[i], h[p]
			i = p
		}
		t.heap = h
		return
	}
	if x <= h[0] {
		return
	}
	i := 0
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

// full reports whether there are k.
func (t *topFloats) full() bool { return len(t.heap) == t.k }

// least returns the k-th greatest. t must be full.
func (t *topFloats) least() float64 { return t.heap[0] }

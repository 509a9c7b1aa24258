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
	k    int
	heap []scored
}

func (t *top) push(x scored) {
	if t.k == 0 || len(t.heap) < t.k {
		t.heap = append(t.heap, x)
		if t.k == 0 {
			return
		}
		for i := len(t.heap) - 1; i > 0; {
			p := (i - 1) / 2
			if ranksBefore(t.heap[i], t.heap[p]) {
				break
			}
			t.heap[i], t.heap[p] = t.heap[p], t.heap[i]
			i = p
		}
		return
	}
	h := t.heap
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

// full reports whether k > 0 and there are k; the root is then the k-th best.
func (t *top) full() bool { return t.k > 0 && len(t.heap) == t.k }

// sorted sorts the heap in place, best first, and returns it. Nothing can be pushed afterwards.
func (t *top) sorted() []scored {
	slices.SortFunc(t.heap, func(a, b scored) int {
		if ranksBefore(a, b) {
			return -1
		}
		if ranksBefore(b, a) {
			return 1
		}
		return 0
	})
	return t.heap
}

// topFloats is a heap of the k > 0 greatest numbers pushed. Its root is the least of them.
type topFloats struct {
	k    int
	heap []float64
}

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

// full reports whether there are k; the root is then the k-th greatest.
func (t *topFloats) full() bool { return len(t.heap) == t.k }

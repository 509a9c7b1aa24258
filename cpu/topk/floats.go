package topk

import (
	"slices"

	"thresher/bandit"
)

// Floats holds the k > 0 greatest numbers pushed. Up to maxHeap they are in any order until one
// of them is replaced by a push, which makes them a heap, whose root is the least of them; beyond that they
// are the scores of many.
type Floats struct {
	k      int
	kept   []float64
	lowest float64 // the least of k, if known
	known  bool
	heap   bool // kept is a heap
	many   Best
}

// Reset empties t, for the k > 0 greatest of what is pushed from now on.
func (t *Floats) Reset(k int) {
	t.k, t.kept, t.known, t.heap = k, t.kept[:0], false, false
	t.many.Reset(k)
}

// Len is how many of the numbers pushed are kept.
func (t *Floats) Len() int { return max(len(t.kept), t.many.Len()) }

func (t *Floats) Push(x float64) {
	switch {
	case t.k > maxHeap:
		t.many.Push(Scored{Score: x})
	case len(t.kept) < t.k:
		t.kept = append(t.kept, x)
	case t.Takes(x):
		t.order()
		t.kept[0] = x
		lift(t.kept, 0)
		t.lowest = t.kept[0]
	}
}

// order makes a heap of k numbers.
func (t *Floats) order() {
	if !t.heap {
		for i := len(t.kept)/2 - 1; i >= 0; i-- {
			lift(t.kept, i)
		}
		t.heap, t.known, t.lowest = true, true, t.kept[0]
	}
}

// manyPushed is the share of k from which numbers are selected together instead of pushed one by one.
const manyPushed = 8

// PushAll pushes all of list; memory is for as many and k more.
func (t *Floats) PushAll(list []float64, memory *[]float64) {
	if t.k > maxHeap || len(list)*manyPushed < t.k {
		for _, x := range list {
			t.Push(x)
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

// Takes reports whether x would be one of the k greatest.
func (t *Floats) Takes(x float64) bool { return !t.Full() || x > t.Min() }

// Full reports whether there are k.
func (t *Floats) Full() bool { return t.Len() == t.k }

// Min returns the k-th greatest. t must be full.
func (t *Floats) Min() float64 {
	if t.k > maxHeap {
		return t.many.Worst().Score
	}
	if !t.known {
		t.lowest, t.known = slices.Min(t.kept), true
	}
	return t.lowest
}

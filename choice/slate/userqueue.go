package slate

// queuedCell is a cell waiting in a cellQueue.
type queuedCell struct {
	key   float64 // the largest comes first
	bound float64 // upper bound of the scores of its items
	cell  int32
}

// cellQueue is a binary heap by key. It allocates only to grow.
type cellQueue []queuedCell

// order makes q a heap.
func (q cellQueue) order() {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.sink(i)
	}
}

// pop removes and returns the cell of the largest key.
func (q *cellQueue) pop() queuedCell {
	h := *q
	first, last := h[0], len(h)-1
	h[0] = h[last]
	*q = h[:last]
	q.sink(0)
	return first
}

func (q cellQueue) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(q) {
			return
		}
		if child+1 < len(q) && q[child+1].key > q[child].key {
			child++
		}
		if q[child].key <= q[i].key {
			return
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
}

package baseline

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
)

// Greedy is Greedy-MIPS: Yu, Hsieh, Lei and Dhillon, "A greedy approach for budgeted maximum inner product search" (NIPS
// 2017). Every coordinate has its atoms in the order of their values. A query visits the products q_j v_ij of all (i, j) from
// the largest down, by a heap with the next atom of each coordinate, until it has met B atoms, which are scored.
type Greedy struct {
	vectors *Vectors
	order   []int32 // d x n: the atoms by their coordinate j, ascending, then by id
}

// NewGreedy sorts the d columns, spread over so many goroutines: no multiplication, and n log2 n comparisons a column. The
// index takes 4 n d bytes. Errors are the context's.
func NewGreedy(ctx context.Context, vectors *Vectors, threads int) (*Greedy, error) {
	n, d := vectors.n, vectors.d
	g := &Greedy{vectors, make([]int32, n*d)}
	err := each(ctx, threads, d, 16, func(from, to int) {
		type entry struct {
			value float32
			id    int32
		}
		column := make([]entry, n)
		for j := from; j < to; j++ {
			for i := range column {
				column[i] = entry{vectors.rows[i*d+j], int32(i)}
			}
			slices.SortFunc(column, func(a, b entry) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.id, b.id)) })
			for p, e := range column {
				g.order[j*n+p] = e.id
			}
		}
	})
	return g, err
}

// At returns the searcher of a budget of 1 to n candidates. It fails with ErrSetting.
func (g *Greedy) At(budget int) (Searcher, error) {
	if budget < 1 || budget > g.vectors.n {
		return nil, fmt.Errorf("%w: a budget of %d candidates, need 1 to %d", ErrSetting, budget, g.vectors.n)
	}
	return &greedySearcher{g, budget}, nil
}

type greedySearcher struct {
	*Greedy
	budget int
}

func (s *greedySearcher) String() string { return fmt.Sprintf("B %d", s.budget) }

// Preprocessing counts n ceil(log2 n) comparisons a column.
func (s *greedySearcher) Preprocessing() Effort {
	n, d := int64(s.vectors.n), int64(s.vectors.d)
	return Effort{Comparisons: d * n * int64(bits.Len64(uint64(n-1)))}
}

// Search takes one multiplication for each entry of the heap, at first one a coordinate, and d for each of B candidates.
func (s *greedySearcher) Search(ctx context.Context, query []float32, k int) (Found, error) {
	v := s.vectors
	if err := v.check(query, k); err != nil {
		return Found{}, err
	}
	walk := greedyWalk{Greedy: s.Greedy, query: query, met: make([]bool, v.n), passed: make([]int32, v.d)}
	for j := range query {
		walk.heap = append(walk.heap, walk.entry(j))
	}
	for at := v.d/2 - 1; at >= 0; at-- {
		walk.sink(at)
	}
	var candidates []int32
	for steps := 0; len(candidates) < s.budget; steps++ {
		if steps%4096 == 0 && ctx.Err() != nil {
			return Found{}, ctx.Err()
		}
		if id, fresh := walk.next(); fresh {
			candidates = append(candidates, id)
		}
	}
	return v.score(ctx, query, k, candidates, walk.effort)
}

// greedyWalk goes through the products of a query, the largest first.
type greedyWalk struct {
	*Greedy
	query  []float32
	met    []bool        // by atom
	passed []int32       // by coordinate: how many atoms of its order are behind
	heap   []greedyEntry // the greatest product at the root
	effort Effort
}

type greedyEntry struct {
	product float64
	j       int32
}

// current is the atom at which a coordinate's order stands: from the greatest value down if the query's coordinate is
// positive, otherwise from the least up.
func (w *greedyWalk) current(j int) int32 {
	n := w.vectors.n
	if w.query[j] > 0 {
		return w.order[j*n+n-1-int(w.passed[j])]
	}
	return w.order[j*n+int(w.passed[j])]
}

// entry computes the product at which a coordinate stands.
func (w *greedyWalk) entry(j int) greedyEntry {
	w.effort.Multiplications++
	v := w.vectors
	return greedyEntry{v.products.times(w.query[j], v.rows[int(w.current(j))*v.d+j]), int32(j)}
}

// next takes the greatest product, and says whether its atom had not been met. Its coordinate goes on to an atom that has
// not been met, or leaves the heap if there is none.
func (w *greedyWalk) next() (id int32, fresh bool) {
	j := int(w.heap[0].j)
	id = w.current(j)
	fresh = !w.met[id]
	w.met[id] = true
	for int(w.passed[j]) < w.vectors.n && w.met[w.current(j)] {
		w.passed[j]++
	}
	if int(w.passed[j]) < w.vectors.n {
		w.heap[0] = w.entry(j)
	} else {
		w.heap[0] = w.heap[len(w.heap)-1]
		w.heap = w.heap[:len(w.heap)-1]
	}
	w.sink(0)
	return id, fresh
}

// before says which of two entries is nearer the root: the greater product, of equal ones the lower coordinate.
func (w *greedyWalk) before(a, b greedyEntry) bool {
	w.effort.Comparisons++
	return a.product > b.product || a.product == b.product && a.j < b.j
}

// sink moves an entry down to its place.
func (w *greedyWalk) sink(at int) {
	for {
		child := 2*at + 1
		if child >= len(w.heap) {
			return
		}
		if child+1 < len(w.heap) && w.before(w.heap[child+1], w.heap[child]) {
			child++
		}
		if !w.before(w.heap[child], w.heap[at]) {
			return
		}
		w.heap[at], w.heap[child] = w.heap[child], w.heap[at]
		at = child
	}
}

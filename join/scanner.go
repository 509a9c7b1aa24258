package join

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"thresher/simd"
)

// scan scores all pairs of shares in float64.
func (w *matching) scan(ctx context.Context, shares []share) error {
	longest := 0
	for _, s := range shares {
		longest = max(longest, w.size(s.group))
	}
	w.countScanned(shares...)
	if len(shares) == 0 {
		return nil
	}
	var next atomic.Int64
	shares = divided(shares)
	ends := together(w.Right, shares)
	workers, ctx := errgroup.WithContext(ctx)
	for range min(max(1, w.o.Threads), len(ends), runtime.GOMAXPROCS(0)) {
		workers.Go(func() error {
			t := newScanner(w, longest)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(ends) {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return context.Cause(ctx)
				}
				lo := 0
				if i > 0 {
					lo = ends[i-1]
				}
				for at, s := range shares[lo:ends[i]] {
					if at+lo+1 < ends[i] {
						t.fetch(shares[at+lo+1])
					}
					t.scan(s)
				}
			}
		})
	}
	return workers.Wait()
}

// scanner scores pairs, in memory of its own.
type scanner struct {
	*matching
	kern   simd.Kernels
	wide   []float64 // a query
	sums   []float64 // of a group's rows
	rows   []uint32
	best   []uint32 // of a query, ascending by rank
	scores []float64
	to     *found
	narrow products
}

func newScanner(w *matching, longest int) *scanner {
	k := longest
	if w.o.Request.K > 0 {
		k = min(k, w.o.Request.K)
	}
	return &scanner{
		matching: w, kern: simd.Best(), wide: make([]float64, w.c.Dim), sums: make([]float64, longest), rows: make([]uint32, longest),
		best: make([]uint32, 0, k+1), scores: make([]float64, 0, k+1),
	}
}

// fetchedRows is how many rows of the left table are fetched ahead: they lie anywhere in it, and a core waits for memory
// longer than it multiplies a few of them with a few rows.
const fetchedRows = 8

// fetch begins to read the rows of the left table of a share that is scanned next.
func (t *scanner) fetch(s share) {
	dim := t.c.Dim
	for _, j := range t.order[s.lo:min(s.hi, s.lo+fetchedRows)] {
		t.kern.Prefetch(t.left.Queries[int(j)*dim:][:dim])
	}
}

// scan scores the pairs of a share: all, or of most rows no more than products in float32.
func (t *scanner) scan(s share) {
	start, n, dim := t.starts[s.group], t.size(s.group), t.c.Dim
	if t.sifts(n, s.hi-s.lo) && t.narrow.begin(t, start, n) {
		t.sift(s)
		return
	}
	rows, sums := t.rows[:n], t.sums[:n]
	for i := range rows {
		rows[i] = uint32(start + i)
	}
	for i, j := range t.order[s.lo:s.hi] {
		t.kern.Widen(t.wide, t.left.Queries[int(j)*dim:][:dim], 1)
		t.c.Sums(t.kern, sums, rows, t.wide, i > 0)
		t.c.ScoresOf(sums, rows, t.squares[j], 1)
		t.keep(sums)
		t.found(j, rows)
	}
}

// sift is scan by products first, for several queries at a time.
func (t *scanner) sift(s share) {
	p, start, n, dim := &t.narrow, t.starts[s.group], t.size(s.group), t.c.Dim
	for lo := s.lo; lo < s.hi; lo += multiplied {
		block := t.order[lo:min(lo+multiplied, s.hi)]
		p.queries = p.queries[:0]
		for _, j := range block {
			p.queries = append(p.queries, t.left.Queries[int(j)*dim:][:dim]...)
		}
		p.multiply(t.kern, len(block))
		for e, j := range block {
			q := p.queries[e*dim:][:dim]
			qq := t.squares[j]
			rows := t.rows[:n]
			if p.pass(t.kern, e, qq, t.floor) {
				rows = rows[:len(p.passed)]
				for i, r := range p.passed {
					rows[i] = uint32(start) + r
				}
			} else {
				for i := range rows {
					rows[i] = uint32(start + i)
				}
			}
			t.kern.Widen(t.wide, q, 1)
			sums := t.sums[:len(rows)]
			t.c.Sums(t.kern, sums, rows, t.wide, true)
			t.c.ScoresOf(sums, rows, qq, 1)
			t.keep(sums)
			t.found(j, rows)
		}
	}
}

// keep sets best to the k best of scores within the limits, or to all of them, best first, equal ones in their order.
func (t *scanner) keep(scores []float64) {
	t.best, t.scores = t.best[:0], t.scores[:0]
	k := t.o.Request.K
	if k == 0 || k > len(scores) {
		k = len(scores)
	}
	if k > maxInserted {
		t.sort(scores, k)
		return
	}
	for i, s := range scores {
		if !(s >= t.floor && s <= t.ceiling) || len(t.best) == k && s <= t.scores[k-1] {
			continue
		}
		at := len(t.best)
		if at == k {
			at--
		} else {
			t.best, t.scores = append(t.best, 0), append(t.scores, 0)
		}
		for ; at > 0 && t.scores[at-1] < s; at-- {
			t.best[at], t.scores[at] = t.best[at-1], t.scores[at-1]
		}
		t.best[at], t.scores[at] = uint32(i), s
	}
}

// maxInserted is the greatest k for which scores are inserted one by one.
const maxInserted = 64

// sort is keep for many scores.
func (t *scanner) sort(scores []float64, k int) {
	for i, s := range scores {
		if s >= t.floor && s <= t.ceiling {
			t.best = append(t.best, uint32(i))
		}
	}
	slices.SortFunc(t.best, func(a, b uint32) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	t.best = t.best[:min(k, len(t.best))]
	for _, i := range t.best {
		t.scores = append(t.scores, scores[i])
	}
}

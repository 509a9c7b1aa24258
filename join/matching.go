package join

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"thresher/batch"
	"thresher/simd"
)

// matching is one call of Match.
type matching struct {
	*Right
	left    LeftRows
	order   []int32   // rows of the left table by group
	spans   []extent  // by row of the left table
	squares []float64 // squared norms of the rows of the left table
	mu      sync.Mutex
	out     *Matches // whose Work belongs to mu
}

// Match finds what rows of the left table join with. Errors that a row causes are *RowError.
func (r *Right) Match(ctx context.Context, left LeftRows) (*Matches, error) {
	m := len(left.Queries) / r.c.Dim
	w := &matching{Right: r, left: left, spans: make([]extent, m), squares: make([]float64, m), out: &Matches{Lims: make([]int, m+1)}}
	if err := w.square(); err != nil { // whether or not a row of the right table has its key
		return nil, err
	}
	w.out.Work.Add(&PairWork{}) // makes the maps
	var scanned, searched []share
	for _, s := range w.shares(m) {
		switch {
		case r.size(s.group) == 0: // nothing is left out
			w.countScanned(s)
		case r.scans(s.group, s.hi-s.lo):
			scanned = append(scanned, s)
		case int64(r.size(s.group))*int64(s.hi-s.lo)*int64(r.c.Dim) < alone:
			searched = append(searched, s)
		default:
			if err := w.search(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	if err := w.searchAll(ctx, searched); err != nil {
		return nil, err
	}
	if err := w.scan(ctx, scanned); err != nil {
		return nil, err
	}
	w.gather()
	return w.out, nil
}

// square sets the squared norms of all rows of the left table, and refuses the first row with a value that is not finite.
func (w *matching) square() error {
	m, dim, kern := len(w.squares), w.c.Dim, simd.Best()
	var workers sync.WaitGroup
	parts := min(max(1, w.o.Threads), m/squaredTogether+1)
	wrong := make([]int, parts) // the first row of each part that is not finite, or m
	for part := range parts {
		workers.Go(func() {
			wrong[part] = m
			for j := part * m / parts; j < (part+1)*m/parts; j++ {
				s := kern.SumSquares(w.left.Queries[j*dim:][:dim])
				if w.squares[j] = s; s-s != 0 {
					wrong[part] = j
					return
				}
			}
		})
	}
	workers.Wait()
	if j := slices.Min(wrong); j < m {
		return &RowError{Row: w.left.First + int64(j), Err: notFinite(w.left.Queries[j*dim:][:dim])}
	}
	return nil
}

// squaredTogether is from how many rows on several goroutines square them.
const squaredTogether = 1 << 10

// notFinite names the value of a row that is not.
func notFinite(row []float32) error {
	i := slices.IndexFunc(row, func(x float32) bool { return x-x != 0 })
	return fmt.Errorf("column %d: value %g", i, row[i])
}

// count adds rows that an engine answered to the work.
func (w *matching) count(s share, answers []batch.Answer) {
	t := &w.out.Work
	t.DensePulls += int64(s.hi-s.lo) * int64(w.size(s.group)) * int64(w.c.Dim)
	for j := range answers {
		t.addRow(&answers[j].Certificate)
	}
}

// countScanned adds rows that are scanned, whose answers are exact, to the work.
func (w *matching) countScanned(shares ...share) {
	t := &w.out.Work
	rows := int64(0)
	for _, s := range shares {
		rows += int64(s.hi - s.lo)
		pairs := int64(s.hi-s.lo) * int64(w.size(s.group))
		t.DensePulls, t.Pulls, t.RowsScored = t.DensePulls+pairs*int64(w.c.Dim), t.Pulls+pairs*int64(w.c.Dim), t.RowsScored+pairs
		t.Bytes += int64(w.size(s.group)) * int64(w.c.Dim) * int64(w.c.Elem().Size()) // once for all rows
	}
	if rows == 0 {
		return
	}
	t.Rows, t.Exact = t.Rows+rows, t.Exact+rows
	t.Methods[batch.Exact] += rows
	t.Guarantees[batch.GuaranteeExact] += rows
	t.VectorsChange = max(t.VectorsChange, w.c.Change.Largest)
	if w.left.Changes == nil {
		return
	}
	for _, s := range shares {
		for _, j := range w.order[s.lo:s.hi] {
			t.OthersChange = max(t.OthersChange, w.left.Changes[j])
		}
	}
}

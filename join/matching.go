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
	for j, kern := 0, simd.Best(); j < m; j++ { // whether or not a row of the right table has its key
		q := left.Queries[j*r.c.Dim:][:r.c.Dim]
		if w.squares[j] = kern.SumSquares(q); w.squares[j]-w.squares[j] != 0 {
			return nil, &RowError{Row: left.First + int64(j), Err: notFinite(q)}
		}
	}
	w.out.Work.Add(&PairWork{}) // makes the maps
	var scanned, searched []share
	for _, s := range w.shares(m) {
		switch {
		case r.size(s.group) == 0: // nothing is left out
			w.count(s, nil)
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

// notFinite names the value of a row that is not.
func notFinite(row []float32) error {
	i := slices.IndexFunc(row, func(x float32) bool { return x-x != 0 })
	return fmt.Errorf("column %d: value %g", i, row[i])
}

// count adds rows whose answers are exact, nil for those of a scan, to the work.
func (w *matching) count(s share, answers []batch.Answer) {
	t := &w.out.Work
	rows := int64(s.hi - s.lo)
	t.DensePulls += rows * int64(w.size(s.group)) * int64(w.c.Dim)
	if answers != nil {
		for j := range answers {
			t.addRow(&answers[j].Certificate)
		}
		return
	}
	pairs := rows * int64(w.size(s.group))
	t.Rows, t.Exact = t.Rows+rows, t.Exact+rows
	t.Pulls, t.RowsScored = t.Pulls+pairs*int64(w.c.Dim), t.RowsScored+pairs
	t.Bytes += int64(w.size(s.group)) * int64(w.c.Dim) * int64(w.c.Elem().Size()) // once for all rows
	t.Methods[batch.Exact] += rows
	t.Guarantees[batch.GuaranteeExact] += rows
	t.VectorsChange = max(t.VectorsChange, w.c.Change.Largest)
	if w.left.Changes != nil {
		for _, j := range w.order[s.lo:s.hi] {
			t.OthersChange = max(t.OthersChange, w.left.Changes[j])
		}
	}
}

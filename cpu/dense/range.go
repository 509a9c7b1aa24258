package dense

import (
	"context"
	"slices"

	"thresher/cpu/arms"
	"thresher/cpu/topk"
)

// rowRange is the range lo to hi-1 of a pass's rows and what was found there for each query.
type rowRange struct {
	*pass
	lo, hi int

	best   [][]topk.Scored
	kept   []topk.Entries // rows not yet scored that may be among the best, if they are scored with those of other ranges
	read   []int          // rows read
	scored []int          // rows scored in float64 after the float32 test
	done   bool           // the whole range was read, and what may be among the best was scored
}

// run scans the range. If ctx ends, it returns the error and leaves the best of what it read. If later
// is set, the rows that are left at the end are kept for scoreKept.
func (d *rowRange) run(ctx context.Context, x *Scans, w *scratch, t *terms, later bool) error {
	s := &w.tests
	s.plain = true
	for k, j := range d.js {
		q := &x.queries[j]
		s.tops[k].Reset(q.Goal.K)
		s.allAllowed[k] = len(q.hiddenRows) == 0 && q.Goal.From == 0 && (d.rows != nil || q.Goal.Filter == nil)
		s.plain = s.plain && s.allAllowed[k] && !q.Bounded()
		s.hiddenAt[k] = 0
		s.pending[k].Truncate(0)
		s.left[k] = 0
		s.found[k] = s.found[k][:0]
		s.scored[k] = 0
		s.shift[k] = q.shift(t)
		s.sharp[k] = q.dots != byNorms && len(q.BestGiven) == 0
		s.share[k] = q.shareOf()
		s.reach[k] = s.floorTau(q, k)
		s.tau[k] = s.reach[k]
		for _, a := range q.BestGiven {
			s.addScored(q, k, []uint32{a.Row}, []float64{a.Score})
		}
	}
	reached, err := d.walkRows(ctx, x, w, t)
	d.best, d.read, d.scored = make([][]topk.Scored, len(d.js)), make([]int, len(d.js)), make([]int, len(d.js))
	for k, j := range d.js {
		q := &x.queries[j]
		w.tighten(q, t, k, true)
		if q.dots == noError {
			w.takePending(q, t, k)
		}
		d.read[k] = reached - d.lo
		if d.rows == nil && q.gathers() { // alone, it would have read these rows only
			d.read[k] = countWithin(q.Goal.Filter.Rows(), d.lo, reached)
		}
	}
	if err == nil && later {
		d.keepPending(x, s)
		return nil
	}
	if err == nil {
		err = w.scoreAllPending(ctx, x, d.js)
	}
	if err != nil {
		for k, j := range d.js {
			s.keepBest(&x.queries[j], &s.pending[k], arms.PartialRows)
		}
		_ = w.scoreAllPending(context.WithoutCancel(ctx), x, d.js)
	}
	d.done = err == nil
	for k, j := range d.js {
		q := &x.queries[j]
		var other []topk.Scored
		if d.done && len(d.ranges) == 1 { // take replaces the query's list
			other = q.Best.Release()
		}
		d.scored[k] = s.scored[k]
		d.best[k] = w.bestOf(q, append(s.found[k], s.tops[k].All()...))
		s.found[k] = other[:0] // memory for the next list
	}
	return err
}

// scan is how a pass over rows finds those that may be in an answer.
type way uint8

const (
	scoreEach way = iota // score every row in float64
	fewWide              // test float32 products with few queries, a column for each
	packed               // test float32 products with packed queries, a column for each row, and with few more
)

// scan chooses the pass's scan.
func (d *pass) scan(x *Scans) way {
	few := x.r.Kernels.FewQueries()
	switch {
	case d.wantsAll(x) && d.exact == nil:
		return scoreEach
	case len(d.js) <= exactQueries && (few == 0 || d.rows != nil):
		return scoreEach
	case len(d.js) <= few:
		return fewWide
	}
	return packed
}

// wantsAll reports whether each of the pass's queries wants as many rows as there are: float32 products
// would exclude none.
func (d *pass) wantsAll(x *Scans) bool {
	rows := d.rowCount(x.C)
	return !slices.ContainsFunc(d.js, func(j int) bool { return x.queries[j].Goal.K < rows })
}

// walkRows reads the range tile by tile and returns the first row not read.
func (d *rowRange) walkRows(ctx context.Context, x *Scans, w *scratch, t *terms) (reached int, err error) {
	scan, tile := d.scan(x), tileRows
	switch scan {
	case fewWide:
		tile = fewTile
		x.prepare(w, d.js, 0)
	case packed:
		x.prepare(w, d.js, x.packedQueries(len(d.js)))
	}
	// The first tiles are small, because there is no threshold before them.
	first := minRows
	for _, j := range d.js {
		k := x.queries[j].Goal.K
		first = max(first, min(8*k, firstRows), 2*k)
	}
	for lo := d.lo; lo < d.hi; {
		to := min(lo+min(max(first, 4*(lo-d.lo)), tile), d.hi)
		if err := x.r.Checkpoint(ctx, len(d.js)); err != nil {
			return lo, err
		}
		switch scan {
		case scoreEach:
			d.scoreRows(x, w, t, lo, to)
		case fewWide:
			d.multiplyFew(x, w, t, lo, to)
		default:
			d.multiplyTile(x, w, t, lo, to)
		}
		lo = to
	}
	return d.hi, nil
}

// scoreRows scores rows lo to hi-1 of the pass exactly for each of its queries.
func (d *rowRange) scoreRows(x *Scans, w *scratch, t *terms, lo, hi int) {
	ids := d.rowNumbers(w, lo, hi)
	w.Scores = topk.Grow(w.Scores, len(ids))
	for k, j := range d.js {
		q := &x.queries[j]
		q.SearchScoresOf(w.Scores, ids, k > 0) // for the first query they are read
		at, _ := slices.BinarySearch(q.hiddenRows, ids[0])
		hidden := q.hiddenRows[at:]
		if w.tests.allAllowed[k] {
			w.tests.addScored(q, k, ids, w.Scores)
			continue
		}
		for i, row := range ids {
			for len(hidden) > 0 && hidden[0] < row {
				hidden = hidden[1:]
			}
			if len(hidden) > 0 && hidden[0] == row {
				continue
			}
			if d.allows(q, t, row) {
				w.tests.addScored(q, k, ids[i:i+1], w.Scores[i:i+1])
			}
		}
	}
}

// tightenPending tightens the thresholds of the queries that have many pending rows: more than 2 k, and
// half as many again as the last time left, since of rows that the test cannot separate, such as copies of
// one, each time leaves all.
func (d *rowRange) tightenPending(x *Scans, w *scratch, t *terms) {
	s := &w.tests
	for e, j := range d.js {
		q, pending := &x.queries[j], len(s.pending[e].IDs)
		if pending <= max(2*q.Goal.K+spareRows, s.left[e]+s.left[e]/2) && (pending < q.Goal.K || s.left[e] >= q.Goal.K || s.reach[e] > s.floorTau(q, e)) {
			continue
		}
		w.tighten(q, t, e, false)
		if len(s.pending[e].IDs) > max(maxPending, q.Goal.K+q.Goal.K/2) {
			w.scorePending(q, t, e)
		}
		s.left[e] = len(s.pending[e].IDs)
	}
}

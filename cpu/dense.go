package cpu

import (
	"cmp"
	"context"
	"slices"
)

const (
	// denseQueries is the greatest number of queries that share a pass over the rows.
	denseQueries = 64
	// denseTile is the number of rows in a tile, which is multiplied by all queries of a pass.
	denseTile = 128
	// denseCoords is the number of coordinates summed in float32 before the sum is added to the
	// sums of others. So many of 64 queries fill half of a second-level cache.
	denseCoords = 512
	// denseLeastRows is the least number of rows in the first tile. Of few rows the query that wants one
	// atom lists fewer, while one that wants some has more use for the threshold of as many as firstRows.
	denseLeastRows, firstRows = 16, 64
	// spareRows is how many rows more than 2 k a query has pending before its threshold is raised.
	spareRows = 16
	// exactQueries is the number of queries up to which a pass scores every row exactly if the
	// products of few queries have no kernel, or if it gathers so few rows that the terms of all rows
	// are not worth their time: fewer than one in gatherExact.
	exactQueries, gatherExact = 2, 64
	// mostPending is the number of pending rows from which a query scores them, if it is more
	// than 3/2 k: more than that are left only if the test cannot separate them.
	mostPending = 4096
)

// scanDense answers these queries by a scan of all allowed atoms. Float32 products with a derived
// error bound exclude the rows that cannot be among the best; the others are scored in
// float64. Their given candidates must be scored. If ctx ends, what was found is kept for partial answers.
func (x *run) scanDense(ctx context.Context, queries []int) error {
	// The queries of a job share the rows that are read. If there are fewer jobs than threads
	// can take, each job is split by rows.
	jobs := x.denseJobs(queries)
	x.chooseErrors(ctx, queries, jobs)
	var ranges []*denseRange
	var terms *denseTerms
	for k := range jobs {
		job, n := &jobs[k], 1
		if job.rows == nil || job.scan(x) != scoreEach || x.orders(job) { // computing them takes time and memory for every atom
			terms = x.r.denseTerms()
		}
		for _, j := range job.js {
			x.states[j].hideRows()
			x.states[j].sortGiven()
		}
		rows := job.rowCount(x.c)
		if len(jobs) < 2*x.r.threads && x.r.threads > 1 {
			n = max(1, min((2*x.r.threads+len(jobs)-1)/len(jobs), (rows+denseTile-1)/denseTile))
		}
		job.ranges = make([]denseRange, n)
		for i := range job.ranges {
			job.ranges[i] = denseRange{denseJob: job, lo: rows * i / n, hi: rows * (i + 1) / n}
			ranges = append(ranges, &job.ranges[i])
		}
	}
	later := len(ranges) > x.r.threads && x.wanted(queries) >= x.c.N
	err := x.r.each(ctx, len(ranges), func(w *scratch, t int) error { return ranges[t].run(ctx, x, w, terms, later) })
	if later {
		err = cmp.Or(x.scoreKept(ctx, ranges), err)
	}
	for _, job := range jobs {
		for k, j := range job.js {
			x.takeDense(&x.states[j], job.ranges, k)
		}
	}
	return err
}

// takeDense takes what the ranges of a job found for its query js[k]: the answer, or, if ctx
// ended one of them, rows for a partial answer.
func (x *run) takeDense(s *state, ranges []denseRange, k int) {
	done, read := true, 0
	for p := range ranges {
		done = done && ranges[p].done
		if k < len(ranges[p].read) {
			read += ranges[p].read[k]
		}
		if k < len(ranges[p].scored) {
			s.denseScored += ranges[p].scored[k]
		}
	}
	s.countRows(read)
	if s.denseScored > s.goal.K+s.c.N/manyScored {
		x.r.rowTraits.wanted.Store(true)
	}
	if !done {
		s.noteUnlisted(read)
		for p := range ranges {
			if k < len(ranges[p].best) {
				s.partialDense = append(s.partialDense, ranges[p].best[k]...)
			}
		}
		return
	}
	s.beginAnswer()
	for p := range ranges {
		s.best.take(ranges[p].best[k])
		ranges[p].best[k] = nil
	}
	s.endAnswer()
}

// takePartial returns the rows that stopped scans have found, and forgets them.
func (s *state) takePartial() []scored {
	list := s.partialDense
	s.partialDense = nil
	return list
}

// denseRange is the range lo to hi-1 of a job's rows and what was found there for each query.
type denseRange struct {
	*denseJob
	lo, hi int

	best   [][]scored
	kept   []survivors // rows not yet scored that may be among the best, if they are scored with those of other ranges
	read   []int       // rows read
	scored []int       // rows scored in float64 after the float32 test
	done   bool        // the whole range was read, and what may be among the best was scored
}

// run scans the range. If ctx ends, it returns the error and leaves the best of what it read. If later
// is set, the rows that are left at the end are kept for scoreKept.
func (d *denseRange) run(ctx context.Context, x *run, w *scratch, t *denseTerms, later bool) error {
	s := &w.dense
	s.plain = true
	for k, j := range d.js {
		q := &x.states[j]
		s.tops[k].reset(q.goal.K)
		s.allAllowed[k] = len(q.hiddenRows) == 0 && q.goal.From == 0 && (d.rows != nil || q.goal.Filter == nil)
		s.plain = s.plain && s.allAllowed[k] && !q.bounded()
		s.hiddenAt[k] = 0
		s.pending[k].truncate(0)
		s.left[k] = 0
		s.found[k] = s.found[k][:0]
		s.scored[k] = 0
		s.shift[k] = q.denseShift(t)
		s.sharp[k] = q.dots != byNorms && len(q.bestGiven) == 0
		s.share[k] = q.shareOf()
		s.reach[k] = s.floorTau(q, k)
		s.tau[k] = s.reach[k]
		for _, a := range q.bestGiven {
			s.addScored(q, k, []uint32{a.row}, []float64{a.score})
		}
	}
	reached, err := d.walkRows(ctx, x, w, t)
	d.best, d.read, d.scored = make([][]scored, len(d.js)), make([]int, len(d.js)), make([]int, len(d.js))
	for k, j := range d.js {
		q := &x.states[j]
		w.tighten(q, t, k, true)
		if q.dots == noError {
			w.takePending(q, t, k)
		}
		d.read[k] = reached - d.lo
		if d.rows == nil && q.gathers() { // alone, it would have read these rows only
			d.read[k] = countWithin(q.goal.Filter.Rows(), d.lo, reached)
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
			s.keepBest(&x.states[j], &s.pending[k], partialRows)
		}
		_ = w.scoreAllPending(context.WithoutCancel(ctx), x, d.js)
	}
	d.done = err == nil
	for k, j := range d.js {
		q := &x.states[j]
		var other []scored
		if d.done && len(d.ranges) == 1 { // takeDense replaces the query's list
			other = q.best.release()
		}
		d.scored[k] = s.scored[k]
		d.best[k] = w.bestOf(q, append(s.found[k], s.tops[k].entries...))
		s.found[k] = other[:0] // memory for the next list
	}
	return err
}

// scan is how a pass over rows finds those that may be in an answer.
type denseScan uint8

const (
	scoreEach denseScan = iota // score every row in float64
	fewWide                    // test float32 products with few queries, a column for each
	packed                     // test float32 products with packed queries, a column for each row, and with few more
)

// scan chooses the job's scan.
func (d *denseJob) scan(x *run) denseScan {
	few := x.r.kernels.FewQueries()
	switch {
	case d.wantsAll(x) && d.exact == nil:
		return scoreEach
	case len(d.js) <= exactQueries && (few == 0 || d.rows != nil && len(d.rows)*gatherExact < x.c.N):
		return scoreEach
	case len(d.js) <= few:
		return fewWide
	}
	return packed
}

// wantsAll reports whether each of the job's queries wants as many rows as there are: float32 products
// would exclude none.
func (d *denseJob) wantsAll(x *run) bool {
	rows := d.rowCount(x.c)
	return !slices.ContainsFunc(d.js, func(j int) bool { return x.states[j].goal.K < rows })
}

// walkRows reads the range tile by tile and returns the first row not read.
func (d *denseRange) walkRows(ctx context.Context, x *run, w *scratch, t *denseTerms) (reached int, err error) {
	scan, tile := d.scan(x), denseTile
	switch scan {
	case fewWide:
		tile = fewTile
		x.queryDense(w, d.js, 0)
	case packed:
		x.queryDense(w, d.js, x.packedQueries(len(d.js)))
	}
	// The first tiles are small, because there is no threshold before them.
	first := denseLeastRows
	for _, j := range d.js {
		k := x.states[j].goal.K
		first = max(first, min(8*k, firstRows), 2*k)
	}
	for lo := d.lo; lo < d.hi; {
		to := min(lo+min(max(first, 4*(lo-d.lo)), tile), d.hi)
		if err := x.r.checkpoint(ctx, len(d.js)); err != nil {
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

// scoreRows scores rows lo to hi-1 of the job exactly for each of its queries.
func (d *denseRange) scoreRows(x *run, w *scratch, t *denseTerms, lo, hi int) {
	ids := d.rowNumbers(w, lo, hi)
	w.scores = grow(w.scores, len(ids))
	for k, j := range d.js {
		q := &x.states[j]
		q.searchScoresOf(w.scores, ids, k > 0) // for the first query they are read
		at, _ := slices.BinarySearch(q.hiddenRows, ids[0])
		hidden := q.hiddenRows[at:]
		if w.dense.allAllowed[k] {
			w.dense.addScored(q, k, ids, w.scores)
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
				w.dense.addScored(q, k, ids[i:i+1], w.scores[i:i+1])
			}
		}
	}
}

// tightenPending tightens the thresholds of the queries that have many pending rows: more than 2 k, and
// half as many again as the last time left, since of rows that the test cannot separate, such as copies of
// one, each time leaves all.
func (d *denseRange) tightenPending(x *run, w *scratch, t *denseTerms) {
	s := &w.dense
	for e, j := range d.js {
		q, pending := &x.states[j], len(s.pending[e].ids)
		if pending <= max(2*q.goal.K+spareRows, s.left[e]+s.left[e]/2) && (pending < q.goal.K || s.left[e] >= q.goal.K || s.reach[e] > s.floorTau(q, e)) {
			continue
		}
		w.tighten(q, t, e, false)
		if len(s.pending[e].ids) > max(mostPending, q.goal.K+q.goal.K/2) {
			w.scorePending(q, t, e)
		}
		s.left[e] = len(s.pending[e].ids)
	}
}

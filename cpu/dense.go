package cpu

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/bandit"
	"thresher/collection"
)

const (
	// denseGroup is how many queries one pass over the rows serves.
	denseGroup = 64
	// denseTile is how many rows are multiplied at a time in the dense path.
	denseTile = 128
	// denseBlock is how many coordinates are summed in float32 before a sum is
	// added to the others; 64 queries of them fill half a second-level cache.
	denseBlock = 512
	// denseFirst is how many rows the first tile has, at least.
	denseFirst = 16
	// denseFew queries are scored exactly at once: reading the rows is the cost.
	denseFew = 2
	// denseWaiting is how many rows of a query wait for their exact score, at most.
	denseWaiting = 4096
)

// denseTerms are what the dense path needs of each row, in the order given. size is
// the norm of what is multiplied: the row as given, or less the centre where that is
// far.
type denseTerms struct {
	inverse             []uint32 // internal index
	scale, size, offset []float32
	far                 bool
}

// denseScratch is a goroutine's memory of the dense path.
type denseScratch struct {
	query, panels  []float32
	gathered       []float32 // a block of a tile's rows that lie apart, or less the centre, and terms
	scale          []float32
	size, offset   []float32
	dots           []float32
	masks          []uint64
	margin, factor [64]float32
	tau            [64]float32
	shift          [64]float64   // by how much products with rows as given exceed those with rows less the centre
	plain          [64]bool      // every row may be returned
	waiting        [64]survivors // rows not yet scored, by number
	tops           [64]top
	scored         [64]int // rows scored in float64
	lower          []float64
}

// denseTerms returns them, made at first use.
func (r *resident) denseTerms() *denseTerms {
	r.once.dense.Do(func() {
		c, t := r.c, &r.rows
		t.inverse = make([]uint32, c.N)
		terms := make([]float32, 3*c.N)
		t.scale, t.size, t.offset = terms[:c.N], terms[c.N:2*c.N], terms[2*c.N:]
		t.far = c.Far()
		given := 0.0
		if c.Centre != nil && !t.far {
			given = c.CentreNorm()
		}
		for i, row := range c.Order {
			t.inverse[row] = uint32(i)
			var bounded bool
			t.scale[row], bounded = c.ProductFactor(int(row))
			t.size[row] = collection.Upward(float64(c.Norm[i]) + given)
			if !bounded {
				t.size[row] = float32(math.Inf(1)) // never out of reach
			}
			if c.Offset != nil {
				// an upper bound of the true offset after the test's roundings
				t.offset[row] = collection.Upward(float64(c.Offset[i]) * (1 - looks.Slop))
			}
		}
	})
	return &r.rows
}

// Dense scores all allowed atoms for these queries: float32 products decide
// what cannot be among the best, with their derived error; the rest is scored
// in float64.
func (x *run) Dense(ctx context.Context, queries ...int) error {
	if x.closed {
		return backend.ErrClosed
	}
	for _, j := range queries {
		if j < 0 || j >= len(x.states) {
			return fmt.Errorf("query %d of %d", j, len(x.states))
		}
		x.states[j].conclude()
	}
	queries = slices.DeleteFunc(slices.Clone(queries), func(j int) bool { return x.states[j].phase == gone })
	if len(queries) == 0 {
		return ctx.Err()
	}
	// queries share the rows they read; few jobs are split by rows
	jobs := x.denseJobs(queries)
	var work []*denseWork
	var terms *denseTerms
	for k := range jobs {
		job, parts := &jobs[k], 1
		if job.rows == nil || len(job.js) > denseFew { // which takes time and memory for every atom, once
			terms = x.r.denseTerms()
		}
		n := job.count(x.c)
		if len(jobs) < 2*x.r.threads && x.r.threads > 1 {
			parts = max(1, min((2*x.r.threads+len(jobs)-1)/len(jobs), (n+denseTile-1)/denseTile))
		}
		job.parts = make([]denseWork, parts)
		for p := range job.parts {
			job.parts[p] = denseWork{denseJob: job, lo: n * p / parts, hi: n * (p + 1) / parts}
			work = append(work, &job.parts[p])
		}
	}
	err := x.r.each(ctx, len(work), func(w *scratch, t int) error { return work[t].run(ctx, x, w, terms) })
	for _, job := range jobs {
		for k, j := range job.js {
			x.states[j].settleDense(job.parts, k)
		}
	}
	return err
}

// settleDense takes what the parts of a dense scan found for the query in
// place k of its job. If ctx ended one of them, it is kept for a partial
// answer.
func (s *state) settleDense(parts []denseWork, k int) {
	done, read := true, 0
	for p := range parts {
		done = done && parts[p].done
		if k < len(parts[p].read) {
			read += parts[p].read[k]
		}
		if k < len(parts[p].scored) {
			s.denseScored += parts[p].scored[k]
		}
	}
	s.readRows(read)
	if !done {
		if s.owed > 0 {
			s.owed += read // none of these counts as a listed arm scored
		}
		for p := range parts {
			if k < len(parts[p].best) {
				s.spare = append(s.spare, parts[p].best[k]...)
			}
		}
		return
	}
	s.best.heap = s.best.heap[:0]
	for p := range parts {
		for _, a := range parts[p].best[k] {
			s.take(a)
		}
	}
	s.phase, s.slab, s.random, s.owed = answered, nil, false, 0
	s.list.cut(0)
	s.finalists = s.finalists[:0]
}

// denseWork is a stretch of a job's rows, and what was found there, per query.
type denseWork struct {
	*denseJob
	lo, hi int // of the job's rows

	best [][]scored
	read []int // rows
	// scored are the rows scored in float64 after the float32 test.
	scored []int
	done   bool
}

func (d *denseWork) run(ctx context.Context, x *run, w *scratch, t *denseTerms) error {
	s := &w.dense
	for k, j := range d.js {
		q := &x.states[j]
		s.tops[k].k, s.tops[k].heap = q.goal.K, s.tops[k].heap[:0]
		s.plain[k] = q.goal.Skip < 0 && (d.rows != nil || q.goal.Filter == nil)
		s.waiting[k].cut(0)
		s.scored[k] = 0
		s.shift[k] = q.shift(t)
		s.tau[k] = q.denseTau(q.scale.Threshold(q.floor), s.shift[k])
	}
	reached, err := d.scan(ctx, x, w, t)
	d.best, d.read, d.scored = make([][]scored, len(d.js)), make([]int, len(d.js)), make([]int, len(d.js))
	for k, j := range d.js {
		q := &x.states[j]
		s.lift(q, t, k)
		if err != nil { // a partial answer is the best of something
			s.leave(q, k, partialRows)
		}
		w.scoreWaiting(q, k)
		d.scored[k] = s.scored[k]
		d.best[k] = append([]scored(nil), s.tops[k].heap...)
		d.read[k] = reached - d.lo
		if d.rows == nil && q.gathers() { // it would have read these alone
			d.read[k] = within(q.goal.Filter.Rows(), d.lo, reached)
		}
	}
	d.done = err == nil
	return err
}

// scan walks the rows, tile by tile, and returns where it stopped.
func (d *denseWork) scan(ctx context.Context, x *run, w *scratch, t *denseTerms) (reached int, err error) {
	few := len(d.js) <= denseFew
	width := 16
	for width < len(d.js) {
		width *= 2
	}
	if !few {
		x.packDense(w, d.js, width)
	}
	// there is no threshold before the first rows were seen: few of them
	most := denseFirst / 2
	for _, j := range d.js {
		most = max(most, x.states[j].goal.K)
	}
	lo := d.lo
	for to := min(lo+min(2*most, denseTile), d.hi); lo < d.hi; lo, to = to, min(to+denseTile, d.hi) {
		if err := rest(ctx, len(d.js)); err != nil {
			return lo, err
		}
		if few {
			d.each(x, w, t, lo, to)
		} else {
			d.tile(x, w, t, width, lo, to)
		}
	}
	return lo, nil
}

// returns reports whether a row that the job reads may be returned to q.
func (d *denseWork) returns(q *state, t *denseTerms, row int) bool {
	if d.rows != nil {
		return q.goal.Skip < 0 || row != int(q.c.Order[q.goal.Skip])
	}
	return q.allows(int(t.inverse[row]))
}

// each scores every row for a few queries.
func (d *denseWork) each(x *run, w *scratch, t *denseTerms, lo, hi int) {
	ids := d.list(w, lo, hi)
	w.scores = grow(w.scores, len(ids))
	for k, j := range d.js {
		q := &x.states[j]
		q.exacts(w.scores, ids)
		for i, score := range w.scores {
			if row := int(ids[i]); w.dense.plain[k] || d.returns(q, t, row) {
				w.dense.offer(q, k, scored{score, ids[i]})
			}
		}
	}
}

// packDense lays the queries out for Gemm, in blocks of denseBlock coordinates,
// and readies the terms of the test.
func (x *run) packDense(w *scratch, js []int, width int) {
	s, dim, k := &w.dense, x.c.Dim, x.r.kernels
	s.query, s.panels = grow(s.query, len(js)*dim), grow(s.panels, width*dim)
	// a sum of denseBlock float32 products, then one addition a block, of
	// rounded queries; and what the test itself rounds
	roundings := float64(min(denseBlock, dim) + (dim+denseBlock-1)/denseBlock + 8)
	if x.c.Centre != nil { // rows less it are rounded
		roundings++
	}
	for e, j := range js {
		q := &x.states[j]
		row := s.query[e*dim : (e+1)*dim]
		q.compared(row)
		s.margin[e] = collection.Upward(roundings * bandit.Unit * math.Sqrt(k.SumSquares(row)) * collection.Up)
		s.factor[e] = float32(math.Ldexp(1, -q.exp))
	}
	for e := len(js); e < width; e++ {
		s.margin[e], s.factor[e], s.tau[e] = 0, 0, float32(math.Inf(1))
	}
	for from := 0; from < dim; from += denseBlock {
		n := min(denseBlock, dim-from)
		k.Pack(s.panels[from*width:], s.query[from:], dim, len(js), n, width)
	}
}

// tile multiplies rows lo..hi-1 of the job's by the packed queries and lists what may
// be among the best.
func (d *denseWork) tile(x *run, w *scratch, t *denseTerms, width, lo, hi int) {
	s, js, dim, n, k := &w.dense, d.js, x.c.Dim, hi-lo, x.r.kernels
	s.dots, s.masks = grow(s.dots, denseTile*width), grow(s.masks, denseTile)
	for from := 0; from < dim; from += denseBlock {
		b := min(denseBlock, dim-from)
		rows, ld := d.block(x.c, s, t.far, lo, hi, from, b)
		k.Gemm(s.dots, width, rows, ld, n, s.panels[from*width:], b, width, from > 0)
	}
	scale, size, offset := d.terms(s, t, lo, hi)
	k.DenseTestRows(s.dots, width, s.margin[:width], s.factor[:width], s.tau[:width], width, scale, size, offset, s.masks[:n])
	asked := ^uint64(0) >> (64 - len(js)) // the other places are padding
	for i, mask := range s.masks[:n] {
		if mask &= asked; mask == 0 {
			continue
		}
		row := d.row(lo + i)
		scale, size, offset := scale[i], size[i], offset[i]
		dots := s.dots[i*width:][:width]
		for ; mask != 0; mask &= mask - 1 {
			e := bits.TrailingZeros64(mask)
			if !s.plain[e] && !d.returns(&x.states[js[e]], t, row) {
				continue
			}
			// as the test has it
			bound := float32(dots[e]*scale) + float32(s.margin[e]*size) + float32(offset*s.factor[e])
			if bound-bound != 0 { // not finite: only its score says
				q := &x.states[js[e]]
				s.offer(q, e, scored{q.exact(uint32(row)), uint32(row)})
				continue
			}
			r := &s.waiting[e]
			r.ids, r.bounds = append(r.ids, uint32(row)), append(r.bounds, bound)
		}
	}
	for e, j := range js {
		q, held := &x.states[j], len(s.waiting[e].ids)
		if held > 2*q.goal.K+denseFirst || held >= q.goal.K && s.tau[e] == q.denseTau(q.scale.Threshold(q.floor), s.shift[e]) {
			s.lift(q, t, e)
		}
		if len(s.waiting[e].ids) > denseWaiting {
			w.scoreWaiting(q, e)
		}
	}
}

// lift raises the threshold of the query in place e by the rows that wait: at least
// k of them score what the k-th of their lower bounds says. It drops those that
// fall below it.
func (s *denseScratch) lift(q *state, t *denseTerms, e int) {
	x, k := &s.waiting[e], q.goal.K
	if k == 0 || k > len(x.ids) {
		return
	}
	s.lower = grow(s.lower, len(x.ids))
	for i, row := range x.ids {
		// the margin covers as much below the product as above it
		gap := 2 * float64(s.margin[e]) * float64(t.size[row])
		if q.c.Offset != nil { // the stored offset is an upper bound
			norm := float64(q.c.Norm[t.inverse[row]])
			gap += (float64(t.offset[row]) + norm*norm/2*(1+looks.Slop)) * float64(s.factor[e])
		}
		s.lower[i] = float64(x.bounds[i]) - gap
	}
	tiny := float64(q.c.Dim) * math.SmallestNonzeroFloat32 // as in denseTau
	s.tau[e] = max(s.tau[e], q.denseTau(q.scale.LowerThreshold(bandit.KthLargest(s.lower, k)-s.shift[e])-tiny, s.shift[e]))
	s.drop(q, e, s.tau[e])
}

// drop drops the rows whose bound is below least.
func (s *denseScratch) drop(q *state, e int, least float32) {
	x := &s.waiting[e]
	x.cut(q.k.Select(x.ids, x.bounds, x.ids, x.bounds, least, float32(math.Inf(1))))
}

// leave leaves of the rows that wait the n of greatest bound, and equal ones.
func (s *denseScratch) leave(q *state, e, n int) {
	x := &s.waiting[e]
	if len(x.ids) <= n {
		return
	}
	s.lower = grow(s.lower, len(x.ids))
	for i, b := range x.bounds {
		s.lower[i] = float64(b)
	}
	s.drop(q, e, float32(bandit.KthLargest(s.lower, n)))
}

// scoreWaiting scores the rows that wait for the query in place e.
func (w *scratch) scoreWaiting(q *state, e int) {
	s := &w.dense
	x := &s.waiting[e]
	w.scores = grow(w.scores, len(x.ids))
	q.exacts(w.scores, x.ids)
	s.scored[e] += len(x.ids)
	for i, row := range x.ids {
		s.offer(q, e, scored{w.scores[i], row})
	}
	x.cut(0)
}

// denseTau is the threshold of the float32 test, whose products are more by shift:
// those below the normal numbers are off by up to half a step of the least one each.
func (s *state) denseTau(tau, shift float64) float32 {
	return float32(tau+shift) - float32(s.c.Dim)*math.SmallestNonzeroFloat32
}

// offer takes an exact score of the query in place k.
func (s *denseScratch) offer(q *state, k int, a scored) {
	if a.score < q.floor {
		return
	}
	s.tops[k].push(a)
	if s.tops[k].full() {
		s.tau[k] = max(s.tau[k], q.denseTau(q.scale.Threshold(s.tops[k].heap[0].score), s.shift[k]))
	}
}

package cpu

import (
	"context"
	"math"
	"slices"

	"thresher/bandit"
)

// denseScratch is a goroutine's memory for the dense path. The arrays have an entry for each
// query of the job.
type denseScratch struct {
	query, panels []float32 // the queries, as rows and packed for Gemm
	packed, width int       // how many are packed, the first ones, and with padding
	gathered      []float32 // coordinates of a tile's rows, if copied
	scale         []float32 // terms of a tile's rows, if copied
	size, offset  []float32
	dots          []float32 // products of a tile, [rows][packed queries], or [queries][rows] if none is
	fewDots       []float32 // products with the queries that are not packed, if others are, [queries][rows]
	masks         []uint64  // for each row of a tile the queries whose threshold it may reach
	lowerBounds   []float64

	margin     [denseQueries]float32   // bound of the float32 error relative to a row's size
	factor     [denseQueries]float32   // factor of offsets
	share      [denseQueries]float64   // bound of the error relative to the product
	tau        [denseQueries]float32   // of rows that are read
	reach      [denseQueries]float32   // of pending rows, which come before those with equal bounds that are read later
	sharp      [denseQueries]bool      // rows that are read must exceed the threshold, not only reach it
	shift      [denseQueries]float64   // state.denseShift
	allAllowed [denseQueries]bool      // every row that is read may be returned
	hiddenAt   [denseQueries]int       // of hiddenRows, those before which rows were asked for
	plain      bool                    // allAllowed for every query, and none has a ceiling
	pending    [denseQueries]survivors // rows that passed the test and are not yet scored, by number
	left       [denseQueries]int       // pending rows when the threshold was last tightened
	tops       [denseQueries]top       // of rows scored before the end of the range
	found      [denseQueries][]scored  // rows scored at its end
	scored     [denseQueries]int       // rows scored in float64 after the test
}

// tighten raises the threshold of query e of the job to a lower bound that k of its pending rows
// have, and drops those below it. If last is set, the rows that are left are scored next, and some
// more than k may be left; otherwise about a quarter more.
func (w *scratch) tighten(q *state, t *denseTerms, e int, last bool) {
	s := &w.dense
	x, k := &s.pending[e], q.goal.K
	if k == 0 || k > len(x.ids) {
		return
	}
	if !q.bounded() {
		spare := k/4 + 1
		if last {
			spare = k/16 + 1
			if len(x.ids) <= k+spare {
				return
			}
		}
		s.raiseTo(q, e, s.lowerBoundFrom(q, t, e, rankedFrom(q.kern, x.bounds, k, spare)))
		if most := k + k/2 + 1; len(x.ids) <= most && !last || len(x.ids) <= k+spare {
			return
		}
	}
	s.lowerBounds = grow(s.lowerBounds, len(x.ids))
	n := 0
	for i, row := range x.ids {
		if q.bounded() && !q.certainlyBelow(s.upperBound(q, e, x.bounds[i])) {
			continue
		}
		s.lowerBounds[n] = s.lowerBound(q, t, e, row, x.bounds[i])
		n++
	}
	if n < k {
		return
	}
	s.raiseTo(q, e, bandit.KthLargest(s.lowerBounds[:n], k))
}

// lowerBoundFrom returns a lower bound of the rows of query e whose upper bound in the float32 test is at
// least least, in the product form: by the greatest gap of any row.
func (s *denseScratch) lowerBoundFrom(q *state, t *denseTerms, e int, least float32) float64 {
	if q.dots != byNorms {
		return s.lowerOf(q, e, least)
	}
	return float64(least) - 2*float64(s.margin[e])*t.greatest - t.greatestGap*float64(s.factor[e]) - s.shift[e] - q.denseTiny()
}

// raiseTo raises the threshold of query e to a bound in the product form that k rows reach, and
// drops the pending rows below it.
func (s *denseScratch) raiseTo(q *state, e int, lower float64) {
	s.raiseTau(q, e, s.testTau(q, e, q.denseConversion().LowerThreshold(lower)))
	x := &s.pending[e]
	x.dropBelow(q.kern, s.reach[e])
	if s.sharpAt(q, e) && s.tau[e] > s.reach[e] {
		x.dropTies(q.kern, s.reach[e], q.goal.K)
	}
}

// floorTau returns the floor of query q, e of the job, as a threshold of the test.
func (s *denseScratch) floorTau(q *state, e int) float32 {
	return s.testTau(q, e, q.denseConversion().Threshold(q.floor))
}

// raiseTau raises the thresholds of query e of the job to reach, which the products of k of the rows that are read
// so far reach.
func (s *denseScratch) raiseTau(q *state, e int, reach float32) {
	if reach < s.reach[e] {
		return
	}
	s.reach[e] = reach
	s.tau[e] = max(s.tau[e], reach)
	if s.sharpAt(q, e) {
		s.tau[e] = above(reach)
	}
}

// sharpAt reports whether rows that only reach the threshold score no more than k that were read before, and so are in no
// answer with them: neither has an error.
func (s *denseScratch) sharpAt(q *state, e int) bool {
	return s.sharp[e] && (s.share[e] == 0 || s.reach[e] == 0)
}

// testTau returns a threshold in the product form as one of the test.
func (s *denseScratch) testTau(q *state, e int, tau float64) float32 {
	if q.dots == byNorms {
		return q.denseTau(tau, s.shift[e])
	}
	if s.share[e] > 0 && !math.IsInf(tau, 0) {
		tau *= q.denseFactor()
		tau -= s.share[e] * math.Abs(tau)
	}
	return float32(tau)
}

// above returns the next greater number, for 0 one that is not subnormal.
func above(x float32) float32 {
	if x == 0 {
		return leastNormal
	}
	return math.Nextafter32(x, float32(math.Inf(1)))
}

// leastNormal is the least positive number that is not subnormal. Products with dotError byProduct or noError are
// greater or 0.
const leastNormal = 0x1p-126

// lowerBound returns the lower bound of a row for query e of the job, in the product form, from its
// upper bound in the float32 test, whose error bound holds in both directions.
func (s *denseScratch) lowerBound(q *state, t *denseTerms, e int, row uint32, bound float32) float64 {
	if q.dots != byNorms {
		return s.lowerOf(q, e, bound)
	}
	gap := 2 * float64(s.margin[e]) * float64(t.size[row])
	if q.c.Offset != nil { // the stored offset may exceed the true one
		gap += t.offsetGap(q.c, int(t.inverse[row]), row) * float64(s.factor[e])
	}
	return float64(bound) - gap - s.shift[e] - q.denseTiny()
}

// lowerOf is lowerBound if margins are 0. Whoever compares with the threshold takes account of the error again.
func (s *denseScratch) lowerOf(q *state, e int, product float32) float64 {
	p := float64(product)
	return (p - s.share[e]*math.Abs(p)) / q.denseFactor()
}

// upperBound returns a row's bound in the float32 test as one in the product form.
func (s *denseScratch) upperBound(q *state, e int, bound float32) float64 {
	return float64(bound) - s.shift[e] + q.denseTiny()
}

// denseTiny bounds the error of subnormal products, up to half a step of the least number each.
func (s *state) denseTiny() float64 { return float64(s.c.Dim) * math.SmallestNonzeroFloat32 }

// keepBest drops the rows of x but the n of greatest bound, and ties.
func (s *denseScratch) keepBest(q *state, x *survivors, n int) {
	if len(x.ids) <= n {
		return
	}
	s.lowerBounds = grow(s.lowerBounds, len(x.ids))
	for i, b := range x.bounds {
		s.lowerBounds[i] = float64(b)
	}
	x.dropBelow(q.kern, float32(bandit.KthLargest(s.lowerBounds, n)))
}

// takePending adds the pending rows of query e of the job, whose products have no error, to those found.
func (w *scratch) takePending(q *state, t *denseTerms, e int) {
	x := &w.dense.pending[e]
	w.dense.addFound(q, e, x.ids, w.exactScores(q, t, x))
	x.truncate(0)
}

// exactScores returns the scores of rows by their products without errors.
func (w *scratch) exactScores(q *state, t *denseTerms, x *survivors) []float64 {
	w.scores = grow(w.scores, len(x.ids))
	for i, row := range x.ids {
		w.scores[i] = q.exactScore(row, x.bounds[i], t.scale[row])
	}
	return w.scores
}

// scorePending scores the pending rows of query e of the job exactly.
func (w *scratch) scorePending(q *state, t *denseTerms, e int) {
	s := &w.dense
	x := &s.pending[e]
	if q.dots == noError {
		s.addScored(q, e, x.ids, w.exactScores(q, t, x))
		x.truncate(0)
		return
	}
	w.scores = grow(w.scores, len(x.ids))
	q.searchScores(w.scores, x.ids)
	s.scored[e] += len(x.ids)
	s.addScored(q, e, x.ids, w.scores)
	x.truncate(0)
}

// scoreAllPending scores the pending rows of all queries js of the job exactly, tile by tile. If ctx
// ends, the rows that are not scored yet stay pending.
func (w *scratch) scoreAllPending(ctx context.Context, x *run, js []int) error {
	s := &w.dense
	w.rows.reset(len(js))
	for e := range js {
		w.rows.lists[e] = s.pending[e].ids
	}
	err := w.rows.visitTiles(ctx, x.r, w, func(e int, ids []uint32, near bool) {
		w.scores = grow(w.scores, len(ids))
		x.states[js[e]].searchScoresOf(w.scores, ids, near)
		s.addFound(&x.states[js[e]], e, ids, w.scores)
		s.scored[e] += len(ids)
	})
	for e := range js {
		s.pending[e].dropFirst(w.rows.from[e])
	}
	return err
}

// addFound adds exactly scored rows to those found for query e of the job.
func (s *denseScratch) addFound(q *state, e int, rows []uint32, scores []float64) {
	s.found[e] = q.appendScored(s.found[e], rows, scores)
}

// appendScored appends exactly scored rows to list, if they are within floor and ceiling.
func (s *state) appendScored(list []scored, rows []uint32, scores []float64) []scored {
	list = slices.Grow(list, len(rows))
	for i, row := range rows {
		if s.answersWith(scores[i]) {
			list = append(list, scored{scores[i], row})
		}
	}
	return list
}

// bestOf returns the k best atoms of a query's list, or all for k = 0, in any order and without the
// given candidates, of which every range has a copy. It reuses the list.
func (w *scratch) bestOf(q *state, list []scored) []scored {
	if k := q.goal.K; k > 0 && len(list) > k {
		w.sorting.sort(list)
		list = list[:k]
	}
	if len(q.bestGiven) > 0 {
		list = slices.DeleteFunc(list, func(a scored) bool { return q.isGiven(a.row) })
	}
	return list
}

// denseTau returns tau as a threshold of the float32 test, whose products are greater by
// shift. It is lowered by the error of subnormal products, up to half a step of the least
// number each, which a usual threshold absorbs: arithmetic on subnormal numbers takes some processors more
// than a hundred cycles.
func (s *state) denseTau(tau, shift float64) float32 {
	t := float32(tau + shift)
	if t >= absorbsTiny || t <= -absorbsTiny {
		return t
	}
	return t - float32(s.c.Dim)*math.SmallestNonzeroFloat32
}

// absorbsTiny is a number of which denseTiny is less than half a step for up to collection.MaxDim coordinates.
const absorbsTiny = 0x1p-100

// addScored adds exactly scored rows to the best of query e of the job, if they are within floor
// and ceiling, and raises the threshold.
func (s *denseScratch) addScored(q *state, e int, rows []uint32, scores []float64) {
	best := &s.tops[e]
	for i, row := range rows {
		if q.answersWith(scores[i]) {
			best.push(scored{scores[i], row})
		}
	}
	if best.full() {
		s.raiseTau(q, e, s.testTau(q, e, q.denseConversion().Threshold(best.worst().score)))
	}
}

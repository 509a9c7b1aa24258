package dense

import (
	"cmp"
	"context"
	"math"
	"slices"

	"thresher/cpu/topk"
)

// AddPartial adds the rows that stopped scans have found for query j to its answers, and forgets them.
func (x *Scans) AddPartial(j int) {
	q := &x.queries[j]
	q.AddFound(q.partial)
	q.partial = nil
}

// takePending adds the pending rows of query e of the pass, whose products have no error, to those found.
func (w *scratch) takePending(q *Query, t *terms, e int) {
	x := &w.tests.pending[e]
	w.tests.addFound(q, e, x.IDs, w.exactScores(q, t, x))
	x.Truncate(0)
}

// exactScores returns the scores of rows by their products without errors.
func (w *scratch) exactScores(q *Query, t *terms, x *topk.Entries) []float64 {
	w.Scores = topk.Grow(w.Scores, len(x.IDs))
	for i, row := range x.IDs {
		w.Scores[i] = q.exactScore(row, x.Bounds[i], t.scale[row])
	}
	return w.Scores
}

// scorePending scores the pending rows of query e of the pass exactly.
func (w *scratch) scorePending(q *Query, t *terms, e int) {
	s := &w.tests
	x := &s.pending[e]
	if q.dots == noError {
		s.addScored(q, e, x.IDs, w.exactScores(q, t, x))
		x.Truncate(0)
		return
	}
	w.Scores = topk.Grow(w.Scores, len(x.IDs))
	q.SearchScores(w.Scores, x.IDs)
	s.scored[e] += len(x.IDs)
	s.addScored(q, e, x.IDs, w.Scores)
	x.Truncate(0)
}

// scoreAllPending scores the pending rows of all queries js of the pass exactly, tile by tile. If ctx
// ends, the rows that are not scored yet stay pending.
func (w *scratch) scoreAllPending(ctx context.Context, x *Scans, js []int) error {
	s := &w.tests
	w.rows.Reset(len(js))
	for e := range js {
		w.rows.Lists[e] = s.pending[e].IDs
	}
	err := w.rows.VisitTiles(ctx, x.Resident, w.Scratch, func(e int, ids []uint32, near bool) {
		w.Scores = topk.Grow(w.Scores, len(ids))
		x.queries[js[e]].SearchScoresOf(w.Scores, ids, near)
		s.addFound(&x.queries[js[e]], e, ids, w.Scores)
		s.scored[e] += len(ids)
	})
	for e := range js {
		s.pending[e].DropFirst(w.rows.From[e])
	}
	return err
}

// AddFound adds exactly scored rows to those found for query e of the pass.
func (s *tests) addFound(q *Query, e int, rows []uint32, scores []float64) {
	s.found[e] = q.appendScored(s.found[e], rows, scores)
}

// appendScored appends exactly scored rows to list, if they are within floor and ceiling.
func (s *Query) appendScored(list []topk.Scored, rows []uint32, scores []float64) []topk.Scored {
	list = slices.Grow(list, len(rows))
	for i, row := range rows {
		if s.AnswersWith(scores[i]) {
			list = append(list, topk.Scored{Score: scores[i], Row: row})
		}
	}
	return list
}

// bestOf returns the k best atoms of a query's list, or all for k = 0, in any order and without the
// given candidates, of which every range has a copy. It reuses the list.
func (w *scratch) bestOf(q *Query, list []topk.Scored) []topk.Scored {
	if k := q.Goal.K; k > 0 && len(list) > k {
		w.Sorter.Sort(list)
		list = list[:k]
	}
	if len(q.BestGiven) > 0 {
		list = slices.DeleteFunc(list, func(a topk.Scored) bool { return q.isGiven(a.Row) })
	}
	return list
}

// addScored adds exactly scored rows to the best of query e of the pass, if they are within floor
// and ceiling, and raises the threshold.
func (s *tests) addScored(q *Query, e int, rows []uint32, scores []float64) {
	best := &s.tops[e]
	scores = scores[:len(rows)]
	worst := math.Inf(-1) // below which no row is among the best
	if best.Full() {
		worst = best.Worst().Score
	}
	for i, row := range rows {
		if scores[i] >= worst && q.AnswersWith(scores[i]) {
			best.Push(topk.Scored{Score: scores[i], Row: row})
		}
	}
	if best.Full() {
		s.raiseTau(q, e, s.testTau(q, e, q.conversion().Threshold(best.Worst().Score)))
	}
}

// sortGiven prepares isGiven.
func (s *Query) sortGiven() {
	slices.SortFunc(s.BestGiven, func(a, b topk.Scored) int { return cmp.Compare(a.Row, b.Row) })
}

// isGiven reports whether a row is among the best of the given candidates, after sortGiven.
func (s *Query) isGiven(row uint32) bool {
	_, found := slices.BinarySearchFunc(s.BestGiven, row, func(a topk.Scored, row uint32) int { return cmp.Compare(a.Row, row) })
	return found
}

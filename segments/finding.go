package segments

import (
	"cmp"
	"slices"

	"thresher/batch"
	"thresher/collection"
)

// finding is what the segments visited so far have answered to one query.
type finding struct {
	ids    []int64   // best first; equal scores by ascending id
	scores []float64 // search scores

	cert    batch.Certificate // of the first segment, with the work of the others
	worst   batch.Guarantee
	method  batch.Method // by which the segment of the worst guarantee was searched
	chance  bool         // a bound that can fail may have dropped a vector
	visited int          // segments
}

// add takes in the answer of one segment.
func (f *finding) add(q *question, v *view, a *batch.Answer) {
	f.certify(q, a)
	limit := q.k
	if limit == 0 {
		limit = q.req.Limit
	}
	if len(a.IDs) == 0 {
		return
	}
	total := len(f.ids) + len(a.IDs)
	if limit > 0 {
		total = min(total, limit)
	}
	ids, scores := make([]int64, 0, total), make([]float64, 0, total)
	// rows of a segment ascend with their ids, and so its answer is in the order of the whole
	for i, j := 0, 0; len(ids) < total; {
		var id int64
		if j < len(a.IDs) {
			id = v.ID(int(a.IDs[j]))
		}
		if j == len(a.IDs) || i < len(f.ids) && before(f.scores[i], f.ids[i], a.SearchScores[j], id) {
			ids, scores = append(ids, f.ids[i]), append(scores, f.scores[i])
			i++
		} else {
			ids, scores = append(ids, id), append(scores, a.SearchScores[j])
			j++
		}
	}
	f.ids, f.scores = ids, scores
}

// before reports whether a vector stands before another in answers.
func before(score float64, id int64, other float64, otherID int64) bool {
	if score != other {
		return score > other
	}
	return id < otherID
}

// certify takes in the certificate of one segment's answer. docs/guarantee.md, "Parts" and "Merged answers", has the proof.
func (f *finding) certify(q *question, a *batch.Answer) {
	c, t := &a.Certificate, &f.cert
	bound := c.OpenBound
	if n := len(a.IDs); bound != nil && n > 0 && (q.k == 0 || n < q.k) {
		// the whole answer may end above this one, and what it left out of the segment with it
		above := max(*bound, a.SearchScores[n-1]+q.s.set.o.Collection.Metric.Gap(c.Epsilon))
		bound = &above
	}
	if f.visited++; f.visited == 1 {
		f.cert, f.worst, f.method, f.chance = *c, c.Guarantee, c.Method, c.Delta > 0
		return
	}
	if c.Guarantee.Rank() > f.worst.Rank() {
		f.worst, f.method = c.Guarantee, c.Method
	}
	f.chance = f.chance || c.Delta > 0
	known := t.ThresholdBefore
	t.AddWork(c)
	t.ThresholdBefore = known // of floors found in other segments nothing is said
	t.Epsilon, t.Exact = max(t.Epsilon, c.Epsilon), t.Exact && c.Exact
	if bound != nil && (t.OpenBound == nil || *bound > *t.OpenBound) {
		t.OpenBound = bound
	}
	t.Backend, t.Fallback = cmp.Or(t.Backend, c.Backend), cmp.Or(t.Fallback, c.Fallback)
}

// answer returns the answer to query i of the walk.
func (w *walk) answer(i int) batch.Answer {
	f := &w.found[i]
	if f.scores == nil {
		f.scores = []float64{} // as an engine's answer without atoms has
	}
	a := batch.Answer{IDs: f.ids, Scores: make([]float32, len(f.ids)), SearchScores: f.scores, Certificate: f.cert}
	collection.ShowAll(w.s.set.o.Collection.Metric, a.Scores, f.scores)
	if a.SearchScores == nil { // none, and asked for
		a.SearchScores = []float64{}
	}
	a.Limited = w.k == 0 && w.req.Limit > 0 && len(f.ids) >= w.req.Limit
	c := &a.Certificate
	c.Candidates = w.candidates(i, f.ids)
	if f.visited == 1 {
		return a
	}
	c.Method, c.Guarantee, c.Plan, c.Looks, c.Threshold, c.Predicted, c.PredictedCost = f.method, f.worst, batch.MergedPlan, nil, nil, 0, 0
	if c.Delta = 0; f.chance && f.worst.CanFail() {
		c.Delta = w.delta
		if cmp.Or(w.req.Method, batch.Auto).Chances() == batch.Unfounded {
			c.Guarantee, c.Delta = batch.GuaranteeHeuristic, 0
		}
	}
	if c.Delta == 0 {
		c.Law = ""
	}
	return a
}

// candidates says what became of the candidates of query i; nil if it had none that are there.
func (w *walk) candidates(i int, ids []int64) *batch.CandidateRecord {
	own := w.req.Goals[i].Candidates
	if len(own) == 0 {
		return nil
	}
	given := map[int64]bool{}
	for _, id := range own {
		if w.allowed(i, id) {
			given[id] = true
		}
	}
	if len(given) == 0 {
		return nil
	}
	record := &batch.CandidateRecord{Given: len(given)}
	for _, id := range ids {
		if given[id] {
			record.Right++
		}
	}
	return record
}

// allowed reports whether query i may be answered with an id.
func (w *walk) allowed(i int, id int64) bool {
	if w.sorted != nil {
		if _, found := slices.BinarySearch(w.sorted, id); !found {
			return false
		}
	}
	if w.among != nil && !w.among.has(id) {
		return false
	}
	return w.s.Has(id) && !slices.Contains(w.req.Exclude, id) && !slices.Contains(w.req.Goals[i].Exclude, id)
}

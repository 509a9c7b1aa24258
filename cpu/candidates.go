package cpu

import (
	"math"

	"thresher/backend"
	"thresher/backend/looks"
)

// takeChunk takes the arms of a chunk of so many atoms that passed the look. Those whose estimate reaches the
// threshold, and not more than the ceiling, are candidates, which are scored at once and may raise
// the threshold, and some of the greatest deterministic bounds. The others are listed with their bounds.
func (q *scanState) takeChunk(w *scratch, source backend.Source, passed survivors, strip *looks.Strip, chunkAtoms int) {
	rounding, radius := q.bound.StripRounding(strip), strip.MeanRadius*q.bound.RadiusFactor
	limit := float32(math.Inf(1)) // candidates have lower bounds
	eligible := passed
	if q.bounded() {
		limit = float32(q.ceiling + q.conversion.Lead + rounding + radius)
		w.eligible.truncate(0)
		w.eligible.appendSelected(q.kern, passed, float32(math.Inf(-1)), limit)
		eligible = w.eligible
		q.above += len(passed.ids) - len(eligible.ids)
	}
	above := limit
	q.tied = false
	if q.mayRise(len(q.list.ids) + len(passed.ids)) {
		above = q.scoreFirst(w, source, eligible, limit)
		if q.bound.Kind == looks.Cauchy && q.begun && above == limit {
			above = q.scoreGreatest(w, source, eligible, limit, chunkAtoms)
		}
		// In descending steps of bounds, since each step may raise the threshold above the next.
		reaching := func() float32 { return max(float32(q.tau+rounding+radius), q.least32()) }
		w.selected.truncate(0)
		w.selected.appendSelected(q.kern, passed, reaching(), above)
		if len(q.given) > 0 && above == limit && !q.begun {
			// If given candidates made a weak threshold, the arms of greatest bound make a better one: an
			// eighth of k if few candidates are weak, else k.
			for n := max(4, q.goal.K/8); len(w.selected.ids) > 2*n; n = q.goal.K {
				cut := max(q.cutOf(eligible, n), reaching())
				w.candidates.truncate(0)
				w.candidates.appendSelected(q.kern, eligible, cut, above)
				q.tightenBy(w, source, w.candidates)
				above = min(above, cut)
				w.selected.truncate(0)
				w.selected.appendSelected(q.kern, passed, reaching(), above)
				if n >= q.goal.K {
					break
				}
			}
		}
		for _, f := range candidateRadii {
			if above, q.tied = q.scoreReaching(w, source, rounding+f*radius, above); q.tied {
				break
			}
		}
	}
	q.begun, q.weak = true, 0
	if !q.bounded() {
		q.list.appendSelected(q.kern, passed, q.least32(), above)
		return
	}
	least := q.least32()
	for k, b := range passed.bounds {
		if b >= least && (b < above || b >= limit) {
			q.list.ids, q.list.bounds = append(q.list.ids, passed.ids[k]), append(q.list.bounds, b)
		}
	}
}

// firstRounds is how many times a chunk's arms of greatest bound are scored for the first threshold,
// if there is a ceiling: about half of those whose bound is near it score above it.
const firstRounds = 4

// scoreFirst scores the arms of greatest bound below limit, if there are fewer than k scores. It
// returns the least bound of those scored, or limit.
func (q *scanState) scoreFirst(w *scratch, source backend.Source, arms survivors, limit float32) float32 {
	above := limit
	for range firstRounds {
		cut := q.firstCut(arms)
		if cut >= above {
			break
		}
		w.candidates.truncate(0)
		w.candidates.appendSelected(q.kern, arms, cut, above)
		q.tightenBy(w, source, w.candidates)
		above = cut
		if !q.bounded() {
			break
		}
		arms.truncate(q.kern.Select(arms.ids, arms.bounds, arms.ids, arms.bounds, float32(math.Inf(-1)), above))
	}
	return above
}

// armsPerScore is how many arms of a chunk must have passed for each row that is scored to raise the
// threshold, which costs as much as listing and looking at so many arms.
const armsPerScore = 16

// scoreGreatest scores arms of a chunk of so many atoms, those of greatest bound below above, and returns
// the least of their bounds. An estimate by a deterministic bound counts the coordinates beyond the
// prefix as zero, so it hardly ever reaches the threshold, even that of the best atom: without these arms
// the threshold would stay that of the first chunk until rows are read. As many are scored as a chunk has
// of the k best so far if atoms come in random order.
func (q *scanState) scoreGreatest(w *scratch, source backend.Source, arms survivors, above float32, atoms int) float32 {
	n := min(max(1, (q.goal.K*atoms+q.seen-1)/max(1, q.seen)), len(arms.ids)/armsPerScore)
	if n == 0 {
		return above
	}
	cut := max(q.cutOf(arms, n), q.least32())
	w.candidates.truncate(0)
	w.candidates.appendSelected(q.kern, arms, cut, above)
	q.tightenBy(w, source, w.candidates)
	return min(above, cut)
}

// candidateRadii are the steps in which candidates are scored: the distance of their bounds
// from the threshold in mean radii of the strip. At 1 the estimate equals the threshold.
var candidateRadii = [...]float64{2, 1.5, 1.25, 1}

// scoreReaching scores the selected arms whose bounds are at least so far from the threshold and below above, and
// returns the least of their bounds. If the first of many are not better than the threshold, it is tied, and the others
// are left.
func (q *scanState) scoreReaching(w *scratch, source backend.Source, distance float64, above float32) (least float32, tied bool) {
	cut := func() float32 { return max(min(above, float32(q.tau+distance)), q.least32()) }
	w.candidates.truncate(0)
	w.candidates.appendSelected(q.kern, w.selected, cut(), above)
	if len(w.candidates.ids) > fruitless+2*q.goal.K {
		first := q.cutOf(w.candidates, fruitless)
		w.candidates.dropBelow(q.kern, first)
		above = first
		if !q.tightenBy(w, source, w.candidates) {
			return above, true
		}
		w.candidates.truncate(0)
		w.candidates.appendSelected(q.kern, w.selected, cut(), above)
	}
	above = min(above, cut())
	q.tightenBy(w, source, w.candidates)
	return above, false
}

// fruitless is how many candidates, those of greatest bound, are scored first if there are that many and 2 k more. If
// none of them is better than the threshold, it is the score of many arms, which would all be scored and raise nothing.
const fruitless = 16

// firstCut returns a bound that the arms have that are to be scored before there is a threshold: those
// of greatest bound, as many as are missing to k scores. It is +Inf if none are missing, and
// -Inf if all that passed are scored.
func (q *scanState) firstCut(passed survivors) float32 {
	missing := q.goal.K - max(q.best.len()-q.weak, q.lower.len()) // both have the given candidates, lower if it makes thresholds
	if missing <= 0 {
		return float32(math.Inf(1))
	}
	return q.cutOf(passed, missing)
}

// cutOf returns a bound that the n arms of greatest bound have at least, and no others unless their
// bound is that of the n-th; -Inf if there are no more arms.
func (q *scanState) cutOf(passed survivors, n int) float32 {
	if len(passed.ids) <= n {
		return float32(math.Inf(-1))
	}
	return rankedFrom(q.kern, passed.bounds, n, 0)
}

// tightenBy scores candidates by source, which may raise the threshold, and counts them. It reports whether
// any is better than the threshold was.
func (q *scanState) tightenBy(w *scratch, source backend.Source, a survivors) bool {
	q.passed += len(a.ids)
	return q.tighten(w, source, a)
}

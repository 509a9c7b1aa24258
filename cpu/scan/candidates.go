package scan

import (
	"math"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/cpu/topk"
)

// takeChunk takes the arms of a chunk of so many atoms that passed the look. Those whose estimate reaches the
// threshold, and not more than the ceiling, are candidates, which are scored at once and may raise
// the threshold, and some of the greatest deterministic bounds. The others are listed with their bounds.
func (q *scanning) takeChunk(w *scratch, source backend.Source, passed topk.Entries, strip *looks.Strip, chunkAtoms int) {
	rounding, radius := q.bound.StripRounding(strip), strip.MeanRadius*q.bound.RadiusFactor
	limit := float32(math.Inf(1)) // candidates have lower bounds
	eligible := passed
	if q.Bounded() {
		limit = float32(q.Ceiling + q.Conversion.Lead + rounding + radius)
		w.eligible.Truncate(0)
		w.eligible.AppendSelected(q.Kern, passed, float32(math.Inf(-1)), limit)
		eligible = w.eligible
		q.above += len(passed.IDs) - len(eligible.IDs)
	}
	above := limit
	q.tied = false
	if q.MayRise(len(q.List.IDs) + len(passed.IDs)) {
		above = q.scoreFirst(w, source, eligible, limit)
		if q.bound.Kind == looks.Cauchy && q.begun && above == limit {
			above = q.scoreGreatest(w, source, eligible, limit, chunkAtoms)
		}
		// In descending steps of bounds, since each step may raise the threshold above the next.
		reaching := func() float32 { return max(float32(q.Tau+rounding+radius), q.Tau32()) }
		w.selected.Truncate(0)
		w.selected.AppendSelected(q.Kern, passed, reaching(), above)
		if len(q.Given) > 0 && above == limit && !q.begun {
			// If given candidates made a weak threshold, the arms of greatest bound make a better one: an
			// eighth of k if few candidates are weak, else k.
			for n := max(4, q.Goal.K/8); len(w.selected.IDs) > 2*n; n = q.Goal.K {
				cut := max(q.cutOf(eligible, n), reaching())
				w.candidates.Truncate(0)
				w.candidates.AppendSelected(q.Kern, eligible, cut, above)
				q.tightenBy(w, source, w.candidates)
				above = min(above, cut)
				w.selected.Truncate(0)
				w.selected.AppendSelected(q.Kern, passed, reaching(), above)
				if n >= q.Goal.K {
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
	if !q.Bounded() {
		q.List.AppendSelected(q.Kern, passed, q.Tau32(), above)
		return
	}
	least := q.Tau32()
	for k, b := range passed.Bounds {
		if b >= least && (b < above || b >= limit) {
			q.List.IDs, q.List.Bounds = append(q.List.IDs, passed.IDs[k]), append(q.List.Bounds, b)
		}
	}
}

// firstRounds is how many times a chunk's arms of greatest bound are scored for the first threshold,
// if there is a ceiling: about half of those whose bound is near it score above it.
const firstRounds = 4

// scoreFirst scores the arms of greatest bound below limit, if there are fewer than k scores. It
// returns the least bound of those scored, or limit.
func (q *scanning) scoreFirst(w *scratch, source backend.Source, arms topk.Entries, limit float32) float32 {
	above := limit
	for range firstRounds {
		cut := q.firstCut(arms)
		if cut >= above {
			break
		}
		w.candidates.Truncate(0)
		w.candidates.AppendSelected(q.Kern, arms, cut, above)
		q.tightenBy(w, source, w.candidates)
		above = cut
		if !q.Bounded() {
			break
		}
		arms.Truncate(q.Kern.Select(arms.IDs, arms.Bounds, arms.IDs, arms.Bounds, float32(math.Inf(-1)), above))
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
func (q *scanning) scoreGreatest(w *scratch, source backend.Source, arms topk.Entries, above float32, atoms int) float32 {
	n := min(max(1, (q.Goal.K*atoms+q.seen-1)/max(1, q.seen)), len(arms.IDs)/armsPerScore)
	if n == 0 {
		return above
	}
	cut := max(q.cutOf(arms, n), q.Tau32())
	w.candidates.Truncate(0)
	w.candidates.AppendSelected(q.Kern, arms, cut, above)
	q.tightenBy(w, source, w.candidates)
	return min(above, cut)
}

// candidateRadii are the steps in which candidates are scored: the distance of their bounds
// from the threshold in mean radii of the strip. At 1 the estimate equals the threshold.
var candidateRadii = [...]float64{2, 1.5, 1.25, 1}

// scoreReaching scores the selected arms whose bounds are at least so far from the threshold and below above, and
// returns the least of their bounds. If the first of many are not better than the threshold, it is tied, and the others
// are left.
func (q *scanning) scoreReaching(w *scratch, source backend.Source, distance float64, above float32) (least float32, tied bool) {
	cut := func() float32 { return max(min(above, float32(q.Tau+distance)), q.Tau32()) }
	w.candidates.Truncate(0)
	w.candidates.AppendSelected(q.Kern, w.selected, cut(), above)
	if len(w.candidates.IDs) > fruitless+2*q.Goal.K {
		first := q.cutOf(w.candidates, fruitless)
		w.candidates.DropBelow(q.Kern, first)
		above = first
		if !q.tightenBy(w, source, w.candidates) {
			return above, true
		}
		w.candidates.Truncate(0)
		w.candidates.AppendSelected(q.Kern, w.selected, cut(), above)
	}
	above = min(above, cut())
	q.tightenBy(w, source, w.candidates)
	return above, false
}

// fruitless is how many candidates, those of greatest bound, are scored first if there are that many and 2 k more. If
// none of them is better than the threshold, it is the score of many arms, which would all be scored and raise nothing.
const fruitless = 16

// firstCut returns a bound that the arms have that are to be scored before there is a threshold: those
// of greatest bound, as many as are missing to k scores. It is +Inf if none are missing, or if others have made a
// threshold, and -Inf if all that passed are scored.
func (q *scanning) firstCut(passed topk.Entries) float32 {
	if q.Goal.FloorMade {
		return float32(math.Inf(1))
	}
	missing := q.Goal.K - max(q.Best.Len()-q.weak, q.Lower.Len()) // both have the given candidates, lower if it makes thresholds
	if missing <= 0 {
		return float32(math.Inf(1))
	}
	return q.cutOf(passed, missing)
}

// cutOf returns a bound that the n arms of greatest bound have at least, and no others unless their
// bound is that of the n-th; -Inf if there are no more arms.
func (q *scanning) cutOf(passed topk.Entries, n int) float32 {
	if len(passed.IDs) <= n {
		return float32(math.Inf(-1))
	}
	return topk.RankedFrom(q.Kern, passed.Bounds, n, 0)
}

// tightenBy scores candidates by source, which may raise the threshold, and counts them. It reports whether
// any is better than the threshold was.
func (q *scanning) tightenBy(w *scratch, source backend.Source, a topk.Entries) bool {
	q.passed += len(a.IDs)
	return q.Tighten(w.Scratch, source, a)
}

package scan

import (
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/bandit"
	"thresher/cpu/arms"
	"thresher/cpu/topk"
)

// settleGiven decides by the first chunk of a look, whose arms are passed, whether the given
// candidates of which only a sample is scored are worth scoring. They are not if the estimates of
// k/4 of these arms are above half of the best k of the candidates: then the arms make a threshold as
// good, and the candidates that are not scored become atoms like all others.
func (q *scanning) settleGiven(w *scratch, source backend.Source, passed topk.Entries, strip *looks.Strip) {
	if q.begun || q.GivenLeft() == 0 {
		return
	}
	w.Scores = w.Scores[:0]
	for _, a := range q.Best.All() {
		w.Scores = append(w.Scores, a.Score)
	}
	best := (q.Sample*min(q.Goal.K, len(q.Given)) + 2*len(q.Given) - 1) / (2 * len(q.Given)) // half of them, of the sample
	if len(w.Scores) >= best {
		middle := q.Conversion.Threshold(bandit.KthLargest(w.Scores, best))
		middle += q.bound.StripRounding(strip) + strip.MeanRadius*q.bound.RadiusFactor // the bound of this estimate
		w.selected.Truncate(0)
		w.selected.AppendSelected(q.Kern, passed, float32(middle), float32(math.Inf(1)))
		if len(w.selected.IDs) < max(4, q.Goal.K/4) {
			q.scoreOtherGiven(w, source)
			return
		}
	}
	q.KeepSample()
	q.weak = q.Best.Len()
	q.hiddenBefore, _ = slices.BinarySearch(q.Hidden, uint32(q.NextPanel*arms.PanelAtoms))
}

// scoreOtherGiven scores the given candidates that are not scored yet, during a look.
func (q *scanning) scoreOtherGiven(w *scratch, source backend.Source) {
	if q.GivenLeft() == 0 {
		return
	}
	q.ScoreSomeGiven(w.Scratch.Scratch, q.GivenLeft())
	if source == backend.LowerBound {
		q.SeedLower()
	}
}

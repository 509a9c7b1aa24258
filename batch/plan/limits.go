package plan

import (
	"math"

	"thresher/backend"
)

// maxSurvivors is the share of arms above which a query that keeps more than forecast
// continues by the dense path: the share kept at the rank of threshold from which further
// looks cost more than a dense scan. 0 means no limit.
func (p *problem) maxSurvivors(l ladder) float64 {
	if l.certain && p.afterAll(l) <= p.denseAloneCost() {
		return 0
	}
	usual := p.rankOf(l)
	high := p.rankWhere(usual, func(rank float64) bool {
		f := p.forecast(l, rank)
		return f.after() > p.denseAloneCost()
	})
	if math.IsInf(high, 1) {
		return 0
	}
	widening := p.widening(l)
	most := max(p.shareKept(l, 0, high, widening), 2*p.shareKept(l, 0, usual, widening)) // forecasts err by up to 2
	if most >= 1 {
		return 0
	}
	return most
}

// afterAll is the cost per arm of all that follows the first look of a ladder if every arm passes all
// looks but the last, which reads whole rows of codes and keeps twice as many as forecast; +Inf for other
// ladders. Queries that keep many arms under bounds of prefixes or signs keep few by whole rows.
func (p *problem) afterAll(l ladder) float64 {
	last := len(l.stages) - 1
	if last == 0 || !p.fullWidth(l.stages[last]) {
		return math.Inf(1)
	}
	cost := p.costs.List + p.rescoreCost()*min(1, 2*p.shareKept(l, last, p.rankOf(l), 0))
	for _, stage := range l.stages[1:] {
		cost += p.laterCost(stage, 1)
	}
	return cost
}

// maxBetter is the share of atoms that may be better than the answer but not wanted, before it is
// cheaper to answer many such queries by a dense scan. 0 means no limit.
func (p *problem) maxBetter(l ladder) float64 {
	if p.k == 0 || p.gathers() {
		return 0
	}
	dense := p.forecast(p.denseLadder(), p.rank(backend.Exact))
	usual := p.rankOf(l)
	rank := p.rankWhere(usual, func(rank float64) bool { return p.afterBetter(l, rank) > dense.total() })
	if math.IsInf(rank, 1) {
		return 0
	}
	return (math.Exp(rank) - math.Exp(usual)) / float64(p.atoms)
}

// betterCost is the cost of an atom that is better than the answer but not wanted, as a multiple of
// its forecast: with a ceiling, lower bounds near it make no threshold, so that more arms pass.
// Measured 3 to 4.
const betterCost = 3.5

// afterBetter is the cost per arm of half of a ladder's first look, of which a query that goes dense
// takes a part, and all that follows, if so many atoms are better than the answer but above a ceiling
// that the final threshold has this rank (the log). They pass all looks; whole rows of codes tell in
// the end that they are above the ceiling, but for those near it, which are scored.
func (p *problem) afterBetter(l ladder, rank float64) float64 {
	usual, low := p.forecast(l, p.rankOf(l)), p.forecast(l, rank)
	whole := len(p.widths) - 1
	tell := p.laterCost(whole, 0)
	if p.readCost(whole) == 0 { // no look reads whole rows, so all that are better are scored
		tell = p.rescoreCost()
	}
	better := math.Exp(rank) / float64(p.atoms)
	near := math.Exp(p.curves.logShare(p.curves.shares, whole, rank)) - better
	more := low.list - usual.list + low.later - usual.later + better*tell + max(0, near)*p.rescoreCost()
	return usual.scan/2 + usual.after() + betterCost*more
}

// rankWhere is the least rank (the log) of threshold from usual on for which a condition holds that is
// true of all greater ones; +Inf if it holds for none.
func (p *problem) rankWhere(usual float64, condition func(rank float64) bool) float64 {
	low, high := usual, math.Log(float64(p.atoms))
	if !condition(high) {
		return math.Inf(1)
	}
	for high-low > .05 {
		if mid := (low + high) / 2; condition(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

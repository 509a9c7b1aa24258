package plan

import (
	"math"

	"thresher/backend"
	"thresher/collection"
)

// A first look at whole rows makes its threshold of its own lower bounds, once, and lists only what reaches the threshold
// that a sample of its panels lets expect (cpu/scan/lowerbounds.go).
const (
	// minOwn is the least k for which queries then score rows together.
	minOwn = 64
	// ownVisits is the cost of an arm that such a look lists, beside listing it, and lastOwnVisits that of an atom of
	// an answer that is scored together, beside answerVisits, as multiples of Costs.Visit. Measured .2 and .4.
	ownVisits, lastOwnVisits = .2, .5
	// sampledVisits is the cost of an atom of the sample, beside scanning it: its lower bound, and selecting among them, as a
	// multiple of Costs.Visit. Measured .05 for k = 100 to .2 for k = 10.
	sampledVisits = .1
)

// raisesByOwn reports whether lower bounds of a ladder's first look raise thresholds: it reads whole rows,
// so that nothing else is read for them.
func (p *problem) raisesByOwn(l ladder) bool {
	return p.k > 0 && l.source == backend.LowerBound && len(l.stages) > 0 && p.fullWidth(l.stages[0])
}

// ownTogether reports whether queries score all rows of a ladder together, because its first look's own bounds raise
// thresholds.
func (p *problem) ownTogether(l ladder) bool {
	return p.raisesByOwn(l) && p.k >= minOwn && p.queries != 1
}

// forecastOwn sets in a forecast what a ladder's first look takes whose own bounds raise thresholds: reading the sample twice,
// and the arms that reach the expected threshold, by which it also ends.
func (p *problem) forecastOwn(f *forecast, l ladder, rank, widening float64) {
	listed, seen, sampled := 1., 1., 0.
	if panels := backend.SampledPanels(p.panels); panels > 0 {
		sampled = float64(panels * collection.PanelAtoms)
		wanted := float64(p.k) * sampled / float64(p.atoms)
		expected := min(rank+math.Log(backend.SampledRank(wanted)/wanted), math.Log(float64(p.atoms)))
		listed, seen = p.shareKept(l, 0, expected, widening), p.shareSeen(expected)+float64(panels)/float64(p.panels)
	}
	f.scan = p.armScanCost(l) * seen
	f.list = p.costs.List * listed
	f.tighten = p.costs.Visit * (ownVisits*listed + sampledVisits*sampled/float64(p.arms))
}

package plan

import (
	"cmp"

	"thresher/backend"
)

// scanScoreCost is the cost of the exact score of one answer at the end of a dense scan. All queries of a
// run score rows together if they want as many as there are.
func (p *problem) scanScoreCost() float64 {
	sharing := p.sharing()
	if p.wanted()*float64(sharing) < float64(p.atoms) {
		sharing = min(sharing, scannedTogether)
	}
	cost := p.sharedScoreCost(sharing, p.answers())
	if p.offsets && !p.near(4*p.dim) {
		// Measured 80 to 93 ns at 768 coordinates for 1,000 answers, whatever the metric; but by others than Euclidean
		// distance looks for so many take as much more than forecast.
		cost += p.lostCost()
	}
	return cost
}

// sharing is the number of queries that share a run; if it is unknown, a usual one.
func (p *problem) sharing() int { return cmp.Or(p.queries, scannedTogether) }

// sharedScoreCost is the cost of the exact score of one arm if so many queries score so many arms each
// together, in the order of the rows: all but the first find a row in a cache.
func (p *problem) sharedScoreCost(queries int, scored float64) float64 {
	arms := float64(p.arms)
	wanted := float64(queries) * min(scored, arms) / arms // scores of each row
	first, cached := p.rescoreCost(), p.cachedRowCost()
	// Reading all rows in order can be cheaper than fetching those that are wanted.
	first = min(first, cached+streamed*p.costs.Far*float64(4*p.dim)/min(1, wanted))
	read := min(1, 1/wanted)
	return read*first + (1-read)*min(first, cached)
}

// allRowsCost is the cost per arm of a dense scan of all rows.
func (p *problem) allRowsCost() float64 { return p.denseRowCost() * float64(p.atoms) / float64(p.arms) }

// gatherCost is the cost per arm of a dense scan of the allowed rows only.
func (p *problem) gatherCost() float64 {
	if p.costs.Gather == 0 {
		return p.fetchedRowCost()
	}
	if p.queries == 1 {
		return p.listedRowCost()
	}
	cost := p.costs.DenseTest + p.sharedCoordinateCost()*float64(p.dim) + p.costs.Gather
	if !p.near(4 * p.dim) { // each pass copies the rows from memory
		cost += copiedRows * p.listedRowCost() / float64(min(p.sharing(), scannedTogether))
	}
	return cost
}

// copiedRows is the cost of a row of a list that is copied from memory for several queries, as a multiple of
// listedRowCost. Measured 1.6 to 3.
const copiedRows = 2

// listedRowCost is the cost of the exact score of a row, of many of an ascending list: several are read at a time.
// Measured 22 to 28 ns at 128 coordinates.
func (p *problem) listedRowCost() float64 {
	score := p.costs.Score * float64(p.dim)
	if p.near(4 * p.dim) {
		score = p.cachedRowCost()
	}
	return p.costs.Visit + score
}

// rescoreCost is the cost of the exact score of one arm.
func (p *problem) rescoreCost() float64 {
	if p.near(4 * p.dim) {
		return min(p.fetchedRowCost(), p.costs.Fetch/2+p.cachedRowCost())
	}
	return p.fetchedRowCost()
}

// fetchedRowCost and cachedRowCost are the costs of the exact score of a row that comes from memory,
// and of one that is in a cache.
func (p *problem) fetchedRowCost() float64 { return p.costs.Fetch + p.costs.Score*float64(p.dim) }
func (p *problem) cachedRowCost() float64  { return p.costs.Score / fetchedScores * float64(p.dim) }

// lostCost is the additional cost of an arm that queries score together at the end and that is in no answer by looks:
// of some hundreds or more, which tie or which bounds cannot separate, lists and rows do not stay in the first
// caches. Measured for ties of 500 and 2,000 coordinates, 16 and 256 queries: 30 to 80 ns.
func (p *problem) lostCost() float64 { return lostVisits*p.costs.Visit + p.cachedRowCost() }

// lostVisits is the part of lostCost for lists and their order, as a multiple of Costs.Visit.
const lostVisits = 2

// denseRowCost is the cost of a row in the dense path for one of the request's queries.
func (p *problem) denseRowCost() float64 {
	return p.costs.DenseTest + p.denseCoordinateCost()*float64(p.dim)
}

// denseCoordinateCost is the cost of a coordinate in a dense scan for one of the request's queries, up
// to scannedTogether of which share the reading of it.
func (p *problem) denseCoordinateCost() float64 {
	if p.queries == 1 {
		return p.denseOneCost()
	}
	// Products hide the reading from memory that they do not wait for.
	return max(p.sharedCoordinateCost(), denseStreamed*p.streamCost(4*p.dim, 4)/float64(min(p.sharing(), scannedTogether)))
}

// sharedCoordinateCost is the cost of a coordinate in a cache for one of several queries that share the reading of it.
func (p *problem) sharedCoordinateCost() float64 {
	sharing := float64(min(p.sharing(), scannedTogether))
	return p.costs.Dense + loadedColumns*p.costs.DenseOne*(1/sharing-1./scannedTogether)
}

// denseStreamed is the cost of a byte that a dense scan of few queries waits for, as a multiple of streamCost. Measured
// 1.4 to 1.7.
const denseStreamed = 1.5

// loadedColumns is the cost of a coordinate in a dense scan that its queries share, as a multiple of
// Costs.DenseOne. Measured 1 to 3 for 4 to 16 queries.
const loadedColumns = 1.5

// denseOneCost is the cost of a coordinate in a dense scan for one query.
func (p *problem) denseOneCost() float64 {
	if p.near(4 * p.dim) {
		return p.costs.DenseOne
	}
	return max(p.costs.DenseOne, 4*streamed*p.costs.Far)
}

// gathers reports whether the dense path is cheaper on the allowed rows only.
func (p *problem) gathers() bool { return p.filtered() && p.gatherCost() < p.allRowsCost() }

// forLadder returns the problem as it is for a ladder: with gathered set if its first look reads the codes of allowed
// atoms alone.
func (p *problem) forLadder(l ladder) *problem {
	if l.dense() || !l.gather || p.gathered {
		return p
	}
	q := *p
	q.gathered = true
	return &q
}

// mayGather reports whether the first look of a ladder can read the codes of allowed atoms alone.
func (p *problem) mayGather(l ladder) bool {
	return !l.dense() && p.filtered() && p.costs.Gather > 0 && l.first == backend.Panels
}

// armScanCost is the cost per arm of a ladder's first look, if it ends with the last atom, in the problem of the ladder.
func (p *problem) armScanCost(l ladder) float64 {
	if !p.gathered {
		return p.scanCost(l) * p.atomsPerArm()
	}
	codes := float64(p.head + p.widths[l.stages[0]])
	row := gatheredVisits * p.costs.Visit
	if !p.near(p.head + p.rest) {
		row += p.costs.Far * codes
	}
	if p.queries == 1 { // which reads rows of codes where they are; several share a copy in panels
		return p.costs.Test + p.costs.Code*codes + row
	}
	return l.first.Cost(&p.costs, p.head, p.widths[l.stages[0]], p.panelWidth) + (row+p.costs.Transpose*codes)/float64(p.sharing())
}

// gatheredVisits is the cost of reaching codes and terms of an atom that are gathered, as a multiple of Costs.Visit: in
// panels each comes from memory by itself. Measured 2 to 4.
const gatheredVisits = 3

// atomsPerArm is how many atoms a scan reads per allowed atom: it reads every panel that
// contains one.
func (p *problem) atomsPerArm() float64 {
	return max(1, float64(min(p.atoms, 64*p.panels))/float64(p.arms))
}

// denseAloneCost is the cost per arm of a dense scan for one query alone, as for a query
// that a look sends to the dense path: it reads every row, or scores the allowed rows one
// by one.
func (p *problem) denseAloneCost() float64 {
	if p.gathers() {
		return p.costs.DenseOne*float64(p.dim) + p.costs.Fetch
	}
	return p.denseOneCost() * float64(p.dim) * float64(p.atoms) / float64(p.arms)
}

package plan

import (
	"math"

	"thresher/backend"
	"thresher/collection"
)

// fineUnclear corrects the pilot, which assumes 8-bit codes of the query, for lower bounds,
// which use 16-bit codes. Of the arms that a whole row and an 8-bit query cannot separate
// from the answers, this share remains unseparated with a 16-bit query. Measured .04 for
// k = 1 to .2 for k = 100.
const fineUnclear = .05

// usualReaching is taken to be how many atoms reach a threshold where nobody knows.
const usualReaching = 100

// rank is the log of the rank of the final threshold among all atoms. With exact scores it
// is the k-th best of the allowed atoms; lower bounds of whole rows end below the arms that
// they cannot separate from it.
func (p *problem) rank(source backend.Source) float64 {
	all := math.Log(float64(p.atoms))
	rank := math.Log(float64(max(1, p.k))) + all - math.Log(float64(p.arms)+p.before)
	if ks := p.curves.ks; p.k == 0 && p.reaching > 0 {
		rank = math.Log(p.reaching) + all - math.Log(float64(p.arms))
	} else if p.k == 0 && len(ks) > 0 {
		rank = min(math.Log(usualReaching), ks[len(ks)-1])
	}
	if source == backend.LowerBound {
		rank = p.unclearRank(rank, fineUnclear)
	}
	return rank
}

// rankOf is the rank of the final threshold of a ladder. Lower bounds of a first look are by 8-bit codes
// of the query, as the pilot assumes.
func (p *problem) rankOf(l ladder) float64 {
	if p.raisesByOwn(l) {
		return p.unclearRank(p.rank(backend.Exact), 1)
	}
	return p.rank(l.source)
}

// unclearRank is the log of the rank below that share of the arms that a whole row and an 8-bit query cannot
// separate from those of a rank.
func (p *problem) unclearRank(rank, share float64) float64 {
	unclear := math.Exp(math.Log(float64(p.atoms))+p.curves.logShare(p.curves.shares, len(p.widths)-1, rank)) - math.Exp(rank)
	return max(rank, math.Log(math.Exp(rank)+share*max(0, unclear))) // not lower by a rounding
}

// widening is the log of the factor by which a ladder's fallible looks keep more arms than
// the pilot's.
func (p *problem) widening(l ladder) float64 {
	if p.fallible(l) == 0 || !p.curves.known() {
		return 0
	}
	return p.curves.widening(p.alpha(l))
}

// shareKept is the forecast share of arms that survive look i of a ladder. widening is
// p.widening(l).
func (p *problem) shareKept(l ladder, i int, rank, widening float64) float64 {
	kept := p.shareKeptBy(p.curves, l, i, rank, widening)
	if i == 0 && l.first == backend.Mixed {
		kept = min(1, mixedKept*kept)
	}
	return kept
}

// mixedListed and mixedKept are how many arms a first look at mixed codes lists under the thresholds of its
// time, and how many it keeps at its end, as multiples of those of one at panels of the same width.
// Simulated for inner products and cosines, of the 10 and the 100 best: 1.00 to 1.05, and 1.02 to 1.15 (docs/gpu.md, A first
// look at mixed codes).
const mixedListed, mixedKept = 1.03, 1.1

// shareKeptBy is shareKept by the forecast c, of ladders whose first look is at panels.
func (p *problem) shareKeptBy(c *curves, l ladder, i int, rank, widening float64) float64 {
	stage := l.stages[i]
	switch {
	case i == 0 && l.first == backend.SignPanels:
		return min(1, math.Exp(p.logShareFirst(c, c.shares, l, rank)+widening))
	case p.fullWidth(stage):
		return math.Exp(c.logShare(c.shares, stage, rank))
	case l.certain:
		return math.Exp(c.logShare(c.certain, stage, rank))
	}
	return min(1, math.Exp(c.logShare(c.shares, stage, rank)+widening))
}

// shareListed is the share of arms that the first look lists: all of the first chunk, and
// those of later chunks that reach the threshold at that time.
func (p *problem) shareListed(l ladder, rank, widening float64) float64 {
	later := p.shareMet(rank, func(c *curves, rank float64) float64 { return p.shareKeptBy(c, l, 0, rank, widening) })
	if l.first == backend.Mixed {
		later *= mixedListed
	}
	if p.before > 0 { // the first chunk has a threshold, too
		return min(1, later)
	}
	return min(1, p.firstChunkShare()+later)
}

// firstChunk is how many atoms the first look sees before the first threshold, which is
// made by the k of greatest bound among them.
func (p *problem) firstChunk() int {
	least := 1024
	if p.gathered {
		least = 256 // there may be few in all
	}
	return max(least, (4*p.k+collection.PanelAtoms-1)/collection.PanelAtoms*collection.PanelAtoms)
}

// firstChunkShare is the share of arms in the first chunk; allowed atoms are assumed to be
// spread evenly.
func (p *problem) firstChunkShare() float64 {
	of := p.atoms
	if p.gathered {
		of = p.arms
	}
	return min(1, float64(p.firstChunk())/float64(of))
}

// shareTightening is the share of arms that a first look scores to tighten thresholds, by
// either source: the k candidates of the first chunk, and those of later chunks whose
// estimate reaches the threshold at that time.
func (p *problem) shareTightening(l ladder, rank float64) float64 {
	stage := l.stages[0]
	if l.certain || p.fullWidth(stage) || p.k == 0 || len(p.curves.candidates) == 0 {
		return p.shareEntering(rank)
	}
	candidates := float64(p.k) / float64(p.arms)
	return min(1, candidates+p.shareMet(rank, func(c *curves, rank float64) float64 { return math.Exp(p.logShareFirst(c, c.candidates, l, rank)) }))
}

// shareSeen is the share of arms that a first look sees, given the log of the final threshold's rank
// among all atoms: it takes them in the order of their norms, and ends when those of the others are
// too small.
func (p *problem) shareSeen(rank float64) float64 {
	return min(1, max(p.firstChunkShare(), math.Exp(p.curves.logShare(p.curves.reached, 0, rank))))
}

// shareMet is the share of arms after the first chunk that meet a condition, where share is
// the probability of an arm to meet it by the forecast c, given the log of the threshold's rank among
// all atoms. After a share t of the arms seen, which include all that can meet it, the threshold has
// rank/t, or lies between that of the first chunk and the final one, where these are known.
func (p *problem) shareMet(rank float64, share func(c *curves, rank float64) float64) float64 {
	if p.before > 0 {
		return p.shareMetAfter(rank, share)
	}
	seen := p.shareSeen(rank)
	early, begun := p.curves.early, math.Log(collection.EarlyAtoms/(float64(p.atoms)*seen))
	t, met := p.firstChunkShare()/seen, 0.
	for t < 1 {
		next := min(1, 2*t)
		at := math.Log(t*next) / 2
		if early == nil || p.gathered { // the first threshold is of another number of atoms
			met += (next - t) * share(p.curves, rank-at)
		} else {
			final := math.Log(share(p.curves, rank))
			first := max(final, math.Log(share(early, rank))) // less for ties with the first threshold, which are no candidates
			met += (next - t) * math.Exp(final+(first-final)*at/begun)
		}
		t = next
	}
	return met
}

// afterPieces is in how many pieces shareMetAfter takes the atoms.
const afterPieces = 8

// shareMetAfter is shareMet of all arms if the k best of p.before other vectors make the first threshold: after a share t of the
// arms the threshold is the k-th best of before + t arms.
func (p *problem) shareMetAfter(rank float64, share func(c *curves, rank float64) float64) (met float64) {
	arms := float64(p.arms)
	for i := range afterPieces {
		t := (float64(i) + .5) / afterPieces
		met += share(p.curves, rank+math.Log((p.before+arms)/(p.before+t*arms))) / afterPieces
	}
	return met
}

// entries is how many arms a first look scores for each that enters the k best, in the first
// chunk and in every later chunk that is as large as all before it: the estimates of some
// are too high. Measured 1.2 to 1.3.
const entries = 1.25

// shareEntering is shareTightening without a forecast of estimates. Of arms in random
// order, the i-th enters the k best with probability rank/i. In the order of their norms later ones
// enter less often: at most those that reach the threshold at that time by whole rows, as
// forecast, or beyond the pilot's ks the same part of those in random order.
func (p *problem) shareEntering(rank float64) float64 {
	chunks := math.Log(max(1, p.shareSeen(rank)/p.firstChunkShare()))
	if p.before > 0 {
		chunks = 0
	}
	anyOrder := func(rank float64) float64 { return entries * math.Exp(rank) / float64(p.atoms) * (1 + chunks) }
	known := rank
	if ks := p.curves.ks; len(ks) > 0 {
		known = min(rank, ks[len(ks)-1])
	}
	whole := len(p.widths) - 1
	reaching := math.Exp(known)/float64(p.atoms) +
		p.shareMet(known, func(c *curves, rank float64) float64 { return math.Exp(c.logShare(c.shares, whole, rank)) })
	return min(1, anyOrder(rank)*min(1, reaching/anyOrder(known)))
}

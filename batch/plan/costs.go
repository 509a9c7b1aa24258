package plan

import (
	"math"

	"thresher/backend"
	"thresher/bandit"
	"thresher/collection"
)

// problem is all that a plan depends on: no code of this rotation, no query and
// no size of a batch.
type problem struct {
	arms, atoms int                      // atoms allowed, atoms there are
	panels      int                      // panels that hold an atom allowed
	dim         int                      // coordinates as given
	head, rest  int                      // directions of the head, coordinates of the rotated rest
	widths      []int                    // of the looks there can be, the last is the whole rest; none without codes
	later       []backend.Representation // that looks at survivors read, by stage
	panel       int                      // widest first look for which no rows are brought into panels
	curves      *curves
	k           int // 0: a range
	delta       float64
	costs       backend.Costs
}

func (p *problem) fullWidth(stage int) bool { return stage == len(p.widths)-1 }

// forecast is what a plan is predicted to take, in nanoseconds of one core an
// arm and query, term by term.
type forecast struct {
	prepare float64 // head, rotation and codes of the query, over its arms
	scan    float64 // the first look at all arms, or the products of the dense scan
	list    float64 // arms that passed it under the threshold of the time
	tighten float64 // rows that made the thresholds
	later   float64 // later looks
	score   float64 // float32 rows of what was left
	// kept is the share of arms left after each look.
	kept [mostLooks]float64
}

func (f *forecast) total() float64 { return f.prepare + f.scan + f.after() }

// after is what a query costs once the first look has seen all arms.
func (f *forecast) after() float64 { return f.list + f.tighten + f.later + f.score }

// forecast prices a ladder whose thresholds end at a rank, given by its log. It is
// the whole cost model; rank comes from p.rank.
func (p *problem) forecast(l ladder, rank float64) forecast {
	c := &p.costs
	arms := float64(p.arms)
	answers := float64(max(p.k, 1)) / arms
	exact := p.rescoreCost()
	if l.dense() {
		// the i-th arm is among the k best so far with probability k/i
		entering := min(1, answers*(1-math.Log(min(1, answers))))
		scan := p.allRowsCost()
		if l.gather {
			scan = p.gatherCost()
		}
		return forecast{scan: scan, list: c.List * entering, score: exact * min(1, answers)}
	}
	row := p.laterCost(len(p.widths) - 1) // a whole row of codes

	f := forecast{prepare: (p.prepareCost() + c.Query*float64(len(l.stages))) / arms}
	score := exact
	if l.source == backend.LowerBound {
		score = row
	}
	wider := p.widening(l)
	f.scan = p.scanCost(l.stages[0]) * p.atomsPerArm()
	f.list = c.List * p.shareListed(l, rank, wider)
	f.tighten = score * p.shareTightening(l, rank)
	left := p.shareKept(l, 0, rank, wider)
	f.kept[0] = left
	for i := 1; i < len(l.stages); i++ {
		f.later += left * p.laterCost(l.stages[i])
		left = min(left, p.shareKept(l, i, rank, wider))
		f.kept[i] = left
	}
	if l.source == backend.Exact {
		f.score = exact * max(0, left-answers) // the answers were scored on the way
		return f
	}
	// the best are scored first, which makes the threshold exact
	rank += p.rank(backend.Exact) - p.rank(l.source)
	f.score = exact * max(answers, min(left, p.shareKept(l, len(l.stages)-1, rank, wider)))
	return f
}

// allRowsCost is what a dense scan of all rows costs an arm.
func (p *problem) allRowsCost() float64 { return p.denseRowCost() * float64(p.atoms) / float64(p.arms) }

// gatherCost is what a dense scan costs an arm that reaches the rows allowed alone.
func (p *problem) gatherCost() float64 {
	if p.costs.Gather == 0 {
		return p.rescoreCost()
	}
	return p.denseRowCost() + p.costs.Gather
}

// rescoreCost is what a float32 row costs that is reached by itself.
func (p *problem) rescoreCost() float64 { return p.costs.Fetch + p.costs.Score*float64(p.dim) }

// denseRowCost is what a row costs a query of many in the dense path.
func (p *problem) denseRowCost() float64 { return p.costs.DenseTest + p.costs.Dense*float64(p.dim) }

// gathers reports whether the dense path had better reach the rows allowed alone.
func (p *problem) gathers() bool { return p.filtered() && p.gatherCost() < p.allRowsCost() }

// atomsPerArm is how many atoms a scan of panels reads for each that is allowed: whole
// panels, of those that hold one.
func (p *problem) atomsPerArm() float64 {
	return max(1, float64(min(p.atoms, 64*p.panels))/float64(p.arms))
}

// nearBytes is what rows of codes may take in all and still be found in caches.
const nearBytes = 32 << 20

// laterCost is what a look at a stage costs an arm, unless it is the first look.
func (p *problem) laterCost(stage int) float64 {
	rep, cost := p.later[stage], p.readCost(stage)
	if float64(rep.AtomBytes(p.head, p.rest))*float64(p.arms) > nearBytes {
		cost += p.costs.Far * float64(rep.AtomBytes(p.head, p.widths[stage]))
	}
	return cost
}

// readCost is laterCost where rows are in a cache; 0 if there is no such look.
func (p *problem) readCost(stage int) float64 {
	return p.later[stage].Cost(&p.costs, p.head, p.widths[stage], p.panel)
}

// scanCost is what a first look at a stage costs an atom that it reads; 0 if there is no
// such look.
func (p *problem) scanCost(stage int) float64 {
	return backend.Panels.Cost(&p.costs, p.head, p.widths[stage], p.panel)
}

// prepareCost is what a query costs before its first look, in ns.
func (p *problem) prepareCost() float64 {
	c := &p.costs
	products := 2 * p.head * p.dim // the head, and its removal from the rest
	if p.rest <= bandit.HaarMaxDim {
		products += p.rest * p.rest
	}
	return c.Rotate*float64(p.rest) + c.Dense*float64(products)
}

// fineUnclear is how many of the arms that a whole row and an 8-bit query, which
// the pilot assumes, cannot tell from the answers remain so for a 16-bit query,
// which makes the lower bounds. Measured: .04 for one wanted to .2 for 100.
const fineUnclear = .05

// rank is the log of where among all atoms the threshold ends that a source makes:
// at the k-th best of those allowed, or, by lower bounds of whole rows, below as
// many as such rows cannot tell from it.
func (p *problem) rank(source backend.Source) float64 {
	all := math.Log(float64(p.atoms))
	rank := math.Log(float64(max(1, p.k))) + all - math.Log(float64(p.arms))
	if ks := p.curves.ks; p.k == 0 && len(ks) > 0 {
		rank = ks[len(ks)-1] // a range: as for many
	}
	if source == backend.LowerBound {
		unclear := math.Exp(all+p.curves.at(p.curves.shares, len(p.widths)-1, rank)) - math.Exp(rank)
		rank = max(rank, math.Log(math.Exp(rank)+fineUnclear*max(0, unclear))) // not lower by a rounding
	}
	return rank
}

// widening is the log of the factor by which a ladder's looks that can fail keep more
// than the pilot's did.
func (p *problem) widening(l ladder) float64 {
	if p.fallible(l) == 0 || !p.curves.known() {
		return 0
	}
	return p.curves.wider(p.alpha(l))
}

// shareKept is the forecast of the arms that look i of a ladder keeps.
func (p *problem) shareKept(l ladder, i int, rank, wider float64) float64 {
	stage := l.stages[i]
	switch {
	case p.fullWidth(stage):
		return math.Exp(p.curves.at(p.curves.shares, stage, rank))
	case l.certain:
		return math.Exp(p.curves.at(p.curves.certain, stage, rank))
	}
	return min(1, math.Exp(p.curves.at(p.curves.shares, stage, rank)+wider))
}

// shareListed is the share of arms that pass the first look when it comes to them: all
// of the first chunk, and then those that pass the threshold as it is then.
func (p *problem) shareListed(l ladder, rank, wider float64) float64 {
	return min(1, p.firstChunkShare()+p.shareMet(rank, func(rank float64) float64 { return p.shareKept(l, 0, rank, wider) }))
}

// firstChunk is how many atoms the first look sees before there is a threshold,
// which the scores of the k of greatest bound among them make.
func (p *problem) firstChunk() int {
	return max(1024, (4*p.k+collection.PanelAtoms-1)/collection.PanelAtoms*collection.PanelAtoms)
}

// firstChunkShare is the share of the arms among them, for those allowed are anywhere.
func (p *problem) firstChunkShare() float64 { return float64(p.firstChunk()) / float64(p.atoms) }

// shareTightening is the share of arms that a first look scores to tighten thresholds, by
// either source: the k candidates of the first chunk, and then arms whose estimate
// reaches the threshold as it is when the look comes to them.
func (p *problem) shareTightening(l ladder, rank float64) float64 {
	stage := l.stages[0]
	if l.certain || p.fullWidth(stage) || p.k == 0 || len(p.curves.candidates) == 0 {
		return p.shareEntering(rank)
	}
	candidates := float64(p.k) / float64(p.arms)
	return min(1, candidates+p.shareMet(rank, func(rank float64) float64 { return math.Exp(p.curves.at(p.curves.candidates, stage, rank)) }))
}

// shareMet is the share of arms that meet a condition after the first chunk, which
// depends on the rank at which the threshold stands when they are met: after a
// share t of the arms that is where rank/t will be in the end.
func (p *problem) shareMet(rank float64, share func(rank float64) float64) float64 {
	t, met := p.firstChunkShare(), 0.
	for early := rank - math.Log(t); t < 1; {
		next := min(1, 2*t)
		step := math.Log(next / t)
		met += (next - t) * share(early-step/2)
		t, early = next, early-step
	}
	return met
}

// entries is how many arms a first look scores on its way for each that makes the
// threshold, in the first chunk and in every chunk after it that is as large as
// all before: some only look as if they belonged to the best. Measured 1.2 to 1.3.
const entries = 1.25

// shareEntering is the share of arms that are scored, by either source, when the first
// look meets them. Of arms in random order, the i-th replaces one of the candidates
// of the first chunk with probability rank/i.
func (p *problem) shareEntering(rank float64) float64 {
	chunks := math.Log(max(1, 1/p.firstChunkShare()))
	return min(1, entries*math.Exp(rank)/float64(p.atoms)*(1+chunks))
}

// denseAloneCost is what a dense scan costs a query that no other shares it with, as one
// that leaves its batch in mid-flight: every row is read for it, or those allowed are
// reached one by one.
func (p *problem) denseAloneCost() float64 {
	row := p.costs.DenseOne * float64(p.dim)
	if p.gathers() {
		return row + p.costs.Fetch
	}
	return row * float64(p.atoms) / float64(p.arms)
}

// mostSurvivors is the share of the arms beyond which a query that keeps more than
// foreseen had better go dense: as many as if its threshold stood at the rank from
// which going on costs as much. 0 is no limit.
func (p *problem) mostSurvivors(l ladder) float64 {
	dear := func(rank float64) bool {
		f := p.forecast(l, rank)
		return f.after() > p.denseAloneCost()
	}
	usual := p.rank(l.source)
	low, high := usual, math.Log(float64(p.atoms))
	if !dear(high) {
		return 0
	}
	for high-low > .05 {
		if mid := (low + high) / 2; dear(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	wider := p.widening(l)
	most := max(p.shareKept(l, 0, high, wider), 2*p.shareKept(l, 0, usual, wider)) // forecasts err
	if most >= 1 {
		return 0
	}
	return most
}

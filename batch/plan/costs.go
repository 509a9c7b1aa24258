package plan

import (
	"cmp"
	"math"

	"thresher/backend"
	"thresher/bandit"
	"thresher/collection"
)

// problem holds all that a plan depends on. It contains no codes, no query and no size of a
// batch, so that one alpha per look is sufficient.
type problem struct {
	arms, atoms int                      // allowed atoms, all atoms
	panels      int                      // panels with an allowed atom
	dim         int                      // coordinates as given
	head, rest  int                      // directions of the head, coordinates of the rotated rest
	widths      []int                    // rest coordinates by stage, ascending to all of them; empty without codes
	later       []backend.Representation // read by looks at survivors, by stage
	panelWidth  int                      // rest coordinates stored in panels
	curves      *curves
	k           int     // 0: all atoms that reach a score
	reaching    float64 // for k = 0: how many these are; 0 if unknown
	queries     int     // of the request, as Together rounds them; 0 if unknown
	delta       float64
	costs       backend.Costs
}

// fullWidth reports whether a stage reads all int8 codes of a row.
func (p *problem) fullWidth(stage int) bool { return stage == len(p.widths)-1 }

// forecast is the predicted cost of a plan by step, in ns of one core per arm and query.
type forecast struct {
	prepare float64 // head, rotation and codes of the query, divided by its arms
	scan    float64 // the first look at all arms, or the products of the dense scan
	list    float64 // listing the arms that survive the first look
	tighten float64 // scoring the candidates that tighten the threshold
	later   float64 // later looks
	score   float64 // exact scores of the remaining arms
	answer  float64 // selecting, sorting and copying the answer
	// kept is the share of arms that survive each look.
	kept [mostLooks]float64
}

func (f *forecast) total() float64 { return f.prepare + f.scan + f.after() + f.answer }

// after is the cost of all steps between the scan and the answer.
func (f *forecast) after() float64 { return f.list + f.tighten + f.later + f.score }

// forecast predicts the cost of a ladder whose final threshold has a rank among all atoms,
// given by its log (p.rank). This is the cost model.
func (p *problem) forecast(l ladder, rank float64) forecast {
	c := &p.costs
	arms := float64(p.arms)
	answers := p.answers() / arms
	exact := p.rescoreCost()
	if l.dense() {
		entering := min(1, answers)
		if p.k > 0 { // the i-th arm is among the k best of the first i with probability k/i
			entering = min(1, answers*(1-math.Log(min(1, answers))))
		}
		scan := p.allRowsCost()
		if l.gather {
			scan = p.gatherCost()
		}
		return forecast{scan: scan, list: enteringVisits * c.Visit * entering, score: p.scanScoreCost() * min(1, answers), answer: p.answerCost(l)}
	}

	f := forecast{prepare: (p.prepareCost(l) + c.Query*float64(len(l.stages))) / arms, answer: p.answerCost(l)}
	widening := p.widening(l)
	f.scan = p.scanCost(l.stages[0]) * p.atomsPerArm() * p.shareSeen(rank)
	left := p.shareKept(l, 0, rank, widening)
	if p.k > 0 {
		listed := p.shareListed(l, rank, widening)
		f.list = c.List * listed
		if p.raisesByOwn(l) {
			f.tighten = ownLists * c.List * listed
		} else {
			f.tighten = p.tightenCost(l, rank)
		}
	} else { // the threshold is known from the start
		f.list = c.List * left
	}
	f.kept[0] = left
	for i := 1; i < len(l.stages); i++ {
		f.later += left * p.laterCost(l.stages[i], left)
		left = min(left, p.shareKept(l, i, rank, widening))
		f.kept[i] = left
	}
	if p.k == 0 {
		f.score = exact * max(answers, left)
		return f
	}
	if l.source == backend.Exact {
		f.score = exact * max(0, left-answers) // the answers were scored as candidates
		return f
	}
	// Finish scores in descending order of bounds, which makes the threshold exact
	rank += p.rank(backend.Exact) - p.rankOf(l)
	scored := max(answers, min(left, p.shareKept(l, len(l.stages)-1, rank, widening)))
	if p.finishesTogether() {
		part := togetherPart
		if p.raisesByOwn(l) {
			part = 1
		}
		exact = (1-part)*exact + part*p.sharedScoreCost(p.sharing(), scored*arms)
	}
	f.score = exact * scored
	return f
}

// answers is the forecast number of atoms in an answer.
func (p *problem) answers() float64 {
	if p.k == 0 && p.reaching > 0 {
		return min(p.reaching, float64(p.arms))
	}
	return float64(max(p.k, 1))
}

const (
	// enteringVisits and answerVisits are the costs of an atom that a dense scan may return when it
	// reads it, and of an atom of an answer, which is selected, sorted and copied, as multiples of
	// Costs.Visit. Measured .15 and .7 to 1.
	enteringVisits, answerVisits = .15, .75
	// lastVisits is the additional cost of an atom of an answer by looks, which is tested again at the
	// end. Measured 1 to 5.
	lastVisits = 3
	// cachedScores is the cost of a coordinate scored in float64 from a cache, as a multiple of
	// Costs.DenseOne. Measured about 2.
	cachedScores = 2
	// scannedTogether is the number of queries of a dense scan that score rows together, unless all
	// queries of a run do.
	scannedTogether = 64
)

// answerCost is the cost of an answer per arm.
func (p *problem) answerCost(l ladder) float64 {
	visits := answerVisits
	if !l.dense() {
		visits += lastVisits
	}
	return visits * p.costs.Visit * min(1, p.answers()/float64(p.arms))
}

// scanScoreCost is the cost of the exact score of one arm at the end of a dense scan. All queries of a
// run score rows together if they want as many as there are.
func (p *problem) scanScoreCost() float64 {
	sharing := p.sharing()
	if p.answers()*float64(sharing) < float64(p.atoms) {
		sharing = min(sharing, scannedTogether)
	}
	return p.sharedScoreCost(sharing, p.answers())
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
	return p.denseRowCost() + p.costs.Gather
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
func (p *problem) cachedRowCost() float64  { return cachedScores * p.costs.DenseOne * float64(p.dim) }

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
	sharing := float64(min(p.sharing(), scannedTogether))
	loads := loadedColumns * p.costs.DenseOne
	return p.costs.Dense + loads*(1/sharing-1./scannedTogether) + p.streamCost(4*p.dim, 4)/sharing
}

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

// atomsPerArm is how many atoms a scan reads per allowed atom: it reads every panel that
// contains one.
func (p *problem) atomsPerArm() float64 {
	return max(1, float64(min(p.atoms, 64*p.panels))/float64(p.arms))
}

// nearBytes is the total size of rows up to which they stay in caches: half of a third-level cache,
// which holds more than they.
const nearBytes = 16 << 20

// near reports whether rows of so many bytes of all atoms stay in caches.
func (p *problem) near(rowBytes int) bool { return float64(rowBytes)*float64(p.atoms) <= nearBytes }

// laterCost is the cost per survivor of a later look at a stage by this share of the atoms. The greater
// the share, the more of what comes from memory is read in order.
func (p *problem) laterCost(stage int, share float64) float64 {
	rep, cost := p.later[stage], p.readCost(stage)
	if float64(rep.AtomBytes(p.head, p.rest))*float64(p.arms) > nearBytes {
		cost += (1 - (1-streamed)*share) * p.costs.Far * float64(rep.AtomBytes(p.head, p.widths[stage]))
	}
	return cost
}

// readCost is laterCost if the rows are in caches; 0 if there is no such look.
func (p *problem) readCost(stage int) float64 {
	return p.later[stage].Cost(&p.costs, p.head, p.widths[stage], p.panelWidth)
}

// scanCost is the cost per atom read of a first look at a stage; 0 if there is no such look.
func (p *problem) scanCost(stage int) float64 {
	c, wide := &p.costs, p.widths[stage] > p.panelWidth
	cost := backend.Panels.Cost(c, p.head, p.widths[stage], p.panelWidth)
	if cost == 0 {
		return 0
	}
	codes := p.head + p.widths[stage]
	read := p.streamCost(codes, 1)
	if p.queries == 1 { // its products wait for the codes
		return max(cost, c.Test+(c.Code+read)*float64(codes))
	}
	if wide {
		read += c.Transpose
	}
	return cost + read/float64(p.sharing())*float64(codes)
}

// finishesTogether reports whether the queries of a run score rows together at the end of looks: they
// want as many as there are, if the run is full, and caches do not hold them.
func (p *problem) finishesTogether() bool {
	return p.k > p.atoms/mostTogether && !p.near(4*p.dim)
}

// togetherPart is the part of these rows that queries score together: the first ones. Later rounds are
// small. Measured .3 to .7. After looks that raise thresholds by their own bounds it is all.
const togetherPart = .5

// ownLists is the cost of an arm that a first look lists and whose own bounds may raise the threshold, beside
// listing it, as a multiple of Costs.List. Measured 4 to 6.
const ownLists = 6

// raisesByOwn reports whether lower bounds of a ladder's first look raise thresholds: it reads whole rows,
// so that nothing else is read for them.
func (p *problem) raisesByOwn(l ladder) bool {
	return p.k > 0 && l.source == backend.LowerBound && len(l.stages) > 0 && p.fullWidth(l.stages[0])
}

// streamCost is the cost of reading so many bytes in order, of rows of all atoms that have rowBytes: 0 if
// these stay in caches or it is unknown how many queries share it.
func (p *problem) streamCost(rowBytes, bytes int) float64 {
	if p.queries == 0 || p.near(rowBytes) {
		return 0
	}
	return streamed * p.costs.Far * float64(bytes)
}

// streamed is the cost of a byte that is read in order from memory, as a multiple of Costs.Far.
// Measured .3 to .5.
const streamed = .4

// prepareCost is the cost of a query before its looks, in ns. Rows of codes are read by a second, finer
// coding of the query.
func (p *problem) prepareCost(l ladder) float64 {
	c := &p.costs
	codings := 1.
	if len(l.stages) > 1 || l.source == backend.LowerBound && p.k > 0 && !p.raisesByOwn(l) {
		codings = 2
	}
	products := 2 * p.head * p.dim // the head, and its removal from the rest
	if p.rest <= bandit.HaarMaxDim {
		products += p.rest * p.rest
	}
	return codings*c.Rotate*float64(p.rest) + c.Dense*float64(products)
}

// fineUnclear corrects the pilot, which assumes 8-bit codes of the query, for lower bounds,
// which use 16-bit codes. Of the arms that a whole row and an 8-bit query cannot separate
// from the answers, this share remains unseparated with a 16-bit query. Measured .04 for
// k = 1 to .2 for k = 100.
const fineUnclear = .05

// rank is the log of the rank of the final threshold among all atoms. With exact scores it
// is the k-th best of the allowed atoms; lower bounds of whole rows end below the arms that
// they cannot separate from it.
func (p *problem) rank(source backend.Source) float64 {
	all := math.Log(float64(p.atoms))
	rank := math.Log(float64(max(1, p.k))) + all - math.Log(float64(p.arms))
	if ks := p.curves.ks; p.k == 0 && p.reaching > 0 {
		rank = math.Log(p.reaching) + all - math.Log(float64(p.arms))
	} else if p.k == 0 && len(ks) > 0 {
		rank = ks[len(ks)-1] // unknown: as for the greatest k of the pilot
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
	return p.shareKeptBy(p.curves, l, i, rank, widening)
}

// shareKeptBy is shareKept by the forecast c.
func (p *problem) shareKeptBy(c *curves, l ladder, i int, rank, widening float64) float64 {
	stage := l.stages[i]
	switch {
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
	return min(1, p.firstChunkShare()+p.shareMet(rank, func(c *curves, rank float64) float64 { return p.shareKeptBy(c, l, 0, rank, widening) }))
}

// firstChunk is how many atoms the first look sees before the first threshold, which is
// made by the k of greatest bound among them.
func (p *problem) firstChunk() int {
	return max(1024, (4*p.k+collection.PanelAtoms-1)/collection.PanelAtoms*collection.PanelAtoms)
}

// firstChunkShare is the share of arms in the first chunk; allowed atoms are assumed to be
// spread evenly.
func (p *problem) firstChunkShare() float64 { return float64(p.firstChunk()) / float64(p.atoms) }

// shareTightening is the share of arms that a first look scores to tighten thresholds, by
// either source: the k candidates of the first chunk, and those of later chunks whose
// estimate reaches the threshold at that time.
func (p *problem) shareTightening(l ladder, rank float64) float64 {
	stage := l.stages[0]
	if l.certain || p.fullWidth(stage) || p.k == 0 || len(p.curves.candidates) == 0 {
		return p.shareEntering(rank)
	}
	candidates := float64(p.k) / float64(p.arms)
	return min(1, candidates+p.shareMet(rank, func(c *curves, rank float64) float64 { return math.Exp(c.logShare(c.candidates, stage, rank)) }))
}

// tightenCost is the cost per arm of the rows that a first look scores to raise thresholds: a chunk's
// together.
func (p *problem) tightenCost(l ladder, rank float64) float64 {
	score, whole := p.chunkRowCost(), len(p.widths)-1
	switch {
	case l.source == backend.LowerBound && p.queries == 1:
		score = p.laterCost(whole, 0)
	case l.source == backend.LowerBound:
		score = p.readCost(whole)
	}
	scored := p.shareTightening(l, rank)
	later := max(0, scored-float64(p.k)/float64(p.arms))
	return score*scored + raiseVisits*p.costs.Visit*later
}

// chunkRowCost is the cost of the exact score of a row of a chunk, some of which the queries that scan it
// together find in a cache: measured .55, .73 and .91 of them for 4, 16 and 256 queries.
func (p *problem) chunkRowCost() float64 {
	row := p.rescoreCost()
	cached := min(row, p.cachedRowCost())
	if p.near(4 * p.dim) {
		return cached
	}
	return cached + (row-cached)/math.Sqrt(float64(p.sharing()))
}

// raiseVisits is the cost of an arm that raises the threshold after the first chunk, its score aside,
// as a multiple of Costs.Visit. Measured 5 to 9.
const raiseVisits = 7

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
	seen := p.shareSeen(rank)
	early, begun := p.curves.early, math.Log(collection.EarlyAtoms/(float64(p.atoms)*seen))
	t, met := p.firstChunkShare()/seen, 0.
	for t < 1 {
		next := min(1, 2*t)
		at := math.Log(t*next) / 2
		if early == nil {
			met += (next - t) * share(p.curves, rank-at)
		} else {
			first, final := math.Log(share(early, rank)), math.Log(share(p.curves, rank))
			met += (next - t) * math.Exp(final+(first-final)*at/begun)
		}
		t = next
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

// denseAloneCost is the cost per arm of a dense scan for one query alone, as for a query
// that a look sends to the dense path: it reads every row, or scores the allowed rows one
// by one.
func (p *problem) denseAloneCost() float64 {
	if p.gathers() {
		return p.costs.DenseOne*float64(p.dim) + p.costs.Fetch
	}
	return p.denseOneCost() * float64(p.dim) * float64(p.atoms) / float64(p.arms)
}

// mostSurvivors is the share of arms above which a query that keeps more than forecast
// continues by the dense path: the share kept at the rank of threshold from which further
// looks cost more than a dense scan. 0 means no limit.
func (p *problem) mostSurvivors(l ladder) float64 {
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

// mostBetter is the share of atoms that may be better than the answer but not wanted, before it is
// cheaper to answer many such queries by a dense scan. 0 means no limit.
func (p *problem) mostBetter(l ladder) float64 {
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
	better := math.Exp(rank) / float64(p.atoms)
	near := math.Exp(p.curves.logShare(p.curves.shares, whole, rank)) - better
	more := low.list - usual.list + low.later - usual.later + better*p.laterCost(whole, 0) + max(0, near)*p.rescoreCost()
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

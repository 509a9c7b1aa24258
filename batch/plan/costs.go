package plan

import (
	"math"

	"thresher/backend"
	"thresher/bandit"
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
	offsets     bool                     // atoms have offsets: the metric is Euclidean distance
	gathered    bool                     // the first look reads codes of allowed atoms alone (forLadder)
	panelWidth  int                      // rest coordinates stored in panels
	curves      *curves
	k           int     // 0: all atoms that reach a score
	reaching    float64 // for k = 0: how many these are; 0 if unknown
	before      float64 // other vectors whose k best make the first threshold; 0 for none
	queries     int     // of the request, as Together rounds them; 0 if unknown
	delta       float64
	costs       backend.Costs
	limits      backend.Capacity
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
	kept [maxLooks]float64
}

func (f *forecast) total() float64 { return f.prepare + f.scan + f.after() + f.answer }

// after is the cost of all steps between the scan and the answer.
func (f *forecast) after() float64 { return f.list + f.tighten + f.later + f.score }

// forecast predicts the cost of a ladder whose final threshold has a rank among all atoms,
// given by its log (p.rank). This is the cost model.
func (p *problem) forecast(l ladder, rank float64) forecast {
	p = p.forLadder(l)
	c := &p.costs
	arms := float64(p.arms)
	answers := p.answers() / arms
	exact := p.rescoreCost()
	if l.dense() {
		entering := answers
		if p.k > 0 { // the i-th arm is among the k best of the first i with probability k/i
			entering = min(1, answers*(1-math.Log(answers)))
		}
		scan := p.allRowsCost()
		if l.gather {
			scan = p.gatherCost()
		}
		return forecast{scan: scan, list: enteringVisits * c.Visit * entering, score: p.scanScoreCost() * answers, answer: p.answerCost(l)}
	}

	looks := float64(len(l.stages))
	if p.queries == 1 {
		looks += aloneQueries
	}
	f := forecast{prepare: (p.prepareCost(l) + c.Query*looks) / arms, answer: p.answerCost(l)}
	widening := p.widening(l)
	f.scan = p.armScanCost(l) * p.shareSeen(rank)
	left := p.shareKept(l, 0, rank, widening)
	if p.k > 0 {
		if p.raisesByOwn(l) {
			p.forecastOwn(&f, l, rank, widening)
		} else {
			f.list = c.List * p.shareListed(l, rank, widening)
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
	if p.finishesTogether(l) {
		part := togetherPart
		if p.raisesByOwn(l) {
			part = 1
		}
		exact = (1-part)*exact + part*p.sharedScoreCost(p.sharing(), scored*arms)
		f.score = p.lostCost() * (scored - answers)
	}
	f.score += exact * scored
	return f
}

// aloneQueries is what one query that is answered by looks waits for beyond a dense scan, as a multiple of
// Costs.Query: of many, each finds code and memory in the caches. Measured 2.5 to 3.5.
const aloneQueries = 3

// wanted is the number of atoms that a query asks for, or a forecast of how many reach its threshold. It
// may exceed the number of allowed atoms.
func (p *problem) wanted() float64 {
	if p.k == 0 && p.reaching > 0 {
		return p.reaching
	}
	return float64(max(p.k, 1))
}

// answers is the forecast number of atoms in an answer.
func (p *problem) answers() float64 { return min(p.wanted(), float64(p.arms)) }

const (
	// enteringVisits and answerVisits are the costs of an atom that a dense scan may return when it
	// reads it, and of an atom of an answer, which is selected, sorted and copied, as multiples of
	// Costs.Visit. Measured .15 and .7 to 1.
	enteringVisits, answerVisits = .15, .75
	// lastVisits is the additional cost of an atom of an answer by looks, which is tested again at the
	// end. Measured 1 to 5.
	lastVisits = 3
	// fetchedScores is the cost of a coordinate scored in float64 that comes from memory, as a multiple of
	// that of one from a cache. Measured 3 to 3.6; by 4 the planner's regret is less (bench/replan).
	fetchedScores = 4
	// scannedTogether is the number of queries of a dense scan that score rows together, unless all
	// queries of a run do.
	scannedTogether = 64
)

// answerCost is the cost of an answer per arm.
func (p *problem) answerCost(l ladder) float64 {
	visits := answerVisits
	switch {
	case l.dense():
	case p.ownTogether(l):
		visits += lastOwnVisits
	default:
		visits += lastVisits
	}
	return visits * p.costs.Visit * p.answers() / float64(p.arms)
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
	if !p.limits.Takes(p.later[stage], p.head, p.widths[stage]) {
		return 0
	}
	return p.later[stage].Cost(&p.costs, p.head, p.widths[stage], p.panelWidth)
}

// scanCost is the cost per atom read of a ladder's first look; 0 if there is no such look.
func (p *problem) scanCost(l ladder) float64 {
	c, width := &p.costs, p.widths[l.stages[0]]
	if l.first == backend.SignPanels {
		return p.signsCost(l)
	}
	if !p.limits.Takes(l.first, p.head, width) {
		return 0
	}
	cost := l.first.Cost(c, p.head, width, p.panelWidth)
	if cost == 0 {
		return 0
	}
	codes, test := p.head+width, c.Test
	if l.first == backend.Mixed { // the codes of terms make the test
		codes, test = backend.MixedWidth(p.head, width)+backend.MixedTerms, 0
	}
	read := p.streamCost(codes, 1)
	if p.queries == 1 { // its products wait for the codes
		return max(cost, test+(c.Code+read)*float64(codes))
	}
	if p.transposes(l) {
		read += c.Transpose
	}
	return cost + read/float64(p.sharing())*float64(codes)
}

// transposes reports whether a ladder's first look transposes rows of codes, because panels lack some of
// them. Mixed codes are stored at every width.
func (p *problem) transposes(l ladder) bool {
	return l.first == backend.Panels && p.widths[l.stages[0]] > p.panelWidth
}

// finishesTogether reports whether the queries of a run score rows together at the end of a ladder's looks: they
// want as many as there are, if the run is full, and caches do not hold them, or nothing was scored before.
func (p *problem) finishesTogether(l ladder) bool {
	return p.k > p.atoms/maxTogether && !p.near(4*p.dim) || p.ownTogether(l)
}

// togetherPart is the part of these rows that queries score together: the first ones. Later rounds are
// small. Measured .3 to .7. After looks that raise thresholds by their own bounds it is all.
const togetherPart = .5

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

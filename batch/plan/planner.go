package plan

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"thresher/backend"
	"thresher/collection"
)

// Method says which plans answer a Question.
type Method string

const (
	Auto     Method = "auto"     // looks or a dense scan, whichever costs less
	Exact    Method = "exact"    // a dense scan
	Certain  Method = "certain"  // looks by bounds that cannot fail, or a dense scan
	Adaptive Method = "adaptive" // looks by bounds that can fail
)

// Question is what a plan depends on, apart from the collection and the costs.
type Question struct {
	Method Method
	// Name, if not "", is a plan in the form of batch.Request.Plan, which is used instead
	// of the cheapest.
	Name string
	K    int // atoms wanted; 0: all that reach a score
	// Arms is approximately the number of allowed atoms, Panels that of the panels that
	// contain one; at least 1.
	Arms, Panels int
	Delta        float64 // allowed failure probability of the answer, in (0, 1)
	// Together is about how many queries the request has, by Together; 0 if unknown. Few queries share
	// what a scan reads, and one waits for it.
	Together int
	// NoSigns says that no first look of the cheapest plan may read panels of signs, for which there is no memory.
	NoSigns bool
	// Reaching is, for K = 0, about how many atoms reach the score; 0 if unknown.
	Reaching float64
	// Before is about how many other vectors were searched before, whose K best make the threshold that looks begin
	// with; 0 for none.
	Before int
}

// maxTogether is the greatest number of queries that share a run.
const maxTogether = 256

// Together rounds the number of queries of a request for a Question, so that few plans are made: to 1, 2,
// 4, 16, 64 or 256. Two share so little of what comes from memory that they look at signs where four look at codes.
func Together(queries int) int {
	if queries == 2 {
		return 2
	}
	n := 1
	for n < maxTogether && queries >= 2*n {
		n *= 4
	}
	return n
}

// minArms is the least number of arms per wanted atom for which elimination is considered: with
// fewer, most arms are read in full anyway. minArmsAlone is the same for one query that waits for
// rows from memory, of which others have no use.
const minArms, minArmsAlone = 4, 2

// Selective reports whether K is small enough, relative to Arms, for elimination to be
// considered.
func (q *Question) Selective() bool { return q.K <= q.Arms/minArms }

// Plan is how queries are answered. It is a function of the question, the collection's
// shape and forecasts, and the costs; it never depends on codes read for a query or on other
// queries, but for their number. Plans are shared and must not be changed.
type Plan struct {
	Name  string
	Looks []backend.Look // none for a dense scan
	// Gather says that a dense scan reads the allowed rows only.
	Gather bool
	// SurvivorShares are the forecast shares in [0, 1] of the arms that survive each look.
	SurvivorShares []float64
	// MaxBetter is the share of the atoms that may be better than the answer but not wanted, because
	// of a ceiling or exclusions, before a dense scan of many such queries is cheaper than further
	// looks; 0 means no limit (backend.Goal).
	MaxBetter float64
	// Cost is the forecast in ns of one core per arm and query; 0 if there is none.
	Cost float64
}

// Dense reports whether the plan is a dense scan.
func (p *Plan) Dense() bool { return len(p.Looks) == 0 }

// Certain reports whether all bounds of the plan are deterministic.
func (p *Plan) Certain() bool {
	return !slices.ContainsFunc(p.Looks, func(l backend.Look) bool { return l.Alpha > 0 })
}

// Preferences at nearly equal cost.
const (
	// certainWorth divides the cost of plans that cannot fail.
	certainWorth = 1.1
	// fewPrice multiplies the cost of a scan that takes several times as long for few queries than for
	// many, where nobody knows how many there are.
	fewPrice = 1.5
	// togetherPrice multiplies what follows the first look of a ladder of deterministic looks for many
	// queries, unless the first look reads whole rows. The more queries share such a look, the
	// cheaper it is; rows that are visited for each query get less so. Measured 1 for 16 queries, 2.3
	// for 256.
	togetherPrice = 1.7
	// gatheredPrice multiplies the cost of a first look that gathers codes. Where half of the atoms are allowed it took
	// as long as one at panels, of which it is forecast to take two thirds.
	gatheredPrice = 1.5
)

// Planner chooses plans for one collection by one set of costs, within one set of limits. It caches them, because
// choosing takes longer than a small search. It is safe for concurrent use.
type Planner struct {
	c      *collection.Collection
	costs  backend.Costs
	limits backend.Capacity
	curves func() *curves // of the collection's forecast, which the first call may have to make

	mu   sync.Mutex
	made map[Question]*Plan
}

// New returns a planner for c with the costs and the limits of the backend that is to run its plans.
func New(c *collection.Collection, costs backend.Costs, limits backend.Capacity) *Planner {
	return &Planner{c: c, costs: costs, limits: limits, curves: sync.OnceValue(func() *curves { return newCurves(c.Forecast()) }), made: map[Question]*Plan{}}
}

// plansKept bounds the number of cached plans.
const plansKept = 256

// Choose returns the plan that q names, or the cheapest by forecast. It fails if the name is
// invalid.
func (p *Planner) Choose(q Question) (*Plan, error) {
	p.mu.Lock()
	made := p.made[q]
	p.mu.Unlock()
	if made != nil {
		return made, nil
	}
	x := p.problem(q)
	if !x.foregone(&q) {
		x.curves = p.curves()
	}
	l := x.chooseLadder(q.Method)
	if q.Name != "" {
		var err error
		if l, err = x.parseLadder(q.Name, q.Method); err != nil {
			return nil, err
		}
		l = x.cheapest(x.eachStart(l))
	}
	made = x.makePlan(l)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.made) >= plansKept {
		clear(p.made)
	}
	p.made[q] = made
	return made, nil
}

// List returns the plans that q.Method admits, cheapest by forecast first.
func (p *Planner) List(q Question) []*Plan {
	x := p.problem(q)
	x.curves = p.curves()
	var all []*Plan
	for _, l := range x.ladders(q.Method) {
		l, _ = x.withSource(l)
		all = append(all, x.makePlan(l))
	}
	slices.SortStableFunc(all, func(a, b *Plan) int { return cmp.Compare(a.Cost, b.Cost) })
	listed := map[string]bool{} // a ladder may gather or not
	return slices.DeleteFunc(all, func(a *Plan) bool {
		again := listed[a.Name]
		listed[a.Name] = true
		return again
	})
}

// Gathers reports whether a dense scan for q is cheaper on the allowed rows only.
func (p *Planner) Gathers(q Question) bool { return p.problem(q).gathers() }

// problem returns all that a plan for q depends on but the forecast.
func (p *Planner) problem(q Question) *problem {
	c := p.c
	x := &problem{arms: max(1, q.Arms), atoms: c.N, panels: max(1, q.Panels), dim: c.Dim, head: c.R, rest: c.D, panelWidth: c.PanelWidth,
		curves: &curves{}, k: q.K, queries: q.Together, reaching: q.Reaching, before: float64(q.Before), delta: q.Delta, costs: p.costs, limits: p.limits, offsets: c.Offset != nil}
	if q.NoSigns && q.Name == "" {
		x.costs.Lookup = 0
	}
	if c.Coded() {
		for i := range c.Stages {
			x.widths = append(x.widths, c.Stages[i].Width)
			x.later = append(x.later, backend.LaterLook(&c.Stages[i]))
		}
	}
	return x
}

// scans reports whether the answer to method m is a dense scan, whatever the forecast.
func (p *problem) scans(m Method) bool {
	least := minArms
	if p.queries == 1 && !p.near(4*p.dim) {
		least = minArmsAlone
	}
	return m == Exact || len(p.widths) == 0 || (m == Auto || m == Certain) && p.k > p.arms/least
}

// foregone reports whether the plan for q, of which p is the problem, does not depend on the forecast.
func (p *problem) foregone(q *Question) bool {
	if q.Name != "" {
		return q.Name == planDense || q.Name == planGather
	}
	return p.scans(q.Method)
}

// chooseLadder returns the ladder of least forecast cost that a method admits. Without
// codes, and for Auto and Certain if too many of the arms are wanted, it is the dense scan.
func (p *problem) chooseLadder(m Method) ladder {
	if p.scans(m) {
		return p.denseLadder()
	}
	return p.cheapest(p.ladders(m))
}

// cheapest returns the ladder of least cost, with its source of thresholds.
func (p *problem) cheapest(all []ladder) (best ladder) {
	least := math.Inf(1)
	for _, l := range all {
		if l, cost := p.withSource(l); cost < least {
			best, least = l, cost
		}
	}
	return best
}

// withSource returns a ladder with its cheapest source of thresholds, and its cost with the
// preferences applied, in ns per arm.
func (p *problem) withSource(l ladder) (best ladder, least float64) {
	least = math.Inf(1)
	for _, source := range p.sources() {
		l.source = source
		if l.gather && p.raisesByOwn(l) {
			continue // such looks do not gather
		}
		f := p.forecast(l, p.rankOf(l))
		cost := f.total()
		cost += p.fewPenalty(l, &f)
		if l.gather && !l.dense() {
			cost += (gatheredPrice - 1) * f.scan
		}
		if p.fallible(l) == 0 {
			cost /= certainWorth
		}
		if cost < least {
			best, least = l, cost
		}
	}
	return best, least
}

// fewPenalty is added to a forecast for many queries, where nobody knows how many there are, if the scan takes several
// times as long for few: if it gathers rows, whose copies many queries share, or reads all of them from memory.
// Deterministic looks have no such choice to make between bounds that can fail and whole rows, but pay
// togetherPrice for visiting rows.
func (p *problem) fewPenalty(l ladder, f *forecast) float64 {
	var slow bool
	switch {
	case l.certain && len(l.stages) > 0:
		if p.sharing() < scannedTogether || p.fullWidth(l.stages[0]) {
			return 0
		}
		return (togetherPrice - 1) * f.after()
	case p.queries > 0:
	case l.gather && l.dense():
		slow = true
	case l.dense():
		slow = !p.near(4 * p.dim)
	default:
		slow = p.transposes(l)
	}
	if !slow {
		return 0
	}
	return (fewPrice - 1) * f.scan
}

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
	Certain  Method = "certain"  // looks by bounds that cannot fail
	Adaptive Method = "adaptive" // looks by bounds that can fail
)

// Question is what a plan depends on beside the collection and the costs.
type Question struct {
	Method Method
	// Name, if not "", is the plan asked for.
	Name string
	K    int // atoms wanted; 0 asks for all that reach a score
	// Arms is about how many atoms may be returned, Panels about how many panels
	// hold one; at least 1.
	Arms, Panels int
	Delta        float64 // allowed failure probability of the answer, in (0, 1)
}

// leastArms is how many arms a wanted atom needs beside it for elimination to be
// tried: of fewer, most are read in full anyway.
const leastArms = 4

// Selective reports whether few enough of the arms are wanted for elimination to be
// tried.
func (q *Question) Selective() bool { return q.K <= q.Arms/leastArms }

// Plan is how queries are answered: a function of the question, the collection's
// forecasts and shape and the machine's costs alone, never of codes read for a query
// or of other queries. Plans are shared and must not be changed.
type Plan struct {
	Name  string
	Looks []backend.Look // none for a dense scan
	// Gather has a dense scan reach the rows allowed alone.
	Gather bool
	// SurvivorShares are the shares of the arms forecast to be left after each look.
	SurvivorShares []float64
	// Cost is the forecast in ns of one core an arm and query; 0 if there is none.
	Cost float64
}

// Dense reports whether the plan is a dense scan.
func (p *Plan) Dense() bool { return len(p.Looks) == 0 }

// Certain reports whether no look of the plan can drop an arm of the answer.
func (p *Plan) Certain() bool {
	return !slices.ContainsFunc(p.Looks, func(l backend.Look) bool { return l.Alpha > 0 })
}

// Preferences at nearly equal cost: an answer that cannot fail is worth a little,
// and the dense scan, whose forecast is the surest, somewhat more.
const (
	certainWorth = 1.05
	denseWorth   = 1.1
	// alonePrice is on the scan of a first look that panels are not wide enough
	// for, and on a dense scan of more rows than caches hold: a query alone, of
	// which the forecasts know nothing, takes several times as long then.
	alonePrice = 1.5
)

// Planner chooses plans for one collection on one machine. It remembers them, since
// choosing takes longer than small searches. It is safe for concurrent use.
type Planner struct {
	c      *collection.Collection
	costs  backend.Costs
	curves *curves

	mu   sync.Mutex
	made map[Question]*Plan
}

// New returns a planner for c by the given costs.
func New(c *collection.Collection, costs backend.Costs) *Planner {
	return &Planner{c: c, costs: costs, curves: newCurves(&c.Pilot), made: map[Question]*Plan{}}
}

// plansKept bounds how many plans are remembered.
const plansKept = 256

// Choose returns the plan that q names, else the cheapest by forecast. The error says
// what is wrong with the name.
func (p *Planner) Choose(q Question) (*Plan, error) {
	p.mu.Lock()
	made := p.made[q]
	p.mu.Unlock()
	if made != nil {
		return made, nil
	}
	x := p.problem(q)
	l := x.chooseLadder(q.Method)
	if q.Name != "" {
		var err error
		if l, err = x.parseLadder(q.Name, q.Method); err != nil {
			return nil, err
		}
		l, _ = x.withSource(l)
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
	var all []*Plan
	for _, l := range x.ladders(q.Method) {
		l, _ = x.withSource(l)
		all = append(all, x.makePlan(l))
	}
	slices.SortStableFunc(all, func(a, b *Plan) int { return cmp.Compare(a.Cost, b.Cost) })
	return all
}

// Gathers reports whether a dense scan for q had better reach the rows allowed alone.
func (p *Planner) Gathers(q Question) bool { return p.problem(q).gathers() }

// problem states what the planner is asked.
func (p *Planner) problem(q Question) *problem {
	c := p.c
	x := &problem{arms: max(1, q.Arms), atoms: c.N, panels: max(1, q.Panels), dim: c.Dim, head: c.R, rest: c.D, panel: c.PanelWidth,
		curves: p.curves, k: q.K, delta: q.Delta, costs: p.costs}
	if c.Coded() {
		for i := range c.Stages {
			x.widths = append(x.widths, c.Stages[i].Width)
			x.later = append(x.later, backend.LaterLook(&c.Stages[i]))
		}
	}
	return x
}

// chooseLadder is the ladder of least forecast cost among those that a method may take.
// Without codes, and for Auto where most arms are wanted, that is the dense scan.
func (p *problem) chooseLadder(m Method) ladder {
	if m == Auto && p.k > p.arms/leastArms {
		return p.denseLadder()
	}
	var best ladder
	least := math.Inf(1)
	for _, l := range p.ladders(m) {
		if l, cost := p.withSource(l); cost < least {
			best, least = l, cost
		}
	}
	return best
}

// withSource gives a ladder the source of thresholds that costs least, and returns that
// cost as choose compares it, in ns an arm.
func (p *problem) withSource(l ladder) (best ladder, least float64) {
	least = math.Inf(1)
	for _, source := range p.sources() {
		l.source = source
		f := p.forecast(l, p.rank(source))
		cost := f.total()
		cost += p.alonePenalty(l, &f)
		switch {
		case l.dense():
			cost /= denseWorth
		case p.fallible(l) == 0:
			cost /= certainWorth
		}
		if cost < least {
			best, least = l, cost
		}
	}
	return best, least
}

// alonePenalty is what is added to a forecast where the scan costs a query alone several
// times what it costs a query of many.
func (p *problem) alonePenalty(l ladder, f *forecast) float64 {
	var dear bool
	switch {
	case l.gather: // the others share the rows that were brought side by side
		dear = true
	case l.dense():
		dear = 4*float64(p.dim)*float64(p.atoms) > nearBytes
	default:
		dear = p.widths[l.stages[0]] > p.panel
	}
	if !dear {
		return 0
	}
	return (alonePrice - 1) * f.scan
}

package batch

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"thresher/backend"
	"thresher/collection"
)

// plan is how a request is answered: a function of the collection, method, k,
// delta, about how many atoms are allowed and panels hold them and the machine's
// costs alone, never of codes read for the query or of the batch. An allowed gap only ends searches earlier.
type plan struct {
	name      string
	method    Method
	guarantee Guarantee
	dense     bool
	gather    bool // the dense scan reaches the rows allowed alone
	raise     backend.RaiseSpec
	looks     []backend.Look
	// predicted is the share of arms that the pilot expects to pass the first
	// look, cost what the plan is expected to take, in ns an arm.
	predicted, cost float64
	// perArm says that the backend keeps state for every arm of every query,
	// so that few queries are answered at a time.
	perArm bool
	// reference answers by a plain reference of a published algorithm instead
	// of rounds.
	reference func(ctx context.Context, w *work, lo, hi int, out []Answer) error
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

// leastArms is how many arms a wanted atom needs beside it for elimination to be
// tried: of fewer, most are read in full anyway.
const leastArms = 4

// planned reports whether a method's looks are the planner's.
func planned(m Method) bool { return m == Auto || m == Exact || m == Certain || m == Adaptive }

// plan checks what is asked of a method and says how it is answered.
func (e *Engine) plan(w *work) (*plan, error) {
	bad := func(field, format string, a ...any) error {
		return &RequestError{Field: field, Query: -1, Err: fmt.Errorf(format, a...)}
	}
	c := e.c
	m := cmp.Or(w.req.Method, Auto)
	switch {
	case !slices.Contains(Methods(), m):
		return nil, bad("method", "%q is none of %v", m, Methods())
	case m == Adaptive && c.Basis == collection.Raw:
		return nil, bad("method", "adaptive needs rotated codes; the basis is raw")
	case m == Adaptive && !c.Coded():
		return nil, bad("method", "adaptive needs at least %d dimensions, there are %d; use certain or exact", collection.MinRotated, c.Dim)
	case !planned(m) && w.req.Plan != "":
		return nil, bad("plan", "method %s has looks of its own", m)
	case !planned(m):
		return e.published(w, m, w.k)
	case c.Basis == collection.Raw && w.req.Plan == "" && (m == Certain || m == Auto && w.k <= w.arms/leastArms):
		return e.certainRaw(w.k), nil
	}
	asked := question{m, w.req.Plan, w.k, w.arms, w.panels, w.delta}
	if made := e.plans.get(asked); made != nil {
		return made, nil
	}
	p := e.problem(w)
	l := p.choose(m)
	if w.req.Plan != "" {
		var err error
		if l, err = p.parse(w.req.Plan, m); err != nil {
			return nil, bad("plan", "%w", err)
		}
		l, _ = p.lifted(l)
	}
	made := p.plan(l, m)
	e.plans.put(asked, made)
	return made, nil
}

// question is what a plan depends on beside the engine.
type question struct {
	method  Method
	plan    string // asked for, "" for the best
	k, arms int
	panels  int
	delta   float64
}

// plans remembers the plans made: choosing takes longer than small searches. It is
// safe for concurrent use.
type plans struct {
	mu   sync.Mutex
	made map[question]*plan
}

// plansKept bounds how many are remembered.
const plansKept = 256

func (p *plans) get(q question) *plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made[q]
}

func (p *plans) put(q question, made *plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil || len(p.made) >= plansKept {
		p.made = map[question]*plan{}
	}
	p.made[q] = made
}

// problem states what the planner is asked.
func (e *Engine) problem(w *work) *problem {
	c := e.c
	p := &problem{arms: max(1, w.arms), atoms: c.N, panels: max(1, w.panels), dim: c.Dim, head: c.R, rest: c.D, panel: c.PanelWidth,
		curves: e.curves, k: w.k, delta: w.delta, costs: e.costs}
	if c.Coded() {
		p.signs = max(0, c.SignLevel())
		for _, l := range c.Levels {
			p.widths = append(p.widths, l.Width)
		}
	}
	return p
}

// choose is the ladder of least forecast cost among those that a method may take.
// Without codes, and for Auto where most arms are wanted, that is the dense scan.
func (p *problem) choose(m Method) ladder {
	if m == Auto && p.k > p.arms/leastArms {
		return p.scan()
	}
	var best ladder
	least := math.Inf(1)
	for _, l := range p.ladders(m) {
		if l, cost := p.lifted(l); cost < least {
			best, least = l, cost
		}
	}
	return best
}

// lifted gives a ladder the source of thresholds that costs least, and returns that
// cost as choose compares it, in ns an arm.
func (p *problem) lifted(l ladder) (best ladder, least float64) {
	least = math.Inf(1)
	for _, source := range p.sources() {
		l.source = source
		f := p.forecast(l, p.rank(source))
		cost := f.total()
		if p.dearAlone(l) {
			cost += (alonePrice - 1) * f.scan
		}
		switch {
		case l.dense():
			cost /= denseWorth
		case p.random(l) == 0:
			cost /= certainWorth
		}
		if cost < least {
			best, least = l, cost
		}
	}
	return best, least
}

// dearAlone reports whether a ladder's scan costs a query alone several times what
// it costs a query of many.
func (p *problem) dearAlone(l ladder) bool {
	switch {
	case l.gather: // the others share the rows that were brought side by side
		return true
	case l.dense():
		return 4*float64(p.dim)*float64(p.atoms) > nearBytes
	}
	return p.widths[l.levels[0]] > p.panel
}

// Forecast is a plan that could answer a request, with what it is expected to
// cost.
type Forecast struct {
	// Plan and Method are what a Request takes to be answered so.
	Plan      string
	Method    Method
	Guarantee Guarantee
	// Cost is in ns of one core an atom and query.
	Cost float64
	// Survivors are the shares of the atoms left after each look.
	Survivors []float64
	// Chosen says that Search takes this plan for the request.
	Chosen bool
}

// Plans lists the plans that req could be answered by, cheapest by forecast
// first; none for methods whose looks are their own. Errors are those of Search.
func (e *Engine) Plans(req Request) ([]Forecast, error) {
	w, err := e.work(&req)
	if err != nil {
		return nil, err
	}
	m := cmp.Or(req.Method, Auto)
	if !planned(m) || e.c.Basis == collection.Raw {
		return nil, nil
	}
	p := e.problem(w)
	var all []Forecast
	for _, l := range p.ladders(m) {
		l, _ = p.lifted(l)
		f := p.forecast(l, p.rank(l.source))
		made := p.plan(l, m)
		all = append(all, Forecast{Plan: made.name, Method: made.method, Guarantee: made.guarantee,
			Cost: f.total(), Survivors: slices.Clone(f.kept[:len(l.levels)]), Chosen: made.name == w.plan.name && made.method == w.plan.method})
	}
	slices.SortStableFunc(all, func(a, b Forecast) int { return cmp.Compare(a.Cost, b.Cost) })
	return all, nil
}

package batch

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"thresher/batch/plan"
	"thresher/collection"
)

// strategy is how a request is answered: by the rounds of a plan, which the planner or a
// published method makes, or by the reference implementation of a published method.
type strategy struct {
	*plan.Plan
	method    Method // never Auto
	guarantee Guarantee
	// perArm says that the backend keeps state for every arm of every query, which
	// limits how many queries are answered at a time.
	perArm bool
	// reference answers queries lo..hi-1 of w, for methods that no backend runs; nil for
	// those answered by rounds.
	reference func(ctx context.Context, w *work, lo, hi int, out []Answer) error
	// shared counts the coordinates of vectors that were read once for all queries, which no certificate counts.
	shared atomic.Int64
}

// planned reports whether the planner chooses a method's looks.
func planned(m Method) bool { return m == Auto || m == Exact || m == Certain || m == Adaptive }

// strategy checks the request's method and plan and returns how it is answered.
func (e *Engine) strategy(w *work) (*strategy, error) {
	bad := func(field, format string, a ...any) error {
		return &RequestError{Field: field, Query: -1, Err: fmt.Errorf(format, a...)}
	}
	c := e.c
	m, q := cmp.Or(w.req.Method, Auto), w.question()
	if !slices.Contains(Methods(), m) {
		return nil, bad("method", "%q is none of %v", m, Methods())
	}
	if err := w.req.Published.Check(m); err != nil {
		return nil, err
	}
	if err := searchableOf(c).refuses(m); err != nil {
		return nil, bad("method", "%w", err)
	}
	switch {
	case !planned(m) && w.req.Plan != "":
		return nil, bad("plan", "method %s has looks of its own", m)
	case !planned(m):
		return e.published(w, m, w.k)
	case c.Basis == collection.Raw && w.req.Plan == "" && (m == Certain || m == Auto && q.Selective()):
		return e.certainRaw(w.k), nil
	}
	made, err := e.planner.Choose(q)
	if err != nil {
		return nil, bad("plan", "%w", err)
	}
	return strategyOf(made, m), nil
}

// question states w for the planner.
func (w *work) question() plan.Question {
	q := plan.Question{Method: plan.Method(cmp.Or(w.req.Method, Auto)), Name: strings.TrimSuffix(w.req.Plan, noBuilding), K: w.k, Arms: w.arms, Panels: w.panels, Delta: w.delta, NoSigns: w.noSigns}
	// Answers of adaptive do not depend on how many queries there are, nor do those of parts of a request,
	// which are numbered. GPUs have not been measured.
	if q.Method != plan.Adaptive && !w.req.Part && w.numbers == nil && w.e.threads() > 0 {
		q.Together = plan.Together(w.m)
	}
	if w.k == 0 && w.req.Reaching > 0 { // rounded, so that few plans are made
		q.Reaching = math.Exp2(math.Round(math.Log2(w.req.Reaching)))
	}
	if w.k > 0 && w.within.Floors != nil {
		q.Before = coarse(w.within.Before)
	}
	return q
}

// strategyOf returns the strategy of a planner's plan, with the guarantee of its looks.
func strategyOf(p *plan.Plan, m Method) *strategy {
	s := &strategy{Plan: p, method: m, guarantee: GuaranteeProbabilistic}
	answering := Adaptive
	switch {
	case p.Dense():
		s.guarantee, answering = GuaranteeExact, Exact
	case p.Certain():
		s.guarantee, answering = GuaranteeCertain, Certain
	}
	if m == Auto {
		s.method = answering
	}
	return s
}

// predicted is the forecast share of arms that survive the first look; 0 if there is none.
func (s *strategy) predicted() float64 {
	if len(s.SurvivorShares) == 0 {
		return 0
	}
	return s.SurvivorShares[0]
}

// sameRounds reports whether two strategies take the same looks, so that their queries may
// share a run.
func (s *strategy) sameRounds(t *strategy) bool {
	return s.reference == nil && t.reference == nil && slices.Equal(s.Looks, t.Looks)
}

// Forecast is a plan that could answer a request, with its expected cost.
type Forecast struct {
	// Plan and Method are the values of a Request that select this plan.
	Plan      string
	Method    Method
	Guarantee Guarantee
	// Cost is in ns of one core per atom and query.
	Cost float64
	// SurvivorShares are the forecast shares in [0, 1] of the arms left after each look.
	SurvivorShares []float64
	// Chosen marks the plan that Search takes for the request.
	Chosen bool
}

// Plans lists the plans that could answer req, cheapest by forecast first; none for methods
// that have looks of their own. Errors are those of Search.
func (e *Engine) Plans(req Request) ([]Forecast, error) {
	w, err := e.newWork(&req, nil)
	if err != nil {
		return nil, err
	}
	m := cmp.Or(req.Method, Auto)
	if !planned(m) || e.c.Basis == collection.Raw {
		return nil, nil
	}
	var all []Forecast
	for _, p := range e.planner.List(w.question()) {
		s := strategyOf(p, m)
		all = append(all, Forecast{Plan: p.Name, Method: s.method, Guarantee: s.guarantee, Cost: p.Cost,
			SurvivorShares: slices.Clone(p.SurvivorShares), Chosen: p.Name == w.strategy.Name && s.method == w.strategy.method})
	}
	return all, nil
}

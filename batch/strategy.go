package batch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"thresher/batch/plan"
	"thresher/collection"
)

// strategy is how a request is answered: by a plan, of the planner or of a published
// method, or by a plain reference of a published method.
type strategy struct {
	*plan.Plan
	method    Method // never Auto
	guarantee Guarantee
	// perArm says that the backend keeps state for every arm of every query,
	// so that few queries are answered at a time.
	perArm bool
	// reference answers in the place of rounds, for methods that no backend runs.
	reference func(ctx context.Context, w *work, lo, hi int, out []Answer) error
}

// planned reports whether a method's looks are the planner's.
func planned(m Method) bool { return m == Auto || m == Exact || m == Certain || m == Adaptive }

// strategy checks what is asked of a method and says how it is answered.
func (e *Engine) strategy(w *work) (*strategy, error) {
	bad := func(field, format string, a ...any) error {
		return &RequestError{Field: field, Query: -1, Err: fmt.Errorf(format, a...)}
	}
	c := e.c
	m, q := cmp.Or(w.req.Method, Auto), w.question()
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
	case c.Basis == collection.Raw && w.req.Plan == "" && (m == Certain || m == Auto && q.Selective()):
		return e.certainRaw(w.k), nil
	}
	made, err := e.planner.Choose(q)
	if err != nil {
		return nil, bad("plan", "%w", err)
	}
	return strategyOf(made, m), nil
}

// question is what the planner is asked for w.
func (w *work) question() plan.Question {
	return plan.Question{Method: plan.Method(cmp.Or(w.req.Method, Auto)), Name: w.req.Plan, K: w.k, Arms: w.arms, Panels: w.panels, Delta: w.delta}
}

// strategyOf says what a plan of the planner's promises for a method.
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

// predicted is the forecast share of arms that pass the first look; 0 if there is none.
func (s *strategy) predicted() float64 {
	if len(s.SurvivorShares) == 0 {
		return 0
	}
	return s.SurvivorShares[0]
}

// sameRounds reports whether the rounds of two strategies are the same.
func (s *strategy) sameRounds(t *strategy) bool {
	return s.reference == nil && t.reference == nil && slices.Equal(s.Looks, t.Looks)
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
	// SurvivorShares are the shares of the atoms left after each look.
	SurvivorShares []float64
	// Chosen says that Search takes this plan for the request.
	Chosen bool
}

// Plans lists the plans that req could be answered by, cheapest by forecast
// first; none for methods whose looks are their own. Errors are those of Search.
func (e *Engine) Plans(req Request) ([]Forecast, error) {
	w, err := e.newWork(&req)
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
			SurvivorShares: slices.Clone(p.SurvivorShares), Chosen: p.Name == w.plan.Name && s.method == w.plan.method})
	}
	return all, nil
}

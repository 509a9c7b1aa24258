package slate

import (
	"errors"
	"fmt"
	"slices"
)

// Planner chooses lists for one user after another. It reuses its scratch between calls,
// and is not safe for concurrent use.
//
// Constraint.Scratch bounds its size: some 20 bytes for each item and position of the
// longest list for AFSM and MCSGreedy, 40 bytes an item and some hundred a position for
// the others.
type Planner struct {
	c      *Constraint
	list   List
	basket *basket
	steps  []step
	rest   step      // of the rules without filters
	alone  []float64 // ucb(e|{}) in the current call, by item
	chosen []int     // items of list and basket
	x      []float64
	// Of the current call:
	judge       func(e int) (mean, width float64)
	user        *Estimator
	weights     []float64 // known weights, in place of user
	beta        float64
	evaluations int
}

// NewPlanner returns a planner of lists within c.
func NewPlanner(c *Constraint) *Planner {
	o := c.items.objective
	return &Planner{c: c, list: o.NewList(), basket: newBasket(c), x: make([]float64, o.Features())}
}

// Recommend chooses a list for a user. It is a function of options and user; ties go to
// the smallest id.
func Recommend(c *Constraint, user *Estimator, o Options) (Slate, error) {
	if c == nil {
		return Slate{}, errors.New("slate: no constraint")
	}
	return NewPlanner(c).Recommend(user, o)
}

// Recommend chooses a list for a user. It is a function of options and user; ties go to
// the smallest id. The planner retains nothing of the user.
func (p *Planner) Recommend(user *Estimator, o Options) (Slate, error) {
	o, err := o.filled()
	if err != nil {
		return Slate{}, err
	}
	if user == nil {
		return Slate{}, errors.New("slate: no estimator")
	}
	if d := len(p.x); user.d != d {
		return Slate{}, fmt.Errorf("slate: estimator of %d features, items of %d", user.d, d)
	}
	beta, err := user.Beta(o.Confidence)
	if err != nil {
		return Slate{}, err
	}
	p.user, p.beta, p.judge = user, beta, p.estimate
	s, err := p.plan(o)
	p.user, p.judge = nil, nil
	if err != nil {
		return Slate{}, err
	}
	s.Beta = beta
	if !o.Confidence.guaranteed(user.lambda) {
		s.Alpha = 0
	}
	return s, nil
}

// Known chooses a list for known weights, d numbers >= 0, by the same algorithm with exact
// means and widths of 0. Alpha is 0 if the value of the best item is not between Lowest
// and Highest.
func (p *Planner) Known(weights []float64, o Options) (Slate, error) {
	o, err := o.filled()
	if err != nil {
		return Slate{}, err
	}
	if len(weights) != len(p.x) {
		return Slate{}, fmt.Errorf("slate: %d weights for items of %d features", len(weights), len(p.x))
	}
	for g, w := range weights {
		if !(w >= 0 && w <= MaxMagnitude) {
			return Slate{}, fmt.Errorf("slate: weight %d: %v is not in [0, %g]", g, w, MaxMagnitude)
		}
	}
	p.weights, p.judge = weights, p.evaluate
	s, err := p.plan(o)
	p.weights, p.judge = nil, nil
	if err != nil {
		return Slate{}, err
	}
	if o.Algorithm == AFSM {
		if best := slices.Max(p.alone); best < o.Lowest || best > o.Highest {
			s.Alpha = 0
		}
	}
	return s, nil
}

// estimate returns the mean and half-width of the gain of item e after the list.
func (p *Planner) estimate(e int) (mean, width float64) {
	p.list.Gains(p.x, e)
	mean = p.user.Mean(p.x)
	return mean, p.beta * p.user.Deviation(p.x, p.x)
}

// evaluate returns the gain of item e after the list, for known weights.
func (p *Planner) evaluate(e int) (mean, width float64) {
	p.list.Gains(p.x, e)
	return dot(p.weights, p.x), 0
}

// plan runs the algorithm of checked options with the scores of judge.
func (p *Planner) plan(o Options) (s Slate, err error) {
	p.evaluations = 0
	if err := p.c.CheckScratch(o.Algorithm, o.Memory); err != nil {
		return Slate{}, err
	}
	switch o.Algorithm {
	case LSBGreedy:
		s = p.climb(plain)
	case ModifiedGreedy:
		s = p.climb(perCost)
	case BetterGreedy:
		s = p.better(p.climb(plain), p.climb(perCost))
	case MCSGreedy:
		s, err = p.mcs()
	case Random:
		s = p.random(o.Seed, o.Round)
	default:
		s, err = p.afsm(o)
	}
	s.Algorithm, s.Evaluations = o.Algorithm, p.evaluations
	return s, err
}

// better returns the list of larger UCB, a if they are equal.
func (p *Planner) better(a, b Slate) Slate {
	if b.UCB > a.UCB {
		return b
	}
	return a
}

// slate returns the list of the picks of the first depth steps.
func (p *Planner) slate(depth int) Slate {
	s := Slate{Picks: make([]Pick, depth)}
	for i := range s.Picks {
		pick := p.steps[i].pick
		s.Value += pick.Mean
		s.Width += pick.Width
		pick.Value = s.Value
		s.Picks[i] = pick
	}
	s.UCB = s.Value + 3*s.Width
	return s
}

// rewind sets list and basket to the picks of the first depth steps.
func (p *Planner) rewind(depth int) {
	p.list.Reset()
	p.basket.reset(p.chosen)
	p.chosen = p.chosen[:0]
	for i := range depth {
		p.push(p.steps[i].pick.Item)
	}
}

// push appends item e to list and basket.
func (p *Planner) push(e int) {
	p.list.Append(e)
	p.basket.add(e)
	p.chosen = append(p.chosen, e)
}

package slate

import (
	"fmt"
	"math"
)

// Planner chooses lists for one user after another. It keeps its scratch, so that
// one Planner for many calls saves allocations; it belongs to one goroutine.
type Planner struct {
	c      *Constraint
	list   List
	basket *basket
	x, z   []float64
	// Of the call that runs.
	user        *Estimator
	beta        float64
	evaluations int
}

// NewPlanner returns a planner of lists within c.
func NewPlanner(c *Constraint) *Planner {
	o := c.items.objective
	d := o.Features()
	return &Planner{c: c, list: o.NewList(), basket: newBasket(c), x: make([]float64, d), z: make([]float64, d)}
}

// Recommend chooses a list for a user. Options and user decide it entirely; ties
// go to the smallest id.
func Recommend(c *Constraint, user *Estimator, o Options) (Slate, error) {
	return NewPlanner(c).Recommend(user, o)
}

// Recommend chooses a list for a user. Options and user decide it entirely; ties
// go to the smallest id. The planner keeps nothing of the user.
func (p *Planner) Recommend(user *Estimator, o Options) (Slate, error) {
	o, err := o.filled()
	if err != nil {
		return Slate{}, err
	}
	if d := len(p.x); user.d != d {
		return Slate{}, fmt.Errorf("slate: estimator of %d features, items of %d", user.d, d)
	}
	beta, err := user.Beta(o.Confidence)
	if err != nil {
		return Slate{}, err
	}
	p.user, p.beta, p.evaluations = user, beta, 0
	defer func() { p.user = nil }()
	return p.greedy(), nil
}

// score is the estimate and the half-width of the gain of item e now.
func (p *Planner) score(e int) (mean, width float64) {
	p.evaluations++
	p.list.Gains(p.x, e)
	return p.user.Mean(p.x), p.beta * p.user.Deviation(p.x, p.z)
}

func (p *Planner) greedy() Slate {
	s := Slate{Algorithm: LSBGreedy, Beta: p.beta}
	p.list.Reset()
	p.basket.reset(nil)
	for {
		best := Pick{Item: -1}
		top := math.Inf(-1)
		for e := range p.c.items.Size() {
			if !p.basket.fits(e) {
				continue
			}
			if mean, width := p.score(e); mean+width > top {
				best, top = Pick{Item: e, Mean: mean, Width: width}, mean+width
			}
		}
		if best.Item < 0 {
			p.basket.reset(s.Items())
			s.UCB = s.Value + 3*s.Width
			return s
		}
		s.Value += best.Mean
		s.Width += best.Width
		best.Value = s.Value
		s.Picks = append(s.Picks, best)
		p.list.Append(best.Item)
		p.basket.add(best.Item)
	}
}

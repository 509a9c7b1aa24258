package slate

import "math"

// step is one depth of a greedy run: the items that may come next, their scores and the
// one picked.
type step struct {
	items       []int32 // ascending
	mean, width []float64
	pick        Pick
	// opens is the largest threshold at which another item may be picked, -Inf if none.
	// beaten says that the filters excluded a better item.
	opens  float64
	beaten bool
}

// rule says which of the items that fit comes next. The zero rule is filtered: the
// largest UCB among items whose UCBs, now and alone, are at least rho times their cost,
// as in GM-UCB.
type rule int

const (
	// plain takes the largest UCB.
	plain rule = iota + 1
	// perCost takes the largest UCB per cost. Items without cost come first, by UCB.
	perCost
)

// step returns the one of a depth and creates it if necessary.
func (p *Planner) step(depth int) *step {
	for len(p.steps) <= depth {
		p.steps = append(p.steps, step{})
	}
	return &p.steps[depth]
}

// build fills step depth with the items that fit the list, and their scores. It filters
// the previous step's items, since what does not fit once never fits again.
func (p *Planner) build(depth int) *step {
	s := p.step(depth)
	if depth == 0 {
		s.room(p.c.available)
		for e, ok := range p.c.usable {
			if ok {
				p.consider(s, e)
			}
		}
		if len(p.alone) == 0 {
			p.alone = make([]float64, len(p.c.usable))
		}
		for i, e := range s.items {
			p.alone[e] = s.mean[i] + s.width[i]
		}
		return s
	}
	p.sift(s, p.steps[depth-1].items)
	return s
}

// sift fills s with those of items that fit, and their scores. items may be s.items:
// what stays moves to the front.
func (p *Planner) sift(s *step, items []int32) {
	s.room(len(items))
	for _, e := range items {
		p.consider(s, int(e))
	}
}

// room empties s and gives it room for n items, allocating no more than they need.
func (s *step) room(n int) {
	if cap(s.items) < n {
		s.items, s.mean, s.width = make([]int32, 0, n), make([]float64, 0, n), make([]float64, 0, n)
	}
	s.items, s.mean, s.width = s.items[:0], s.mean[:0], s.width[:0]
}

// consider adds item e with its score to s if it fits.
func (p *Planner) consider(s *step, e int) {
	if !p.basket.fits(e) {
		return
	}
	mean, width := p.judge(e)
	p.evaluations++
	s.items = append(s.items, int32(e))
	s.mean = append(s.mean, mean)
	s.width = append(s.width, width)
}

// passes is both filters of GM-UCB (UAI 2020, Algorithm 1). The second is necessary
// because UCBs, unlike gains, may increase with the list. Costs may be 0.
func (p *Planner) passes(e int32, ucb, rho float64) bool {
	least := rho * p.c.total[e]
	return ucb >= least && p.alone[e] >= least
}

// choose picks from s by GM-UCB with threshold rho and reports whether an item passed.
func (p *Planner) choose(s *step, rho float64) bool {
	best, top, kept := -1, math.Inf(-1), 0
	for i, e := range s.items {
		ucb := s.mean[i] + s.width[i]
		if !p.passes(e, ucb, rho) {
			kept++
		} else if ucb > top {
			best, top = i, ucb
		}
	}
	s.opens, s.beaten = math.Inf(-1), false
	if best >= 0 {
		s.pick = Pick{Item: int(s.items[best]), Mean: s.mean[best], Width: s.width[best]}
	}
	if kept == 0 {
		return best >= 0
	}
	for i, e := range s.items {
		ucb := s.mean[i] + s.width[i]
		if p.passes(e, ucb, rho) || ucb < top || (ucb == top && i > best) {
			continue
		}
		s.beaten = true
		// Division by a cost of 0 gives -Inf: a negative UCB passes no threshold.
		s.opens = max(s.opens, min(ucb, p.alone[e])/p.c.total[e])
	}
	return best >= 0
}

// chooseBest picks from s without filters, by UCB or by UCB per cost, and reports whether
// there was an item.
func (p *Planner) chooseBest(s *step, r rule) bool {
	best, top := -1, math.Inf(-1)
	rate := math.Inf(-1)
	for i, e := range s.items {
		ucb := s.mean[i] + s.width[i]
		now := 0.0
		if r == perCost {
			now = math.Inf(1)
			if cost := p.c.total[e]; cost > 0 {
				now = ucb / cost
			}
		}
		if now > rate || (now == rate && ucb > top) {
			best, top, rate = i, ucb, now
		}
	}
	if best < 0 {
		return false
	}
	s.pick = Pick{Item: int(s.items[best]), Mean: s.mean[best], Width: s.width[best]}
	return true
}

// climb makes the whole list of a rule without filters.
func (p *Planner) climb(r rule) Slate {
	p.rewind(0)
	p.build(0)
	return p.extend(0, r)
}

// extend continues from step depth, which is built and preserved, by a rule without
// filters, and returns the list. Such a rule never revisits a step, so one scratch step
// is enough.
func (p *Planner) extend(depth int, r rule) Slate {
	from, s := &p.steps[depth], &p.rest
	s.room(len(from.items))
	s.items = append(s.items, from.items...)
	s.mean = append(s.mean, from.mean...)
	s.width = append(s.width, from.width...)
	for p.chooseBest(s, r) {
		p.step(depth).pick = s.pick
		p.push(s.pick.Item)
		depth++
		p.sift(s, s.items)
	}
	return p.slate(depth)
}

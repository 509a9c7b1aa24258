package slate

import "math"

// level is one step of a greedy run: the items that may come next, their scores and the
// one picked.
type level struct {
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

// level returns the level of a depth and creates it if necessary.
func (p *Planner) level(depth int) *level {
	for len(p.levels) <= depth {
		p.levels = append(p.levels, level{})
	}
	return &p.levels[depth]
}

// build fills level depth with the items that fit the list, and their scores. It filters
// the previous level's items, since what does not fit once never fits again.
func (p *Planner) build(depth int) *level {
	l := p.level(depth)
	if depth == 0 {
		l.room(p.c.available)
		for e, ok := range p.c.usable {
			if ok {
				p.consider(l, e)
			}
		}
		if len(p.alone) == 0 {
			p.alone = make([]float64, len(p.c.usable))
		}
		for i, e := range l.items {
			p.alone[e] = l.mean[i] + l.width[i]
		}
		return l
	}
	p.sift(l, p.levels[depth-1].items)
	return l
}

// sift fills l with those of items that fit, and their scores. items may be l.items:
// what stays moves to the front.
func (p *Planner) sift(l *level, items []int32) {
	l.room(len(items))
	for _, e := range items {
		p.consider(l, int(e))
	}
}

// room empties l and gives it room for n items, allocating no more than they need.
func (l *level) room(n int) {
	if cap(l.items) < n {
		l.items, l.mean, l.width = make([]int32, 0, n), make([]float64, 0, n), make([]float64, 0, n)
	}
	l.items, l.mean, l.width = l.items[:0], l.mean[:0], l.width[:0]
}

// consider adds item e with its score to l if it fits.
func (p *Planner) consider(l *level, e int) {
	if !p.basket.fits(e) {
		return
	}
	mean, width := p.judge(e)
	p.evaluations++
	l.items = append(l.items, int32(e))
	l.mean = append(l.mean, mean)
	l.width = append(l.width, width)
}

// passes is both filters of GM-UCB (UAI 2020, Algorithm 1). The second is necessary
// because UCBs, unlike gains, may increase with the list. Costs may be 0.
func (p *Planner) passes(e int32, ucb, rho float64) bool {
	least := rho * p.c.total[e]
	return ucb >= least && p.alone[e] >= least
}

// choose picks from l by GM-UCB with threshold rho and reports whether an item passed.
func (p *Planner) choose(l *level, rho float64) bool {
	best, top, kept := -1, math.Inf(-1), 0
	for i, e := range l.items {
		ucb := l.mean[i] + l.width[i]
		if !p.passes(e, ucb, rho) {
			kept++
		} else if ucb > top {
			best, top = i, ucb
		}
	}
	l.opens, l.beaten = math.Inf(-1), false
	if best >= 0 {
		l.pick = Pick{Item: int(l.items[best]), Mean: l.mean[best], Width: l.width[best]}
	}
	if kept == 0 {
		return best >= 0
	}
	for i, e := range l.items {
		ucb := l.mean[i] + l.width[i]
		if p.passes(e, ucb, rho) || ucb < top || (ucb == top && i > best) {
			continue
		}
		l.beaten = true
		// Division by a cost of 0 gives -Inf: a negative UCB passes no threshold.
		l.opens = max(l.opens, min(ucb, p.alone[e])/p.c.total[e])
	}
	return best >= 0
}

// chooseBest picks from l without filters, by UCB or by UCB per cost, and reports whether
// there was an item.
func (p *Planner) chooseBest(l *level, r rule) bool {
	best, top := -1, math.Inf(-1)
	rate := math.Inf(-1)
	for i, e := range l.items {
		ucb := l.mean[i] + l.width[i]
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
	l.pick = Pick{Item: int(l.items[best]), Mean: l.mean[best], Width: l.width[best]}
	return true
}

// climb makes the whole list of a rule without filters.
func (p *Planner) climb(r rule) Slate {
	p.rewind(0)
	p.build(0)
	return p.extend(0, r)
}

// extend continues from level depth, which is built and preserved, by a rule without
// filters, and returns the list. Such a rule never revisits a level, so one scratch level
// is enough.
func (p *Planner) extend(depth int, r rule) Slate {
	from, l := &p.levels[depth], &p.rest
	l.room(len(from.items))
	l.items = append(l.items, from.items...)
	l.mean = append(l.mean, from.mean...)
	l.width = append(l.width, from.width...)
	for p.chooseBest(l, r) {
		p.level(depth).pick = l.pick
		p.push(l.pick.Item)
		depth++
		p.sift(l, l.items)
	}
	return p.slate(depth)
}

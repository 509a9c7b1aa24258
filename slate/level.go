package slate

import "math"

// level is one step of a greedy run: the items that may come next, their scores,
// and which one does.
type level struct {
	items       []int32 // ascending
	mean, width []float64
	pick        Pick
	// opens is the threshold at and below which another item may be picked, -Inf
	// if none would be, and beaten whether the filters kept a better item out.
	opens  float64
	beaten bool
}

// rule says which of the items that fit comes next. The zero rule is filtered: it
// takes the largest UCB among items whose UCBs, now and alone, are at least rho
// times their cost, as GM-UCB does.
type rule int

const (
	// plain takes the largest UCB.
	plain rule = iota + 1
	// perCost takes the largest UCB per cost; among items without cost, which come
	// first, the largest UCB.
	perCost
)

// level is that of a depth, made if there is none.
func (p *Planner) level(depth int) *level {
	for len(p.levels) <= depth {
		p.levels = append(p.levels, level{})
	}
	return &p.levels[depth]
}

// build fills level depth with the items that fit the list, and their scores:
// they are among those of the level before, since what did not fit then does not
// fit now.
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

// sift makes the items of l those that fit, with their scores. They may be its own:
// what stays moves to the front.
func (p *Planner) sift(l *level, items []int32) {
	l.room(len(items))
	for _, e := range items {
		p.consider(l, int(e))
	}
}

// room empties l for up to n items, and takes no more memory than they need.
func (l *level) room(n int) {
	if cap(l.items) < n {
		l.items, l.mean, l.width = make([]int32, 0, n), make([]float64, 0, n), make([]float64, 0, n)
	}
	l.items, l.mean, l.width = l.items[:0], l.mean[:0], l.width[:0]
}

// consider puts item e with its score into l if it fits.
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

// passes is both filters of GM-UCB (UAI 2020, Algorithm 1). The second is there
// because UCBs, unlike gains, may grow with the list. Costs may be 0.
func (p *Planner) passes(e int32, ucb, rho float64) bool {
	least := rho * p.c.total[e]
	return ucb >= least && p.alone[e] >= least
}

// choose picks from l by GM-UCB with threshold rho, and says whether there was an
// item to pick.
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

// chooseBest picks from l without filters, by UCB or by UCB per cost, and says
// whether there was an item to pick.
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

// climb makes the whole list that a rule without filters takes.
func (p *Planner) climb(r rule) Slate {
	p.rewind(0)
	p.build(0)
	return p.extend(0, r)
}

// extend goes on by a rule without filters from level depth, which is built and
// stays, and returns the list. Nothing comes back to the levels of such a rule, so
// that one is enough for all.
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

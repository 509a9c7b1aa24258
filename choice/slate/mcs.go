package slate

import (
	"fmt"
	"math"
)

// mcs is MCSGreedy (Yu, Fang, Tao, AAAI 2016): the list with the largest sum of UCBs among
// all lists of one and two items and all those that begin with any three items and
// continue by UCB per cost.
func (p *Planner) mcs() (Slate, error) {
	if p.c.available > MCSLimit {
		return Slate{}, fmt.Errorf("slate: %s takes %d items at most, there are %d", MCSGreedy, MCSLimit, p.c.available)
	}
	p.rewind(0)
	p.build(0)
	best := Slate{UCB: math.Inf(-1)}
	p.seeds(0, &best)
	return best, nil
}

// seeds enumerates the beginnings of up to three items, in ascending order of ids, from
// depth items on; step depth is built.
func (p *Planner) seeds(depth int, best *Slate) {
	take := func(s Slate) {
		if s.Value+s.Width > best.Value+best.Width || math.IsInf(best.UCB, -1) {
			*best = s
		}
	}
	if depth == 3 {
		take(p.extend(depth, perCost))
		return
	}
	if depth > 0 {
		take(p.slate(depth))
	}
	s := &p.steps[depth]
	last := -1
	if depth > 0 {
		last = p.steps[depth-1].pick.Item
	}
	for i := range s.items {
		s = &p.steps[depth] // steps may have been reallocated
		if int(s.items[i]) < last {
			continue
		}
		s.pick = Pick{Item: int(s.items[i]), Mean: s.mean[i], Width: s.width[i]}
		p.rewind(depth + 1)
		p.build(depth + 1)
		p.seeds(depth+1, best)
	}
}

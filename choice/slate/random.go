package slate

import (
	"math/rand/v2"

	"thresher/internal/philox"
)

// random takes items that fit, uniformly at random, until none does. It scores only those
// it takes.
func (p *Planner) random(seed, round uint64) Slate {
	p.rewind(0)
	r := rand.New(philox.New(seed, round))
	open := p.rest.items[:0]
	for e, ok := range p.c.usable {
		if ok {
			open = append(open, int32(e))
		}
	}
	p.rest.items = open
	depth := 0
	for len(open) > 0 {
		e := int(open[r.IntN(len(open))])
		mean, width := p.judge(e)
		p.evaluations++
		p.step(depth).pick = Pick{Item: e, Mean: mean, Width: width}
		p.push(e)
		depth++
		fit := open[:0]
		for _, e := range open {
			if p.basket.fits(int(e)) {
				fit = append(fit, e)
			}
		}
		open = fit
	}
	return p.slate(depth)
}

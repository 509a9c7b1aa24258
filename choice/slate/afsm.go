package slate

// nearly widens thresholds when deciding whether a run could differ, so that the rounding
// of a quotient hides no difference; the run itself compares products.
const nearly = 1 - 1e-12

// afsm is AFSM-UCB (UAI 2020, Algorithm 2) with the same result at less cost. Thresholds
// decrease. Every step of the last run knows the largest threshold at which it would
// pick another item: if none is reached the run would repeat itself; otherwise it
// resumes at the first step that changes and reuses the scores. Among lists of equal
// UCB the one of the largest threshold stays. If even the best list is empty, nu exceeds
// the UCB of every item; then afsm returns the list of LSBGreedy, since nothing is
// learned from empty lists.
func (p *Planner) afsm(o Options) (Slate, error) {
	grid, err := o.thresholds(p.c)
	if err != nil {
		return Slate{}, err
	}
	p.rewind(0)
	p.build(0)
	depth := p.gm(0, grid[0])
	best := p.slate(depth)
	best.Rho = grid[0]
	for _, rho := range grid[1:] {
		from := p.reopened(depth, rho)
		if from < 0 {
			continue
		}
		depth = p.gm(from, rho)
		if s := p.slate(depth); s.UCB > best.UCB {
			best = s
			best.Rho = rho
		}
	}
	// At the least threshold an item of value nu passes, if its interval holds.
	alpha := 0.0
	if depth > 0 {
		alpha = p.c.Alpha(o.Epsilon)
	}
	if o.Greedy || len(best.Picks) == 0 {
		best = p.widened(best, depth, o.Greedy)
	}
	best.Alpha = alpha
	return best, nil
}

// widened returns the best of the runs' lists and, with greedy, the greedy lists; if
// that is empty, the list of LSBGreedy. The last run has length depth.
func (p *Planner) widened(best Slate, depth int, greedy bool) Slate {
	from := 0
	for from < depth && !p.steps[from].beaten {
		from++
	}
	p.rewind(from)
	first := p.extend(from, plain)
	if greedy {
		best = p.better(best, first)
		p.rewind(0)
		best = p.better(best, p.extend(0, perCost))
	}
	if len(best.Picks) == 0 {
		return first
	}
	return best
}

// reopened returns the first step of a run of length depth that may pick another item
// under threshold rho, -1 if none does.
func (p *Planner) reopened(depth int, rho float64) int {
	for i := range p.steps[:depth+1] {
		if p.steps[i].opens >= rho*nearly {
			return i
		}
	}
	return -1
}

// gm runs GM-UCB(rho) (UAI 2020, Algorithm 1) from step depth on, whose scores are
// computed, and returns the length of the list.
func (p *Planner) gm(depth int, rho float64) int {
	p.rewind(depth)
	for p.choose(&p.steps[depth], rho) {
		p.push(p.steps[depth].pick.Item)
		depth++
		p.build(depth)
	}
	return depth
}

package slate

import "math"

// search finds what the runs of a node choose next: for each of its thresholds, the item
// of the largest score among those that fit and pass. The lower the threshold the more
// items pass, so top is non-decreasing along the grid, and an item is out as soon as its
// upper bound is below top at the first threshold it passes.
//
// Bounds only exclude items. Scores are computed by the Planner, with the same code as
// for a single user.
type search struct {
	cells   *cells
	prices  *prices
	grid    []float64 // thresholds, descending; -Inf at the end stands for no filter
	planner *Planner
	empty   List // for ucb(e|{})

	// Of the current node:
	lo, hi       int // its thresholds are grid[lo:hi]
	rule         rule
	query        *query
	scale, shift float64 // figure*scale + shift bounds the scores of a cell
	// By threshold: the best item so far (Item is -1 for none), its score and, for perCost,
	// its score per cost.
	chosen    []Pick
	top, rate []float64
	queue     cellQueue
}

// run sets chosen[lo:hi] for the planner's present list and basket. figures are the
// Scorer's for the query and all envelopes.
func (s *search) run(q *query, figures []float32) {
	s.query = q
	s.scale, s.shift = q.slackness()
	for j := s.lo; j < s.hi; j++ {
		s.chosen[j].Item = -1
		s.top[j], s.rate[j] = math.Inf(-1), math.Inf(-1)
	}
	// A good score at the start keeps most cells out of the queue.
	s.openCell(highest(figures))
	s.enqueue(figures)
	for len(s.queue) > 0 {
		next := s.queue.pop()
		if s.rule == perCost && next.key < s.rate[s.lo] || s.rule != perCost && next.key < s.top[s.lo] {
			return // top is least there, and all other keys are smaller
		}
		if s.admits(next.bound, s.prices.total[next.cell]) {
			s.openCell(int(next.cell))
		}
	}
}

// highest returns the index of the largest figure.
func highest(figures []float32) int {
	best := 0
	for r, x := range figures {
		if x > figures[best] {
			best = r
		}
	}
	return best
}

// enqueue queues the cells that may hold a choice.
func (s *search) enqueue(figures []float32) {
	s.queue = s.queue[:0]
	least := s.top[s.lo]
	if s.rule == perCost {
		least = math.Inf(-1)
	}
	spent := s.planner.basket.spent
	for r, figure := range figures {
		bound := float64(figure)*s.scale + s.shift
		if bound < least {
			continue
		}
		cost := s.prices.total[r]
		if !s.admits(bound, cost) || !s.prices.fit(r, spent) {
			continue
		}
		key := bound
		if s.rule == perCost {
			key = perCostOf(bound, cost)
		}
		s.queue = append(s.queue, queuedCell{key: key, bound: bound, cell: int32(r)})
	}
	s.queue.order()
}

// perCostOf returns the key that perCost compares first.
func perCostOf(ucb, cost float64) float64 {
	if cost > 0 {
		return ucb / cost
	}
	return math.Inf(1)
}

// passes returns the first threshold from j on that an item of this score and cost
// passes, hi for none.
func (s *search) passes(j int, ucb, cost float64) int {
	for j < s.hi && ucb < s.grid[j]*cost {
		j++
	}
	return j
}

// admits reports whether an item of at most this score and at least this cost may be the
// choice of some threshold.
func (s *search) admits(bound, cost float64) bool {
	if s.rule == perCost {
		rate := perCostOf(bound, cost)
		return rate > s.rate[s.lo] || rate == s.rate[s.lo] && bound >= s.top[s.lo]
	}
	j := s.passes(s.lo, bound, cost)
	return j < s.hi && bound >= s.top[j]
}

// openCell considers the items of a cell.
func (s *search) openCell(r int) {
	d, p := s.cells.d, s.planner
	for slot := int(s.cells.start[r]); slot < int(s.cells.start[r+1]); slot++ {
		e := int(s.cells.items[slot])
		bound := s.query.bound(s.cells.rows[slot*d : (slot+1)*d])
		if s.admits(bound, p.c.total[e]) && p.basket.fits(e) {
			s.consider(e)
		}
	}
}

// consider scores item e and records the thresholds where it leads. Of equal items the
// smallest id leads.
func (s *search) consider(e int) {
	p := s.planner
	mean, width := p.estimate(e)
	p.evaluations++
	ucb, cost := mean+width, p.c.total[e]
	pick := Pick{Item: e, Mean: mean, Width: width}
	if s.rule == perCost {
		rate, j := perCostOf(ucb, cost), s.lo
		if rate > s.rate[j] || rate == s.rate[j] && s.beats(pick, ucb, j) {
			s.chosen[j], s.top[j], s.rate[j] = pick, ucb, rate
		}
		return
	}
	j := s.passes(s.lo, ucb, cost)
	if j == s.hi || !s.beats(pick, ucb, j) {
		return
	}
	if p.basket.items > 0 {
		j = s.passes(j, s.alone(e), cost)
	}
	for ; j < s.hi && s.beats(pick, ucb, j); j++ {
		s.chosen[j], s.top[j] = pick, ucb
	}
}

// beats reports whether a pick beats the best at threshold j.
func (s *search) beats(pick Pick, ucb float64, j int) bool {
	return ucb > s.top[j] || ucb == s.top[j] && pick.Item < s.chosen[j].Item
}

// alone returns ucb(e|{}).
func (s *search) alone(e int) float64 {
	p := s.planner
	list := p.list
	p.list = s.empty
	mean, width := p.estimate(e)
	p.list = list
	p.evaluations++
	return mean + width
}

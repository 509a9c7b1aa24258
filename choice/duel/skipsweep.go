package duel

import "math"

// sweep plays the duels that raise the level by one, each followed by its test, and stops
// at an elimination or at the horizon. Arms that cannot become worst or best take their
// turns like the others, but their results are drawn only if the sweep ends early.
func (s *skip) sweep() {
	s.findRivals()
	due := 0
	for i := range s.active {
		if s.active[i].n <= s.level {
			due++
		}
	}
	known := s.order(due)
	worst, best := s.extremes(s.rivals)
	lo, hi := s.active[worst].rate(), s.active[best].rate()
	radius := radiusAt(s.scale, s.level)
	end := int(min(int64(due), s.horizon()-s.duels()))
	others := 0 // turns of arms that are no rivals
	for turn, i := range s.turns[:end] {
		last := turn == due-1
		if i >= 0 {
			c := &s.active[i]
			c.n++
			if uniform(s.source) < c.mean {
				c.w++
			}
			lo, hi = min(lo, c.rate()), max(hi, c.rate())
		} else if others++; turn > 0 && !last {
			continue // unchanged since the last test; the first turn's test may follow an elimination
		}
		if last {
			radius = radiusAt(s.scale, s.level+1)
		}
		if lo+radius > hi-radius {
			continue
		}
		worst, best = s.extremes(s.rivals)
		lo, hi = s.active[worst].rate(), s.active[best].rate()
		if lo+radius <= hi-radius {
			s.settle(others, due-known)
			s.remove(worst)
			return
		}
	}
	if end == due {
		s.level++
		return
	}
	s.settle(others, due-known)
}

// findRivals finds the near arms that may become worst or best during the next sweep and
// draws them up to the level.
func (s *skip) findRivals() {
	most, least := 0., 1. // as in findNear
	for _, i := range s.near {
		lo, hi := s.active[i].reach(s.level + 1)
		most, least = max(most, lo), min(least, hi)
	}
	s.rivals = s.rivals[:0]
	for _, i := range s.near {
		c := &s.active[i]
		lo, hi := c.reach(s.level + 1)
		if (hi >= most || lo <= least) && c.n < s.level {
			s.draw(c, s.level)
			lo, hi = c.reach(s.level + 1)
			most, least = max(most, lo), min(least, hi)
		}
		if hi >= most || lo <= least {
			s.rivals = append(s.rivals, i)
		}
	}
}

// order shuffles the arms due: indices of rivals, and -1 for every other arm. It returns
// the number of rivals due.
func (s *skip) order(due int) (known int) {
	s.turns = s.turns[:0]
	for _, i := range s.rivals {
		if s.active[i].n == s.level {
			s.turns = append(s.turns, i)
		}
	}
	known = len(s.turns)
	for len(s.turns) < due {
		s.turns = append(s.turns, -1)
	}
	// A shuffle from the back can stop once all rivals are placed.
	for i := known - 1; i >= 0; i-- {
		j := i + s.rng.IntN(due-i)
		s.turns[i], s.turns[j] = s.turns[j], s.turns[i]
	}
	return known
}

// extremes returns, of the arms at places, those of worst and best rate, the first of
// equals.
func (s *skip) extremes(indices []int) (worst, best int) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, i := range indices {
		c := &s.active[i]
		p := c.rate()
		if p < lo || p == lo && c.arm < s.active[worst].arm {
			lo, worst = p, i
		}
		if p > hi || p == hi && c.arm < s.active[best].arm {
			hi, best = p, i
		}
	}
	return worst, best
}

// settle draws the arms that are no rivals, after had of the due among them took their
// turn: a uniformly random subset.
func (s *skip) settle(had, due int) {
	rivals := s.rivals
	for i := range s.active {
		if len(rivals) > 0 && rivals[0] == i {
			rivals = rivals[1:]
			continue
		}
		c := &s.active[i]
		if c.n > s.level {
			continue // ahead of the level
		}
		level := s.level
		if uniform(s.source)*float64(due) < float64(had) {
			had--
			level++
		}
		due--
		s.draw(c, level)
	}
}

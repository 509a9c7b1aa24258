package duel

import "math"

// sweep plays the duels that raise the level by one, each followed by its test, and
// stops at a removal or at the horizon. Arms that are neither worst nor best whatever
// happens have their turns like the others; how they did is drawn only if that ends
// the sweep.
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
			continue // the test before saw the same; that of the first turn is due after a removal
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

// findRivals finds those of the near that may be worst or best in the course of the
// next sweep, and brings them up to the level.
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

// order puts those of the arms due into a random order: places of rivals, and -1 for
// every other arm. It returns the number of rivals due.
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
	// A shuffle from the back: what it does behind the rivals changes nothing.
	for i := known - 1; i >= 0; i-- {
		j := i + s.rng.IntN(due-i)
		s.turns[i], s.turns[j] = s.turns[j], s.turns[i]
	}
	return known
}

// extremes are the places of worst and best rate among some; of equals, the first by
// number.
func (s *skip) extremes(places []int) (worst, best int) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, i := range places {
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

// settle draws the arms that are no rivals, after had of the due among them have had
// their turn: any as likely as the others.
func (s *skip) settle(had, due int) {
	rivals := s.rivals
	for i := range s.active {
		if len(rivals) > 0 && rivals[0] == i {
			rivals = rivals[1:]
			continue
		}
		c := &s.active[i]
		if c.n > s.level {
			continue // ahead
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

package duel

import (
	"fmt"
	"slices"
)

// Ranking is what the algorithm Rank knows. With probability at least 1 - Failure, at all
// times together, there is an order of the arms, in which no arm is beaten by a later one,
// such that every arm has a place from First to Last in it. Once the tournament has ended
// other than by its horizon, it also holds that no arm of the goal's pairs is beaten by the
// later one by more than epsilon: of all pairs in Places or, with a Design.Top, of those of
// one arm in the first Top Places with one that is not.
type Ranking struct {
	// Places has all K arms, the best first; before the end the order is a guess where places
	// overlap.
	Places []Place `json:"places"`
	Top    int     `json:"top"` // arms wanted; K if all are ordered
	// Safe counts the pairs of the goal, of Pairs, of which the later arm is known not to
	// beat the earlier one by more than epsilon.
	Safe  int `json:"safe"`
	Pairs int `json:"pairs"`
	// Failure is the design's delta.
	Failure float64 `json:"failure"`
}

// Place is the places that an arm may have, counted from 1.
type Place struct {
	Arm   int `json:"arm"`
	First int `json:"first"`
	Last  int `json:"last"`
}

func (s *ranking) describe(st *State) {
	st.Active, st.Leader, st.Standings = allArms(s.k), s.order[0], s.standings()
	r := &Ranking{Top: s.top, Failure: float64(pairsOf(s.k)) / s.threshold}
	above, below := s.closed.counts()
	for _, a := range s.order {
		r.Places = append(r.Places, Place{a, 1 + above[a], s.k - below[a]})
	}
	s.goal(func(a, b int) {
		r.Pairs++
		if s.safe(a, b) {
			r.Safe++
		}
	})
	st.Ranking = r
	switch {
	case s.complete():
		st.End = Ranked
	case s.told >= s.horizon:
		st.End = HorizonReached
	}
}

// save leaves out what follows from the claims.
func (s *ranking) save() progress {
	p := progress{
		"told": {s.told}, "order": numbers(s.order), "placed": {int64(s.placed)}, "lo": {int64(s.lo)}, "hi": {int64(s.hi)}, "moves": {s.moves},
		"wanted": flatten(s.wanted), "next": {int64(s.next)}, "heard": {s.heard}, "end": {s.end},
	}
	s.evidence.save(p)
	return p
}

func (s *ranking) load(p progress, drawn []pair) (err error) {
	var told, placed, lo, hi, next int64
	for name, to := range map[string]*int64{
		"told": &told, "placed": &placed, "lo": &lo, "hi": &hi, "next": &next, "moves": &s.moves, "heard": &s.heard, "end": &s.end,
	} {
		if *to, err = p.scalar(name); err != nil {
			return err
		}
	}
	if s.order, err = p.arms("order", s.k); err != nil {
		return err
	}
	if s.wanted, err = p.pairs("wanted", s.k); err != nil {
		return err
	}
	s.evidence, s.closed = newEvidence(s.k, s.epsilon, s.threshold), newDominance(s.k)
	if err := s.evidence.load(p, told); err != nil {
		return err
	}
	for _, c := range s.made {
		if c.strictly {
			s.closed.add(c.a, c.b)
		}
	}
	switch {
	case len(s.order) != s.k:
		return fmt.Errorf("%d of %d arms in order", len(s.order), s.k)
	case placed < 1 || placed > int64(s.k):
		return fmt.Errorf("%d of %d arms sorted", placed, s.k)
	case lo < 0 || hi > min(placed, int64(s.top)) || lo > hi || lo == hi && placed < int64(s.k):
		return fmt.Errorf("places %d to %d of %d arms sorted", lo, hi, placed)
	case next < 0 || next > int64(len(s.wanted)) || s.heard < 0 || s.heard > told || s.moves < 0 || s.moves > told:
		return fmt.Errorf("pair %d of %d is next, %d duels heard and %d moves after %d duels", next, len(s.wanted), s.heard, s.moves, told)
	}
	s.placed, s.lo, s.hi, s.next = int(placed), int(lo), int(hi), int(next)
	if err := s.checkWanted(); err != nil {
		return err
	}
	return s.loadDrawn(told, drawn)
}

// checkWanted rejects wanted pairs that plan would not have chosen, and an end too early.
func (s *ranking) checkWanted() error {
	if s.placed < s.k {
		if d, found := s.search(); found != unknown || !slices.Equal(s.wanted, []pair{d}) {
			if !s.sweep || len(s.wanted) != 1 { // during a sweep the comparison may be over
				return fmt.Errorf("%v wanted while arm %d is sorted", s.wanted, s.order[s.placed])
			}
		}
		return nil
	}
	if len(s.wanted) > 0 {
		return nil
	}
	if !slices.Equal(s.closed.arrange(s.order), s.order) {
		return fmt.Errorf("the order contradicts the claims")
	}
	if open := s.unsafe(); len(open) > 0 {
		return fmt.Errorf("ended before arms %d and %d were known", open[0].a, open[0].b)
	}
	return nil
}

// loadDrawn takes in the duels in flight.
func (s *ranking) loadDrawn(told int64, drawn []pair) error {
	if err := s.tally.load(told, len(drawn)); err != nil {
		return err
	}
	return checkDrawn(drawn, s.k, s.sweep && !s.ended(), s.end, &s.tally)
}

// checkDrawn rejects duels in flight that betting on pairs does not draw, and the end of a
// sweep of which they are not.
func checkDrawn(drawn []pair, k int, sweep bool, end int64, t *tally) error {
	if len(drawn) > max(k, maxAhead) {
		return fmt.Errorf("%d duels of %d arms in flight", len(drawn), k)
	}
	for _, d := range drawn {
		if d.a == d.b {
			return fmt.Errorf("arm %d meets itself", d.a)
		}
	}
	if sweep && (end <= t.told || end < t.drawn || end > t.told+int64(max(k, maxAhead))) {
		return fmt.Errorf("a sweep ends at duel %d, %d told, %d drawn", end, t.told, t.drawn)
	}
	return nil
}

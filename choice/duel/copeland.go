package duel

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// copeland finds the arms that beat the most others, by claims about pairs (evidence.go). It
// assumes nothing of the preferences: claims are made at 2 pairs/delta, which covers both
// directions of pairs that are exactly even.
//
// An arm scores 1 for each arm that it beats and 1/2 for each to which it is even. What
// pairs are open bounds its score, low and high. Arms whose high is below another's low are
// out. The end is reached when one arm is left, or the scores of all that are left are known
// and equal. Which duels are drawn changes their number only: pairs that the best arm seems
// to win, and of each rival as many of its clearest losses as put it out.
type copeland struct {
	rota
	*evidence
}

// explored is the number of duels of a pair from which on its lead is an estimate.
const explored = 8

func newCopeland(k int, d Design, _ *rand.Rand) *copeland {
	s := &copeland{rota: newRota(d), evidence: newEvidence(k, d.Epsilon, 2*float64(pairsOf(k))/d.Delta)}
	s.plan()
	s.end = s.sweepEnd()
	return s
}

func (s *copeland) maxInFlight() int { return max(min(len(s.wanted), s.k), maxAhead) }

// sweepEnd returns the last duel of a sweep that starts with no duel in flight.
func (s *copeland) sweepEnd() int64 { return s.told + int64(min(len(s.wanted), s.maxInFlight())) }

func (s *copeland) draw() (pair, bool) { return s.drawAhead(s.maxInFlight()) }

func (s *copeland) tell(d pair, won bool) (c change) {
	s.told++
	s.heard++
	claimed := s.evidence.tell(d, won)
	if s.sweep && s.told < s.end {
		return c
	}
	if claimed || s.heard >= int64(len(s.wanted)) || s.sweep {
		s.plan()
	}
	if s.sweep {
		s.end = s.sweepEnd()
	}
	s.withdrawRest(&c)
	return c
}

// open reports whether duels of i and j may still change their scores.
func (s *copeland) open(i, j int) bool { return i != j && !s.decided(i, j) && !s.even(i, j) }

// bounds returns twice the least and the greatest score that each arm may have, and twice
// the score that it seems to have.
func (s *copeland) bounds() (low, high, likely []int) {
	low, high, likely = make([]int, s.k), make([]int, s.k), make([]int, s.k)
	for i := range s.k {
		for j := range s.k {
			switch {
			case i == j:
			case s.open(i, j):
				high[i] += 2
				likely[i] += 1 + cmp.Compare(s.lead(i, j), 0)
			case s.beats[i*s.k+j]:
				low[i] += 2
			case s.even(i, j) && !s.decided(i, j):
				low[i]++
			}
		}
		high[i] += low[i]
		likely[i] += low[i]
	}
	return low, high, likely
}

// left returns the arms that may have the greatest score, ascending, and whether it is known
// that all of them have.
func left(low, high []int) (arms []int, known bool) {
	most := slices.Max(low)
	known = true
	for i := range low {
		if high[i] >= most {
			arms = append(arms, i)
			known = known && low[i] == high[i]
		}
	}
	return arms, known || len(arms) == 1
}

// plan chooses the pairs to draw next.
func (s *copeland) plan() {
	s.heard = 0
	before := s.wanted
	s.wanted = nil
	low, high, likely := s.bounds()
	arms, known := left(low, high)
	if !known {
		w := &wish{s: s, has: make([]bool, s.k*s.k)}
		w.explore(arms)
		if len(w.pairs) == 0 {
			w.decide(arms, high, likely)
		}
		s.wanted = w.pairs
	}
	s.planned(before)
}

// wish collects pairs, each once.
type wish struct {
	s     *copeland
	has   []bool
	pairs []pair
}

func (w *wish) add(i, j int) {
	if i > j {
		i, j = j, i
	}
	if at := i*w.s.k + j; w.s.open(i, j) && !w.has[at] {
		w.has[at] = true
		w.pairs = append(w.pairs, pair{i, j})
	}
}

// explore wants the pairs of which little is known.
func (w *wish) explore(arms []int) {
	for _, i := range arms {
		for j := range w.s.k {
			if n, _ := w.s.record(i, j); i != j && n < explored {
				w.add(i, j)
			}
		}
	}
}

// decide wants what seems to end the tournament soonest.
func (w *wish) decide(arms []int, high, likely []int) {
	best := slices.MaxFunc(arms, func(i, j int) int { return cmp.Or(cmp.Compare(likely[i], likely[j]), j-i) })
	for _, i := range arms {
		var losses []int
		for j := range w.s.k {
			if w.s.open(i, j) && w.s.lead(j, i) > 0 {
				losses = append(losses, j)
			}
		}
		wanted := (high[i] - likely[best] + 2) / 2 // losses that put i out
		if i == best || len(losses) < wanted {
			for j := range w.s.k {
				if w.s.open(i, j) && w.s.lead(i, j) >= 0 {
					w.add(i, j)
				}
			}
			continue
		}
		slices.SortStableFunc(losses, func(x, y int) int { return -cmp.Compare(w.clarity(x, i), w.clarity(y, i)) })
		for _, j := range losses[:max(wanted, 0)] {
			w.add(i, j)
		}
	}
	if len(w.pairs) > 0 {
		return
	}
	for _, i := range arms {
		for j := range w.s.k {
			w.add(i, j)
		}
	}
}

// clarity is the lead of i over j in standard deviations, squared.
func (w *wish) clarity(i, j int) float64 {
	n, _ := w.s.record(i, j)
	lead := float64(w.s.lead(i, j))
	return lead * lead / float64(max(n, 1))
}

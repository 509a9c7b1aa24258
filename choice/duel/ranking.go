package duel

import (
	"math/rand/v2"
	"slices"
)

// ranking orders all arms, or finds the top ones, by claims about pairs (evidence.go). It
// assumes weak stochastic transitivity: an order in which no arm is beaten by a later one.
// A claim is made at pairs/delta, so that all claims of a tournament agree with that order,
// except with probability delta; those that one arm beats another are closed transitively.
//
// Which duels are drawn changes their number only:
//
//  1. Sorting: arms are inserted one by one, by binary search, into the order of those
//     before. A comparison ends with a lead of a few standard deviations.
//  2. Links: duels between neighbours in the order (of the top ones: between the last of
//     them and all others). Neighbours swap places if the later one leads.
//  3. With an epsilon a safe link need not be a claim that one arm beats the other. Then
//     such claims are wanted for links where they seem cheaper than duels of the pairs that
//     would follow from them, and those duels elsewhere (rankingcost.go).
//
// The end is reached when every pair of the goal is safe: the later arm does not beat the
// earlier one by more than epsilon, by a claim or by transitivity.
type ranking struct {
	rota
	*evidence
	top int // places wanted; k for all

	order  []int // best first, in closure's order
	closed *dominance
	placed int   // arms of order that are sorted
	lo, hi int   // where the next one belongs among them
	moves  int64 // of the last of the top ones
}

// sortingAhead is the number of duels of one pair that may be in flight while it is sorted.
const sortingAhead = 8

func newRanking(k int, d Design, rng *rand.Rand) *ranking {
	s := &ranking{
		rota: newRota(d), evidence: newEvidence(k, d.Epsilon, float64(pairsOf(k))/d.Delta), top: d.Top,
		order: rng.Perm(k), closed: newDominance(k), placed: 1,
	}
	if s.top == 0 || s.top == k {
		s.top = k
	}
	s.hi = min(s.placed, s.top)
	s.plan()
	s.end = s.sweepEnd()
	return s
}

// maxInFlight returns the number of duels that may be in flight.
func (s *ranking) maxInFlight() int {
	if s.placed < s.k {
		return sortingAhead
	}
	return max(min(len(s.wanted), s.k), maxAhead)
}

// sweepEnd returns the last duel of a sweep that starts with no duel in flight.
func (s *ranking) sweepEnd() int64 {
	if s.placed < s.k {
		return s.told + sortingAhead
	}
	return s.told + int64(min(len(s.wanted), s.maxInFlight()))
}

func (s *ranking) draw() (pair, bool) { return s.drawAhead(s.maxInFlight()) }

func (s *ranking) tell(d pair, won bool) (c change) {
	s.told++
	s.heard++
	made := len(s.made)
	s.evidence.tell(d, won)
	for _, x := range s.made[made:] {
		if x.strictly {
			s.closed.add(x.a, x.b)
		}
	}
	if s.sweep && s.told < s.end {
		return c
	}
	if len(s.made) > made || s.placed < s.k || s.heard >= int64(max(len(s.wanted), s.k)) || s.sweep {
		s.plan()
	}
	if s.sweep {
		s.end = s.sweepEnd()
	}
	s.withdrawRest(&c)
	return c
}

// plan chooses the pairs to draw next.
func (s *ranking) plan() {
	s.heard = 0
	before := s.wanted
	s.wanted = nil
	for s.placed < s.k {
		d, found := s.search()
		if found == unknown {
			s.wanted = []pair{d}
			break
		}
		s.narrow(found == earlier)
	}
	if s.placed == s.k {
		s.order = s.closed.arrange(s.order)
		s.swap()
		if s.links(); len(s.wanted) == 0 && s.epsilon > 0 {
			s.wanted = s.cheapest()
		}
	}
	s.planned(before)
}

// precedence is what sorting makes of a pair.
type precedence int

const (
	unknown precedence = iota
	earlier
	later
)

// search compares the arm to be inserted with one in the middle of its range.
func (s *ranking) search() (pair, precedence) {
	const (
		enough  = 1.5 // standard deviations
		minWon  = 2
		maxSort = 400 // duels
	)
	d := pair{s.order[s.placed], s.order[s.middle()]}
	n, w := s.record(d.a, d.b)
	lead := 2*w - n
	switch {
	case s.closed.above(d.a, d.b):
		return d, earlier
	case s.closed.above(d.b, d.a), s.even(d.a, d.b):
		return d, later
	case n < maxSort && (max(lead, -lead) < minWon || float64(lead*lead) < enough*enough*float64(n)):
		return d, unknown
	case lead > 0:
		return d, earlier
	}
	return d, later
}

// middle returns the place to compare with: first the last place that counts, if the arm
// may belong behind it.
func (s *ranking) middle() int {
	if s.lo == 0 && s.hi == s.top && s.placed >= s.top {
		return s.top - 1
	}
	return (s.lo + s.hi) / 2
}

// narrow takes the result of a comparison and inserts the arm when its place is found.
func (s *ranking) narrow(before bool) {
	if mid := s.middle(); before {
		s.hi = mid
	} else {
		s.lo = mid + 1
	}
	if s.lo < s.hi {
		return
	}
	if x := s.order[s.placed]; s.lo < s.top { // others stay where they are
		s.order = slices.Insert(slices.Delete(s.order, s.placed, s.placed+1), s.lo, x)
	}
	s.placed++
	s.lo, s.hi = 0, min(s.placed, s.top)
}

// pivot returns the place that decides between the top ones and the others: the last of the
// former or, if these are the most, the first of the latter.
func (s *ranking) pivot() int {
	if s.top <= s.k-s.top {
		return s.top - 1
	}
	return s.top
}

// swap moves arms that lead over the one before them. Of all places each swap agrees with
// one more lead, so that they end.
func (s *ranking) swap() {
	const clear = 1 // standard deviation
	for moved := s.top == s.k; moved; {
		moved = false
		for p := range s.k - 1 {
			if a, b := s.order[p], s.order[p+1]; !s.safe(a, b) && s.ahead(b, a, clear) {
				s.order[p], s.order[p+1], moved = b, a, true
			}
		}
	}
	if s.top < s.k {
		s.swapPivot()
	}
}

// swapPivot makes the arm of the clearest lead against its place the pivot. As in anytime,
// each change should be rarer than the one before.
func (s *ranking) swapPivot() {
	at := s.pivot()
	x := s.order[at]
	best, most := -1, 0.
	for p, y := range s.order {
		lead := -s.lead(y, x) // of x over an arm that stands before it
		if p > at {
			lead = -lead
		}
		if p == at || lead <= 0 {
			continue
		}
		n, _ := s.record(x, y)
		if z := float64(lead) * float64(lead) / float64(n); z > most {
			best, most = p, z
		}
	}
	if wanted := min(1.5+.15*float64(s.moves), 4); most < wanted*wanted {
		return
	}
	s.moves++
	s.order[at], s.order[best] = s.order[best], x
	s.order = s.closed.arrange(s.order)
}

// safe reports whether b may stand behind a.
func (s *ranking) safe(a, b int) bool { return s.closed.above(a, b) || s.holds[a*s.k+b] }

// goal calls for every pair that the goal orders.
func (s *ranking) goal(each func(a, b int)) {
	for p := range s.top {
		first := max(p+1, s.top)
		if s.top == s.k {
			first = p + 1
		}
		for _, b := range s.order[min(first, s.k):] {
			each(s.order[p], b)
		}
	}
}

// links wants the pairs from which all others follow by transitivity, if each is a claim
// that one arm beats the other.
func (s *ranking) links() {
	want := func(p, q int) {
		if a, b := s.order[p], s.order[q]; a != b && !s.safe(a, b) {
			s.wanted = append(s.wanted, pair{a, b})
		}
	}
	if s.top == s.k {
		for p := range s.k - 1 {
			want(p, p+1)
		}
		return
	}
	// With an epsilon a safe pair of two top ones, or of two others, proves nothing.
	at := s.pivot()
	for p := range s.k {
		if s.epsilon == 0 || (p < s.top) != (at < s.top) {
			want(min(p, at), max(p, at))
		}
	}
}

// unsafe returns the pairs of the goal that are not safe.
func (s *ranking) unsafe() (pairs []pair) {
	s.goal(func(a, b int) {
		if !s.safe(a, b) {
			pairs = append(pairs, pair{a, b})
		}
	})
	return pairs
}

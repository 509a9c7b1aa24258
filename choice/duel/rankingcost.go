package duel

import (
	"cmp"
	"math"
	"slices"
)

// enoughDuels is the number of duels from which on a pair's own rate is its estimate.
const enoughDuels = 20

// gap estimates P(a > b) - 1/2 by the pair's duels; fallback if there are few.
func (s *ranking) gap(a, b int, fallback float64) float64 {
	n, w := s.record(a, b)
	if n < enoughDuels {
		return fallback
	}
	return rate(w, n) - .5
}

// costs estimates the duels that are missing until it is claimed that a beats b, and until b
// is known not to beat a by more than epsilon. A capital grows by about twice the squared
// distance from the hypothesis a duel.
func (s *ranking) costs(a, b int, gap float64) (beats, holds float64) {
	const least = .002 // of a gap
	n, _ := s.record(a, b)
	missing := func(gap float64) float64 { return max((s.least+2)/(2*gap*gap)-float64(n), 1) }
	if !s.closed.above(a, b) {
		beats = missing(max(gap, least))
	}
	if !s.safe(a, b) {
		holds = missing(max(gap, -s.epsilon/2) + s.epsilon)
	}
	return beats, holds
}

// cheapest returns the pairs to draw when all links are safe: links whose claims prove other
// pairs by transitivity, where that seems cheaper than to duel these pairs, and pairs of the
// goal elsewhere. It returns none if all are safe.
func (s *ranking) cheapest() []pair {
	open := s.unsafe()
	if len(open) == 0 || s.top == 1 {
		return open
	}
	if s.top < s.k {
		return s.cheaperTop(open)
	}
	start := s.segments()
	var links []pair
	for p := range s.k - 1 {
		if a, b := s.order[p], s.order[p+1]; start[p+1] == start[p] && !s.closed.above(a, b) {
			links = append(links, pair{a, b})
		}
	}
	place := make([]int, s.k)
	for p, a := range s.order {
		place[a] = p
	}
	for _, d := range open {
		if start[place[d.a]] != start[place[d.b]] {
			links = append(links, d)
		}
	}
	if len(links) == 0 {
		return open
	}
	return links
}

// segments divides the order into segments within which all links are to be claims, so that
// links within and pairs across are estimated to cost the least together. It returns the
// first place of each place's segment.
func (s *ranking) segments() []int {
	k := s.k
	link, claims := make([]float64, k), make([]float64, k) // of places p and p+1: gap and cost
	for p := range k - 1 {
		a, b := s.order[p], s.order[p+1]
		link[p] = s.gap(a, b, 0)
		claims[p], _ = s.costs(a, b, link[p])
	}
	// saved[i] is what a segment from i to j saves, pairs within less links, for the present
	// j. Places are taken as ends in turn.
	saved, best, from := make([]float64, k), make([]float64, k+1), make([]int, k)
	for j := range k {
		widest, pairs := 0., 0.
		best[j+1], from[j] = math.Inf(-1), j
		for i := j; i >= 0; i-- {
			if i < j {
				widest = max(widest, link[i])
				_, holds := s.costs(s.order[i], s.order[j], s.gap(s.order[i], s.order[j], widest))
				pairs += holds
				saved[i] += pairs - claims[j-1]
			}
			if x := best[i] + saved[i]; x > best[j+1] {
				best[j+1], from[j] = x, i
			}
		}
	}
	start := make([]int, k)
	for j := k - 1; j >= 0; {
		first := from[j]
		for ; j >= first; j-- {
			start[j] = first
		}
	}
	return start
}

// cheaperTop returns the links with the pivot that are to be claims, and those of the open
// pairs of which one arm's link is not. Arms are left without a claim in the order of what
// theirs would cost.
func (s *ranking) cheaperTop(open []pair) []pair {
	x := s.order[s.pivot()]
	links := make([]pair, s.k) // by arm
	gaps, claims := make([]float64, s.k), make([]float64, s.k)
	for p, a := range s.order {
		links[a] = pair{a, x}
		if p > s.pivot() {
			links[a] = pair{x, a}
		}
		if a != x {
			gaps[a] = s.gap(links[a].a, links[a].b, 2*s.epsilon) // so that it is tried
			claims[a], _ = s.costs(links[a].a, links[a].b, gaps[a])
		}
	}
	partners := make([][]pair, s.k) // the open pairs of each arm
	for _, d := range open {
		partners[d.a], partners[d.b] = append(partners[d.a], d), append(partners[d.b], d)
	}
	arms := slices.Clone(s.order)
	slices.SortStableFunc(arms, func(a, b int) int { return -cmp.Compare(claims[a], claims[b]) })
	cost, least, dropped := 0., 0., 0 // relative to claims of all links
	direct := make([]bool, s.k)
	for m, a := range arms {
		if claims[a] == 0 {
			break
		}
		cost -= claims[a]
		direct[a] = true
		for _, d := range partners[a] {
			if direct[d.a] != direct[d.b] {
				_, holds := s.costs(d.a, d.b, s.gap(d.a, d.b, max(gaps[d.a], gaps[d.b])))
				cost += holds
			}
		}
		if cost < least {
			least, dropped = cost, m+1
		}
	}
	clear(direct)
	for _, a := range arms[:dropped] {
		direct[a] = true
	}
	var pairs []pair
	for _, a := range arms[dropped:] {
		if claims[a] > 0 {
			pairs = append(pairs, links[a])
		}
	}
	for _, d := range open {
		if direct[d.a] || direct[d.b] {
			pairs = append(pairs, d)
		}
	}
	if len(pairs) == 0 {
		return open
	}
	return pairs
}

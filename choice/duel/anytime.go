package duel

import (
	"math"
	"math/rand/v2"
	"slices"
)

// anytime finds an unbeaten arm by capitals (capital.go), which may be looked at after any
// duel. It assumes nothing else: no order, no transitivity.
//
// A champion meets all challengers in turn. Every arm has a capital that bets on its
// losses; at 1/delta the arm is out or, if only the bets against p >= 1/2 + epsilon made
// that much, parked: the champion is good enough, so that it need not duel this champion
// again. A challenger with a clear lead becomes the champion, and parked arms are
// challengers again. The end is reached when no challenger is left. choice/docs/duels.md proves
// that the best arm is out, or parked under a champion that it beats by more than epsilon,
// with probability at most delta, whatever the order of duels.
type anytime struct {
	tally
	k         int
	epsilon   float64
	delta     float64
	threshold float64 // 1/delta
	bets      *bets
	share     float64 // of a challenger's capital that it bets with each champion
	sweep     bool

	champion int
	reigns   int64
	active   []int    // not out, ascending
	open     []int    // challengers that are not parked, ascending
	next     int      // index in open of the next to draw
	heard    int64    // results of the champion since it was last compared with challengers
	end      int64    // with sweep testing: the duel after which arms are tested
	former   []int    // champions before, each once, by the end of their last reign
	field    []int64  // challengers when the arm first became champion, 0 if it never did
	rows     [][]cell // [c][i]: duels of champion c against i, and wins of c; nil if field is 0

	// Of an arm: its capital without its duels with the present champion, whether that is
	// computed, and the losses to the champion below which it passes no test.
	rest  []capital
	known []bool
	need  []int64
}

// maxAhead is the number of duels that may be in flight with strict testing if there are
// fewer challengers.
const maxAhead = 64

func newAnytime(k int, d Design, rng *rand.Rand) *anytime {
	s := &anytime{
		tally: newTally(d), k: k, epsilon: d.Epsilon, delta: d.failure(), bets: newBets(d.Epsilon), share: .8, sweep: d.Testing == Sweep,
		active: allArms(k), field: make([]int64, k), rows: make([][]cell, k),
		rest: make([]capital, k), known: make([]bool, k), need: make([]int64, k),
	}
	s.threshold = 1 / s.delta
	if k == 2 {
		s.share = 1 // there is no other champion to save for
	}
	if d.Horizon > 0 {
		s.horizon = d.Horizon
	}
	for a := range s.rest {
		s.rest[a], s.known[a] = s.bets.start, true
	}
	s.champion = -1
	s.crown(rng.IntN(k))
	return s
}

func (s *anytime) ended() bool { return len(s.open) == 0 || s.told >= s.horizon }

// crown begins a reign.
func (s *anytime) crown(c int) {
	again := s.rows[c] != nil
	if !again {
		s.rows[c] = make([]cell, s.k)
		s.field[c] = int64(len(s.active) - 1)
	}
	old := s.champion
	s.succeed(c)
	s.reigns++
	s.open = s.open[:0]
	for _, a := range s.active {
		if a == c {
			s.forget(a)
			continue
		}
		s.open = append(s.open, a)
		// rest takes in the duels with the old champion, unless it is to be computed anew.
		if s.known[a] = s.known[a] && !again && s.rows[a] == nil; s.known[a] && old >= 0 {
			s.meet(a, old)
		}
		s.need[a] = s.early(a)
	}
	s.next, s.heard = 0, 0
	s.end = s.sweepEnd()
}

// succeed makes c champion.
func (s *anytime) succeed(c int) {
	if s.champion >= 0 {
		s.former = append(s.former, s.champion)
	}
	s.former = slices.DeleteFunc(s.former, func(a int) bool { return a == c })
	s.champion = c
}

// early returns a number of losses in the next reign before which a needs no test.
func (s *anytime) early(a int) int64 {
	if !s.known[a] || s.rows[s.champion][a].n > 0 {
		return 0
	}
	return int64(math.Log(s.threshold/s.rest[a].total())/s.bets.near.lose[0]) - 1
}

// forget has arm a's capital computed anew.
func (s *anytime) forget(a int) { s.known[a], s.need[a] = false, 0 }

// sweepEnd returns the last duel of a sweep that starts with no duel in flight.
func (s *anytime) sweepEnd() int64 { return s.told + int64(len(s.open)) }

func (s *anytime) draw() (pair, bool) {
	if s.ended() || s.drawn >= s.horizon || s.inFlight() >= max(len(s.open), maxAhead) || s.sweep && s.drawn >= s.end {
		return pair{}, false
	}
	if s.next >= len(s.open) {
		s.next = 0
	}
	s.next++
	s.drawn++
	return pair{s.champion, s.open[s.next-1]}, true
}

func (s *anytime) tell(d pair, won bool) (c change) {
	s.told++
	cell := &s.rows[d.a][d.b]
	cell.n++
	if won {
		cell.w++
	}
	switch {
	case d.a != s.champion: // of an earlier reign
		s.forget(d.a)
		s.forget(d.b)
	case s.sweep:
		s.heard++
	case won:
		s.heard++
		if cell.w >= s.need[d.b] {
			s.challenge(d.b, &c)
		}
	default:
		s.heard++
		s.defend(&c)
	}
	if len(s.active) == 2 && len(s.open) == 1 && d.b != s.open[0] { // out since the duel was drawn
		s.forget(d.a)
	}
	if s.sweep && s.told >= s.end && !s.finished() {
		for _, i := range slices.Clone(s.open) {
			if s.rows[s.champion][i].w >= s.need[i] {
				s.challenge(i, &c)
			}
		}
		s.defend(&c)
	}
	if !s.finished() && s.heard >= int64(len(s.open)) && (!s.sweep || s.told >= s.end) {
		s.heard = 0
		s.compare()
	}
	if s.sweep && s.told >= s.end {
		s.end = s.sweepEnd()
	}
	if s.finished() && s.drawn > s.told {
		s.drawn = s.told
		c.withdraw = true
	}
	return c
}

func (s *anytime) finished() bool { return len(s.open) == 0 }

// compare makes the challenger of the clearest lead champion, by standard deviations. The
// lead wanted grows with the number of reigns, because every reign costs a sweep, and each
// of them should be rarer than the one before. No guarantee depends on this rule.
func (s *anytime) compare() {
	if s.k == 2 {
		return // both arms are tested by the same duels
	}
	best, most := -1, 0.
	for _, i := range s.open {
		cell := s.rows[s.champion][i]
		if lead := float64(cell.n - 2*cell.w); lead > 0 && lead*lead > most*float64(cell.n) {
			best, most = i, lead*lead/float64(cell.n)
		}
	}
	wanted := min(1.5+.15*float64(s.reigns), 4)
	if most >= wanted*wanted {
		s.crown(best)
	}
}

// remainder returns the capital of arm i before its duels with the present champion or, if
// i is the champion, with x.
func (s *anytime) remainder(i, x int) *capital {
	if s.known[i] {
		return &s.rest[i]
	}
	s.known[i], s.rest[i] = true, s.bets.start
	for _, c := range s.former {
		if c != i && (c != x || i == s.champion) {
			s.meetAs(i, c, c == x)
		}
	}
	for j, cell := range s.rows[i] {
		if cell.n == 0 || i == s.champion && j == x {
			continue
		}
		times := s.bets.multiply
		if j == x {
			times = s.bets.multiplyNear
		}
		times(&s.rest[i], 1/float64(s.field[i]), cell.w, cell.n-cell.w)
	}
	return &s.rest[i]
}

// meet multiplies the capital of challenger i by its duels with a former champion c.
func (s *anytime) meet(i, c int) { s.meetAs(i, c, false) }

func (s *anytime) meetAs(i, c int, near bool) {
	cell := s.rows[c][i]
	if cell.n == 0 {
		return
	}
	if near {
		s.bets.multiplyNear(&s.rest[i], s.share, cell.n-cell.w, cell.w)
		return
	}
	s.bets.multiply(&s.rest[i], s.share, cell.n-cell.w, cell.w)
}

// bout is what arm i won and lost in the duels of the present champion with it or, if i is
// the champion, with x; and the share of its capital that it bets there.
func (s *anytime) bout(i, x int) (share float64, won, lost int64) {
	if i == s.champion {
		cell := s.rows[i][x]
		return 1 / float64(s.field[i]), cell.w, cell.n - cell.w
	}
	cell := s.rows[s.champion][i]
	return s.share, cell.n - cell.w, cell.w
}

// worth returns the capital that speaks against arm i if x is named.
func (s *anytime) worth(i, x int) float64 {
	c := *s.remainder(i, x)
	share, won, lost := s.bout(i, x)
	s.bets.multiplyNear(&c, share, won, lost)
	return c.total()
}

// sure returns the capital that speaks against arm i whoever is named.
func (s *anytime) sure(i int) float64 {
	c := s.bets.start
	for _, k := range append(slices.Clone(s.former), s.champion) {
		if cell := s.rows[k][i]; k != i && cell.n > 0 {
			s.bets.multiply(&c, s.share, cell.n-cell.w, cell.w)
		}
	}
	for _, cell := range s.rows[i] {
		if cell.n > 0 {
			s.bets.multiply(&c, 1/float64(s.field[i]), cell.w, cell.n-cell.w)
		}
	}
	return c.total()
}

// challenge tests challenger i, and eliminates or parks it.
func (s *anytime) challenge(i int, c *change) {
	at, ok := slices.BinarySearch(s.open, i)
	if !ok {
		return // out or parked since the duel was drawn
	}
	if s.passes(i, s.champion, c) {
		return
	}
	s.open = slices.Delete(s.open, at, at+1)
	if at < s.next {
		s.next--
	}
	if len(s.active) == 2 {
		s.forget(s.champion) // now its capital without its duels with the last challenger counts
	}
}

// defend tests the champion, if there is one challenger left to replace it.
func (s *anytime) defend(c *change) {
	if len(s.active) != 2 || len(s.open) != 1 {
		return
	}
	champion, x := s.champion, s.open[0]
	cell := s.rows[champion][x]
	if cell.n-cell.w < s.need[champion] || s.passes(champion, x, c) {
		return
	}
	s.succeed(x)
	s.open, s.next = s.open[:0], 0
}

// passes reports whether arm i stays in the tournament as one that may be better than x by
// more than epsilon. If it does not, it may be eliminated.
func (s *anytime) passes(i, x int, c *change) bool {
	if !(s.worth(i, x) >= s.threshold) {
		share, won, lost := s.bout(i, x)
		s.need[i] = s.bets.lossesWanted(s.remainder(i, x), share, won, lost, s.threshold)
		return true
	}
	if s.epsilon == 0 || s.sure(i) >= s.threshold {
		at, _ := slices.BinarySearch(s.active, i)
		s.active = slices.Delete(s.active, at, at+1)
		_, won, lost := s.bout(i, x)
		p := rate(won, won+lost)
		c.eliminated = append(c.eliminated, Elimination{Arm: i, At: s.told, Rate: p, Duels: won + lost, Rival: x, RivalRate: 1 - p})
	}
	return false
}

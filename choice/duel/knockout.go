package duel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// knockout is Knockout (Falahatgar, Orlitsky, Pichapati, Suresh, arXiv 1705.05366,
// Algorithms 1 to 3): rounds of random matches, each decided to the accuracy of its
// round. A sweep is one duel of every open match.
//
// Radii, accuracies, stopping and the winner of an even match agree with an
// implementation in JAX (stephen-huan/dueling-bandit, knockout.py). duelpy's has the
// same accuracies and stopping, but plays all pairs of a round, and uses delta in place
// of delta_i in its radius. Here the matches of a round are interleaved, which changes
// nothing: no match depends on another's duels.
type knockout struct {
	tally
	k      int
	design Design
	rng    *rand.Rand

	round   int // from 1
	of      accuracy
	matches []match
	bye     int   // the arm without a match, -1 if none
	seat    []int // each arm's match
	next    int   // the match from which the next duel is searched
	open    []int // matches without a winner, ascending
	at      int   // index in open of the first match from next on; len(open) if none
	calm    calm
}

// match is a Compare (Algorithm 1) in progress.
type match struct {
	a, b   int
	n, w   int64 // duels, and wins of a
	flying bool  // a duel is in flight
	winner int   // -1 while open
}

// calm bounds when a match cannot end: up to until duels, the radius exceeds the accuracy
// by more than margin, so a rate within margin of 1/2 decides nothing.
type calm struct {
	until  int64
	margin float64
}

// accuracy is the accuracy of a round's matches: e_i = (2^(1/3)-1) epsilon/(gamma
// 2^(i/3)), and ln(2/d_i) for d_i = delta/2^i.
type accuracy struct{ epsilon, log, longest float64 }

func matchOf(d Design, round int) accuracy {
	a := accuracy{
		epsilon: (math.Cbrt(2) - 1) * d.Epsilon / (d.Gamma * math.Cbrt(math.Exp2(float64(round)))),
		log:     math.Log(2/d.Delta) + float64(round)*math.Ln2,
	}
	a.longest = a.log / (2 * a.epsilon * a.epsilon) // duels after which a match ends
	return a
}

// radius is the confidence radius of the rate of n duels. It decreases with n.
func (a accuracy) radius(n int64) float64 {
	return math.Sqrt((a.log + math.Log(2*float64(n)*float64(n))) / (2 * float64(n)))
}

// calmAfter looks ahead from n duels by a share that changes the radius little. slack
// covers the rounding of radii and rates.
func (a accuracy) calmAfter(n int64) calm {
	ahead := n + n/16 + 1
	if !(float64(ahead) <= a.longest) {
		return calm{}
	}
	return calm{ahead, a.radius(ahead) - a.epsilon - slack}
}

func newKnockout(k int, d Design, rng *rand.Rand) *knockout {
	s := &knockout{
		tally: newTally(d), k: k, design: d, rng: rng, seat: make([]int, k),
	}
	s.pair(allArms(k))
	return s
}

// pair starts a round.
func (s *knockout) pair(arms []int) {
	s.round++
	s.of, s.calm = matchOf(s.design, s.round), calm{}
	s.rng.Shuffle(len(arms), func(i, j int) { arms[i], arms[j] = arms[j], arms[i] })
	s.matches, s.bye, s.next, s.at = s.matches[:0], -1, 0, 0
	for len(arms) > 1 {
		s.matches = append(s.matches, match{a: arms[0], b: arms[1], winner: -1})
		arms = arms[2:]
	}
	if len(arms) == 1 {
		s.bye = arms[0]
	}
	s.seats()
}

func (s *knockout) seats() {
	s.open = s.open[:0]
	for i, m := range s.matches {
		s.seat[m.a], s.seat[m.b] = i, i
		if m.winner < 0 {
			s.open = append(s.open, i)
		}
	}
	s.at, _ = slices.BinarySearch(s.open, s.next)
}

func (s *knockout) ended() bool { return len(s.matches) == 0 }

func (s *knockout) draw() (pair, bool) {
	if s.inFlight() == len(s.open) { // a match has one duel in flight at a time
		return pair{}, false
	}
	for {
		if s.at >= len(s.open) {
			s.at = 0
		}
		i := s.open[s.at]
		s.at++
		if m := &s.matches[i]; !m.flying {
			m.flying = true
			s.drawn++
			if s.next = i + 1; s.next == len(s.matches) {
				s.next = 0
			}
			return pair{m.a, m.b}, true
		}
	}
}

func (s *knockout) tell(d pair, won bool) change {
	s.told++
	m := &s.matches[s.seat[d.a]]
	m.flying = false
	m.n++
	if won {
		m.w++
	}
	p := rate(m.w, m.n)
	// Matches have about the same length: what holds for one holds for slightly longer and
	// all shorter ones.
	if m.n <= s.calm.until && math.Abs(p-.5) <= s.calm.margin {
		return change{}
	}
	radius := s.of.radius(m.n)
	if math.Abs(p-.5) <= radius-s.of.epsilon && float64(m.n) <= s.of.longest {
		if m.n > s.calm.until {
			s.calm = s.of.calmAfter(m.n)
		}
		return change{}
	}
	loser := m.a
	m.winner = m.b
	if p > .5 {
		loser, m.winner = m.b, m.a
		p = 1 - p
	}
	e := Elimination{
		Arm: loser, At: s.told, Rate: p, Duels: m.n, Rival: m.winner, RivalRate: 1 - p, Radius: radius,
	}
	if s.close(s.seat[d.a]); len(s.open) == 0 {
		s.pair(s.alive())
	}
	return change{eliminated: []Elimination{e}}
}

// close removes a decided match from the open ones.
func (s *knockout) close(match int) {
	i, _ := slices.BinarySearch(s.open, match)
	s.open = slices.Delete(s.open, i, i+1)
	if i < s.at {
		s.at--
	}
}

// alive returns the arms not eliminated, in the order of their matches.
func (s *knockout) alive() []int {
	var arms []int
	for _, m := range s.matches {
		switch {
		case m.winner < 0:
			arms = append(arms, m.a, m.b)
		default:
			arms = append(arms, m.winner)
		}
	}
	if s.bye >= 0 {
		arms = append(arms, s.bye)
	}
	return arms
}

func (s *knockout) describe(st *State) {
	st.Active = slices.Sorted(slices.Values(s.alive()))
	best := -1.
	for _, a := range st.Active {
		standing := Standing{Arm: a, Rate: .5}
		if a != s.bye {
			m := s.matches[s.seat[a]]
			standing.Duels, standing.Wins = m.n, m.w
			if a == m.b {
				standing.Wins = m.n - m.w
			}
			standing.Rate = rate(standing.Wins, standing.Duels)
		}
		st.Standings = append(st.Standings, standing)
		if standing.Rate > best {
			best, st.Leader = standing.Rate, a
		}
	}
	if s.ended() {
		st.End = OneLeft
	}
}

func (s *knockout) save() progress {
	p := progress{
		"told": {s.told}, "round": {int64(s.round)}, "bye": {int64(s.bye)}, "next": {int64(s.next)},
		"a": {}, "b": {}, "n": {}, "w": {}, "winner": {},
	}
	for _, m := range s.matches {
		for name, x := range map[string]int64{"a": int64(m.a), "b": int64(m.b), "n": m.n, "w": m.w, "winner": int64(m.winner)} {
			p[name] = append(p[name], x)
		}
	}
	return p
}

func (s *knockout) load(p progress, drawn []pair) (err error) {
	var told, round, bye, next int64
	for name, to := range map[string]*int64{"told": &told, "round": &round, "bye": &bye, "next": &next} {
		if *to, err = p.scalar(name); err != nil {
			return err
		}
	}
	count := len(p["a"])
	switch {
	case bye < -1 || bye >= int64(s.k):
		return fmt.Errorf("%q: %d is no arm", "bye", bye)
	case round < 1 || round > int64(s.k):
		return fmt.Errorf("round %d of %d arms", round, s.k)
	case next < 0 || next > 0 && next >= int64(count):
		return fmt.Errorf("match %d of %d is next", next, count)
	case bye < 0 && count == 0:
		return fmt.Errorf("no arms in round %d", round)
	}
	s.round, s.bye, s.next = int(round), int(bye), int(next)
	s.of, s.calm = matchOf(s.design, s.round), calm{}
	if err := s.loadMatches(p, count, told); err != nil {
		return err
	}
	for _, d := range drawn {
		if d.a < 0 || d.a >= s.k || count == 0 {
			return fmt.Errorf("duel of %d and %d, who have no match", d.a, d.b)
		}
		m := &s.matches[s.seat[d.a]]
		if (pair{m.a, m.b}) != d || m.flying || m.winner >= 0 {
			return fmt.Errorf("duel of %d and %d, out of turn", d.a, d.b)
		}
		m.flying = true
	}
	return s.tally.load(told, len(drawn))
}

func (s *knockout) loadMatches(p progress, count int, told int64) error {
	n, w, err := p.counts("n", "w", count, told)
	if err != nil {
		return err
	}
	b, err := p.vector("b", count)
	if err != nil {
		return err
	}
	winner, err := p.vector("winner", count)
	if err != nil {
		return err
	}
	seated := progress{"arms": slices.Concat(p["a"], b)}
	if s.bye >= 0 {
		seated["arms"] = append(seated["arms"], int64(s.bye))
	}
	if _, err := seated.arms("arms", s.k); err != nil {
		return err
	}
	s.matches = s.matches[:0]
	for i, a := range p["a"] {
		if winner[i] != -1 && winner[i] != a && winner[i] != b[i] {
			return fmt.Errorf("%d won a match of %d and %d", winner[i], a, b[i])
		}
		s.matches = append(s.matches, match{a: int(a), b: int(b[i]), n: n[i], w: w[i], winner: int(winner[i])})
	}
	s.seats()
	if len(s.open) == 0 && count > 0 {
		return fmt.Errorf("round %d is over", s.round)
	}
	return nil
}

package duel

import (
	"fmt"
	"math"
)

// evidence counts the duels of every pair of arms and claims what they prove. A pair has a
// capital against each hypothesis (capital.go, all of it bet on this pair):
//
//   - beats(i, j): the capital that bets on losses of j against i reached the threshold,
//     whichever of P(j > i) >= 1/2 and P(j > i) >= 1/2 + epsilon it is held to
//   - holds(i, j): the capital against P(j > i) >= 1/2 + epsilon reached it
//
// beats implies holds, and without an epsilon they are the same. A claim stays: by Ville's
// inequality the probability that a capital against a true hypothesis ever reaches the
// threshold is at most 1/threshold.
type evidence struct {
	k         int
	epsilon   float64
	bets      *bets
	threshold float64
	least     float64 // logarithm of the threshold, less a tolerance for rounding
	cells     []cell  // [i*k+j] for i < j: duels of i and j, and wins of i
	// claims in the order in which they were made, and by [i*k+j].
	made         []claim
	beats, holds []bool
}

// claim says that arm a beats arm b or, unless strictly, that b does not beat a by more
// than epsilon.
type claim struct {
	a, b     int
	strictly bool
}

func newEvidence(k int, epsilon, threshold float64) *evidence {
	return &evidence{
		k: k, epsilon: epsilon, bets: newBets(epsilon), threshold: threshold, least: math.Log(threshold) - slack,
		cells: make([]cell, k*k), beats: make([]bool, k*k), holds: make([]bool, k*k),
	}
}

// pairsOf returns the number of pairs of k arms.
func pairsOf(k int) int { return k * (k - 1) / 2 }

// record returns how often i met j, and won.
func (e *evidence) record(i, j int) (n, w int64) {
	if i < j {
		c := e.cells[i*e.k+j]
		return c.n, c.w
	}
	c := e.cells[j*e.k+i]
	return c.n, c.n - c.w
}

// lead returns how much more often i won against j than it lost.
func (e *evidence) lead(i, j int) int64 {
	n, w := e.record(i, j)
	return 2*w - n
}

// ahead reports whether the lead of i over j is at least wanted standard deviations.
func (e *evidence) ahead(i, j int, wanted float64) bool {
	n, w := e.record(i, j)
	lead := float64(2*w - n)
	return lead > 0 && lead*lead >= wanted*wanted*float64(n)
}

// decided reports whether one of i and j is known to beat the other.
func (e *evidence) decided(i, j int) bool { return e.beats[i*e.k+j] || e.beats[j*e.k+i] }

// even reports whether neither of i and j beats the other by more than epsilon.
func (e *evidence) even(i, j int) bool { return e.holds[i*e.k+j] && e.holds[j*e.k+i] }

// tell counts a result and reports whether it led to new claims.
func (e *evidence) tell(d pair, won bool) bool {
	i, j := d.a, d.b
	if i > j {
		i, j, won = j, i, !won
	}
	c := &e.cells[i*e.k+j]
	c.n++
	if won {
		c.w++
	}
	if e.decided(i, j) {
		return false // a late result
	}
	first, second := e.test(i, j), e.test(j, i)
	return first || second
}

// test makes the claims for i against j that their duels suffice for.
func (e *evidence) test(i, j int) (claimed bool) {
	n, w := e.record(j, i)
	if !e.mayReach(n, w) {
		return false
	}
	if !e.holds[i*e.k+j] {
		c := e.bets.start
		if e.bets.multiplyNear(&c, 1, w, n-w); !(c.total() >= e.threshold) {
			return false
		}
		e.claim(claim{i, j, e.epsilon == 0})
		if claimed = true; e.epsilon == 0 { // both hypotheses are one
			return claimed
		}
	}
	c := e.bets.start
	if e.bets.multiply(&c, 1, w, n-w); c.total() >= e.threshold {
		claimed = true
		e.claim(claim{i, j, true})
	}
	return claimed
}

// mayReach is false if no capital against an arm that won w of n duels can reach the
// threshold: a bet's factor is the ratio of two likelihoods, which exceeds that of the rate
// itself never.
func (e *evidence) mayReach(n, w int64) bool {
	v := .5 + e.epsilon
	p := rate(w, n)
	if p >= v {
		return false
	}
	wins, losses := float64(w), float64(n-w)
	return xlogy(wins, p/v)+xlogy(losses, (1-p)/(1-v)) >= e.least
}

func (e *evidence) claim(c claim) {
	at := c.a*e.k + c.b
	e.holds[at] = true
	if c.strictly {
		e.beats[at] = true
	}
	e.made = append(e.made, c)
}

// save adds counts and claims to a strategy's state: of a pair i < j, in order.
func (e *evidence) save(p progress) {
	n, w := make([]int64, 0, pairsOf(e.k)), make([]int64, 0, pairsOf(e.k))
	for i := range e.k {
		for _, c := range e.cells[i*e.k+i+1 : (i+1)*e.k] {
			n, w = append(n, c.n), append(w, c.w)
		}
	}
	claims := make([]int64, 0, 3*len(e.made))
	for _, c := range e.made {
		strictly := int64(0)
		if c.strictly {
			strictly = 1
		}
		claims = append(claims, int64(c.a), int64(c.b), strictly)
	}
	p["n"], p["w"], p["claims"] = n, w, claims
}

// load reads what save wrote. It rejects claims about pairs that never met, and about which
// of two arms beats the other in both directions.
func (e *evidence) load(p progress, told int64) error {
	n, w, err := p.counts("n", "w", pairsOf(e.k), told)
	if err != nil {
		return err
	}
	at, all := 0, int64(0)
	for i := range e.k {
		for j := i + 1; j < e.k; j++ {
			e.cells[i*e.k+j] = cell{n[at], w[at]}
			all += n[at]
			at++
		}
	}
	if all != told {
		return fmt.Errorf("%d duels counted, %d told", all, told)
	}
	claims, ok := p["claims"]
	if !ok || len(claims)%3 != 0 {
		return fmt.Errorf("%q: %d numbers are not three a claim", "claims", len(claims))
	}
	for ; len(claims) > 0; claims = claims[3:] {
		c, err := e.loadClaim(claims)
		if err != nil {
			return err
		}
		e.claim(c)
	}
	return nil
}

func (e *evidence) loadClaim(v []int64) (c claim, err error) {
	k := int64(e.k)
	if v[0] < 0 || v[0] >= k || v[1] < 0 || v[1] >= k || v[0] == v[1] || v[2] < 0 || v[2] > 1 {
		return c, fmt.Errorf("claim %v of %d arms", v[:3], e.k)
	}
	c = claim{int(v[0]), int(v[1]), v[2] == 1}
	at := c.a*e.k + c.b
	n, w := e.record(c.a, c.b)
	switch {
	case w == 0:
		return c, fmt.Errorf("a claim for arm %d, which won none of %d duels against %d", c.a, n, c.b)
	case e.decided(c.a, c.b), e.holds[at] && !c.strictly, !c.strictly && e.epsilon == 0, c.strictly && e.epsilon > 0 && !e.holds[at]:
		return c, fmt.Errorf("a claim of arms %d and %d out of order", c.a, c.b)
	}
	return c, nil
}

// flatten lists the arms of pairs.
func flatten(pairs []pair) []int64 {
	v := make([]int64, 0, 2*len(pairs))
	for _, d := range pairs {
		v = append(v, int64(d.a), int64(d.b))
	}
	return v
}

// pairs reads pairs of two different arms below k.
func (p progress) pairs(name string, k int) ([]pair, error) {
	v, ok := p[name]
	if !ok || len(v)%2 != 0 || len(v) > 2*pairsOf(k) {
		return nil, fmt.Errorf("%q: %d numbers are not two a pair of %d arms", name, len(v), k)
	}
	var pairs []pair
	for ; len(v) > 0; v = v[2:] {
		if v[0] < 0 || v[0] >= int64(k) || v[1] < 0 || v[1] >= int64(k) || v[0] == v[1] {
			return nil, fmt.Errorf("%q: %d and %d are no two arms below %d", name, v[0], v[1], k)
		}
		pairs = append(pairs, pair{int(v[0]), int(v[1])})
	}
	return pairs, nil
}

// standings are the records of all arms against all others.
func (e *evidence) standings() []Standing {
	all := make([]Standing, e.k)
	for i := range all {
		all[i].Arm = i
		for j := range e.k {
			if i != j {
				n, w := e.record(i, j)
				all[i].Duels += n
				all[i].Wins += w
			}
		}
		all[i].Rate = rate(all[i].Wins, all[i].Duels)
	}
	return all
}

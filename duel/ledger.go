package duel

import (
	"fmt"
	"math"
)

// ledger counts the duels of every pair of arms and claims what they prove. A pair has a
// capital against each hypothesis (capital.go, all of it bet on this pair):
//
//   - beats(i, j): the capital that bets on losses of j against i reached the threshold,
//     whichever of P(j > i) >= 1/2 and P(j > i) >= 1/2 + epsilon it is held to
//   - holds(i, j): the capital against P(j > i) >= 1/2 + epsilon reached it
//
// beats implies holds, and without an epsilon they are the same. A claim stays: by Ville's
// inequality the probability that a capital against a true hypothesis ever reaches the
// threshold is at most 1/threshold.
type ledger struct {
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

func newLedger(k int, epsilon, threshold float64) *ledger {
	return &ledger{
		k: k, epsilon: epsilon, bets: newBets(epsilon), threshold: threshold, least: math.Log(threshold) - slack,
		cells: make([]cell, k*k), beats: make([]bool, k*k), holds: make([]bool, k*k),
	}
}

// pairsOf returns the number of pairs of k arms.
func pairsOf(k int) int { return k * (k - 1) / 2 }

// record returns how often i met j, and won.
func (l *ledger) record(i, j int) (n, w int64) {
	if i < j {
		c := l.cells[i*l.k+j]
		return c.n, c.w
	}
	c := l.cells[j*l.k+i]
	return c.n, c.n - c.w
}

// lead returns how much more often i won against j than it lost.
func (l *ledger) lead(i, j int) int64 {
	n, w := l.record(i, j)
	return 2*w - n
}

// ahead reports whether the lead of i over j is at least wanted standard deviations.
func (l *ledger) ahead(i, j int, wanted float64) bool {
	n, w := l.record(i, j)
	lead := float64(2*w - n)
	return lead > 0 && lead*lead >= wanted*wanted*float64(n)
}

// decided reports whether one of i and j is known to beat the other.
func (l *ledger) decided(i, j int) bool { return l.beats[i*l.k+j] || l.beats[j*l.k+i] }

// even reports whether neither of i and j beats the other by more than epsilon.
func (l *ledger) even(i, j int) bool { return l.holds[i*l.k+j] && l.holds[j*l.k+i] }

// tell counts a result and reports whether it led to new claims.
func (l *ledger) tell(d pair, won bool) bool {
	i, j := d.a, d.b
	if i > j {
		i, j, won = j, i, !won
	}
	c := &l.cells[i*l.k+j]
	c.n++
	if won {
		c.w++
	}
	if l.decided(i, j) {
		return false // a late result
	}
	first, second := l.test(i, j), l.test(j, i)
	return first || second
}

// test makes the claims for i against j that their duels suffice for.
func (l *ledger) test(i, j int) (claimed bool) {
	n, w := l.record(j, i)
	if !l.mayReach(n, w) {
		return false
	}
	if !l.holds[i*l.k+j] {
		c := l.bets.start
		if l.bets.multiplyNear(&c, 1, w, n-w); !(c.total() >= l.threshold) {
			return false
		}
		l.claim(claim{i, j, l.epsilon == 0})
		if claimed = true; l.epsilon == 0 { // both hypotheses are one
			return claimed
		}
	}
	c := l.bets.start
	if l.bets.multiply(&c, 1, w, n-w); c.total() >= l.threshold {
		claimed = true
		l.claim(claim{i, j, true})
	}
	return claimed
}

// mayReach is false if no capital against an arm that won w of n duels can reach the
// threshold: a bet's factor is the ratio of two likelihoods, which exceeds that of the rate
// itself never.
func (l *ledger) mayReach(n, w int64) bool {
	v := .5 + l.epsilon
	p := rate(w, n)
	if p >= v {
		return false
	}
	wins, losses := float64(w), float64(n-w)
	return xlogy(wins, p/v)+xlogy(losses, (1-p)/(1-v)) >= l.least
}

func (l *ledger) claim(c claim) {
	at := c.a*l.k + c.b
	l.holds[at] = true
	if c.strictly {
		l.beats[at] = true
	}
	l.made = append(l.made, c)
}

// save adds counts and claims to a strategy's state: of a pair i < j, in order.
func (l *ledger) save(p progress) {
	n, w := make([]int64, 0, pairsOf(l.k)), make([]int64, 0, pairsOf(l.k))
	for i := range l.k {
		for _, c := range l.cells[i*l.k+i+1 : (i+1)*l.k] {
			n, w = append(n, c.n), append(w, c.w)
		}
	}
	claims := make([]int64, 0, 3*len(l.made))
	for _, c := range l.made {
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
func (l *ledger) load(p progress, told int64) error {
	n, w, err := p.counts("n", "w", pairsOf(l.k), told)
	if err != nil {
		return err
	}
	at, all := 0, int64(0)
	for i := range l.k {
		for j := i + 1; j < l.k; j++ {
			l.cells[i*l.k+j] = cell{n[at], w[at]}
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
		c, err := l.loadClaim(claims)
		if err != nil {
			return err
		}
		l.claim(c)
	}
	return nil
}

func (l *ledger) loadClaim(v []int64) (c claim, err error) {
	k := int64(l.k)
	if v[0] < 0 || v[0] >= k || v[1] < 0 || v[1] >= k || v[0] == v[1] || v[2] < 0 || v[2] > 1 {
		return c, fmt.Errorf("claim %v of %d arms", v[:3], l.k)
	}
	c = claim{int(v[0]), int(v[1]), v[2] == 1}
	at := c.a*l.k + c.b
	n, w := l.record(c.a, c.b)
	switch {
	case w == 0:
		return c, fmt.Errorf("a claim for arm %d, which won none of %d duels against %d", c.a, n, c.b)
	case l.decided(c.a, c.b), l.holds[at] && !c.strictly, !c.strictly && l.epsilon == 0, c.strictly && l.epsilon > 0 && !l.holds[at]:
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
func (l *ledger) standings() []Standing {
	all := make([]Standing, l.k)
	for i := range all {
		all[i].Arm = i
		for j := range l.k {
			if i != j {
				n, w := l.record(i, j)
				all[i].Duels += n
				all[i].Wins += w
			}
		}
		all[i].Rate = rate(all[i].Wins, all[i].Duels)
	}
	return all
}

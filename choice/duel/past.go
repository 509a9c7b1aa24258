package duel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Past draws conclusions from comparisons that were made before: which arms are beaten, and
// how sure the leader is. It holds for pairs in any order, if the next pair was chosen, and
// the comparisons ended, without knowledge of later results, and none was left out for its
// result.
//
// Every arm has capitals that bet on its losses (capital.go), of which each divides what it
// bets on each opponent in another way; the mean of them is a test martingale too. A tie
// multiplies a bet by the mean of what a win and a loss make of it, which is what the fair coin
// of a Tournament makes of it on average.
type Past struct {
	arms    int
	epsilon float64
	bets    *bets
	rows    [][]verdicts // [i][j], j below i: wins of j, wins of i, ties
	ballots ballots
	count   int64
	ties    int64
}

// NewPast starts without comparisons. Of the leader it is asked whether it is within epsilon,
// in [0, 1/2), of the best.
func NewPast(arms int, epsilon float64) (*Past, error) {
	if arms < 2 || arms > MaxArms {
		return nil, fmt.Errorf("duel: %d arms are not in [2, %d]", arms, MaxArms)
	}
	if !(epsilon >= 0 && epsilon < .5) {
		return nil, fmt.Errorf("duel: epsilon %g is not in [0, 1/2)", epsilon)
	}
	p := &Past{arms: arms, epsilon: epsilon, bets: newBets(epsilon), rows: make([][]verdicts, arms)}
	for i := range p.rows {
		p.rows[i] = make([]verdicts, i)
	}
	return p, nil
}

// Add counts a comparison of two arms by a judge, "" if unknown: 1 if a is better, -1 if b
// is, 0 if neither.
func (p *Past) Add(a, b, better int, judge string) error {
	if a < 0 || b < 0 || a >= p.arms || b >= p.arms || a == b {
		return fmt.Errorf("duel: arms %d and %d are not two below %d", a, b, p.arms)
	}
	if err := checkJudge(judge); err != nil {
		return err
	}
	if a > b {
		a, b, better = b, a, -better
	}
	verdict := 0
	switch {
	case better < 0:
		verdict = 1
	case better == 0:
		verdict = 2
		p.ties++
	}
	p.count++
	p.rows[b][a][verdict]++
	if judge != "" {
		p.ballots.add(judge, pair{a, b}, verdict, false)
	}
	return nil
}

// PastArm is the record of an arm.
type PastArm struct {
	Arm     int   `json:"arm"`
	Wins    int64 `json:"wins"`
	Losses  int64 `json:"losses"`
	Ties    int64 `json:"ties"`
	Against int   `json:"against"` // number of arms that it was compared with
	// Beaten is the failure probability of the statement that the arm is not unbeaten: if it
	// is unbeaten, this is ever x or less with probability x at most.
	Beaten float64 `json:"beaten"`
}

// PastState is what comparisons allow to be said.
type PastState struct {
	Comparisons int64     `json:"comparisons"`
	Ties        int64     `json:"ties"`
	Arms        []PastArm `json:"arms"` // those that may be unbeaten first
	// Leader is the arm of the surest guarantee. Guarantee is nil while its Failure would be
	// above 1/2.
	Leader    int        `json:"leader"`
	Guarantee *Guarantee `json:"guarantee"`
	// Rival is the arm that stands most in the way of a surer guarantee.
	Rival int `json:"rival"`
	// Unmet is the number of pairs that were never compared.
	Unmet  int64   `json:"unmet"`
	Judges *Judges `json:"judges,omitempty"`
}

// State concludes from the comparisons so far.
func (p *Past) State() PastState {
	s := PastState{Comparisons: p.count, Ties: p.ties, Judges: p.ballots.report(false)}
	least, rivals := slices.Repeat([]float64{math.Inf(1)}, p.arms), make([]int, p.arms) // of the others, if the arm is named
	for i := range p.arms {
		sure, named := p.worths(i)
		x := PastArm{Arm: i, Beaten: 1 / max(1, sure)}
		for j, w := range named {
			if j != i && w < least[j] {
				least[j], rivals[j] = w, i
			}
		}
		for j := range p.arms {
			won, lost, tied := p.record(i, j)
			x.Wins, x.Losses, x.Ties = x.Wins+won, x.Losses+lost, x.Ties+tied
			if won+lost+tied > 0 {
				x.Against++
			} else if j < i {
				s.Unmet++
			}
		}
		s.Arms = append(s.Arms, x)
	}
	best := -1.
	for x, w := range least {
		if w > best {
			best, s.Leader, s.Rival = w, x, rivals[x]
		}
	}
	if best >= 2 {
		s.Guarantee = &Guarantee{Epsilon: p.epsilon, Failure: 1 / best}
	}
	slices.SortStableFunc(s.Arms, func(x, y PastArm) int {
		return cmp.Or(cmp.Compare(y.Beaten, x.Beaten), cmp.Compare(y.Wins-y.Losses, x.Wins-x.Losses))
	})
	return s
}

// record returns what arm i won, lost and tied against j.
func (p *Past) record(i, j int) (won, lost, tied int64) {
	switch {
	case i > j:
		v := p.rows[i][j]
		return v[1], v[0], v[2]
	case i < j:
		v := p.rows[j][i]
		return v[0], v[1], v[2]
	}
	return 0, 0, 0
}

// worths returns the capitals that speak against arm i being unbeaten: sure whoever is named,
// and named[x] if x is. Duels with x are then bets against 1/2 + epsilon; of any other
// opponent each wager counts the worse of both hypotheses.
func (p *Past) worths(i int) (sure float64, named []float64) {
	shares := []float64{1, .5, 1 / float64(p.arms-1)} // of a capital, bet on each opponent
	if p.arms == 2 {
		shares = shares[:1]
	}
	named = make([]float64, p.arms)
	var met []int
	for j := range p.arms {
		if won, lost, tied := p.record(i, j); won+lost+tied > 0 {
			met = append(met, j)
		}
	}
	before := make([]capital, len(met)+1) // the capital without its duels from met[n] on
	for _, share := range shares {
		before[0] = p.bets.start
		for n, j := range met {
			before[n+1] = before[n]
			p.multiply(&before[n+1], share, i, j, false)
		}
		sure += before[len(met)].total() / float64(len(shares))
		var behind capital // the factors of the duels after met[n]
		for m := range behind {
			behind[m] = 1
		}
		for n := len(met) - 1; n >= 0; n-- {
			c := before[n]
			p.multiply(&c, share, i, met[n], true)
			for m := range c {
				named[met[n]] += c[m] * behind[m] / float64(len(shares))
			}
			p.multiply(&behind, share, i, met[n], false)
		}
	}
	for j := range named {
		if !slices.Contains(met, j) {
			named[j] = sure
		}
	}
	return sure, named
}

// multiply multiplies c by the bets of arm i on its losses to j; near if j is named.
func (p *Past) multiply(c *capital, share float64, i, j int, near bool) {
	won, lost, tied := p.record(i, j)
	w, l, t := float64(won), float64(lost), float64(tied)
	logarithm := func(o *odds, m int) float64 {
		tie := math.Log((math.Exp(o.win[m]) + math.Exp(o.lose[m])) / 2)
		return w*o.win[m] + l*o.lose[m] + t*tie
	}
	for m := range c {
		x := logarithm(&p.bets.near, m)
		if !near {
			x = min(x, logarithm(&p.bets.even, m))
		}
		c[m] *= 1 - share + share*math.Exp(min(x, largest))
	}
}

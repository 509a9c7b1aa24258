package duel

import (
	"maps"
	"math"
	"slices"
)

// Agreement is how often a judge and another say the same of a pair that both judged: the same
// arm, or both a tie.
type Agreement struct {
	// Compared is the number of judgments that can be laid beside one of another judge of the
	// same pair, each used once.
	Compared int64   `json:"compared"`
	Rate     float64 `json:"rate"`
	// Low and High bound the probability of agreement with probability 95%, for one look.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// agreement compares j with the other judges; all has the verdicts of all of them, j included.
//
// Of a pair with n judgments of j and m of others, min(n, m) can be laid beside another, in
// many ways. The rate is the mean over all ways, and over all pairs weighted by min(n, m).
// Each way is a mean of independent comparisons, so the moments of their mean are at most
// those of one way (W. Hoeffding, "Probability inequalities for sums of bounded random
// variables", 1963, section 5). So the interval, of all probabilities p with
// N KL(rate, p) <= ln(2/.05), which Chernoff's bound gives for N independent comparisons,
// holds for the rate as well. N is taken as given, although it depends on who met whom.
func (j *voter) agreement(all map[pair]*Dispute) *Agreement {
	const miss = .05
	var compared int64
	same := 0.
	for _, p := range slices.SortedFunc(maps.Keys(j.pairs), comparePairs) { // sums do not depend on the map's order
		v, d := j.pairs[p], all[p]
		others := verdicts{d.AWins - v[0], d.BWins - v[1], d.Ties - v[2]}
		n, m := v.sum(), others.sum()
		if m == 0 {
			continue
		}
		alike := 0.
		for i := range v {
			alike += float64(v[i]) / float64(n) * float64(others[i]) / float64(m)
		}
		compared += min(n, m)
		same += alike * float64(min(n, m))
	}
	if compared == 0 {
		return nil
	}
	a := &Agreement{Compared: compared, Rate: min(same/float64(compared), 1)}
	outside := func(p float64) bool { return float64(compared)*relativeEntropy(a.Rate, p) > math.Log(2/miss) }
	a.Low, a.High = farthest(a.Rate, 0, outside), farthest(a.Rate, 1, outside)
	return a
}

// relativeEntropy is KL(p, q), that of Bernoulli variables of means p and q.
func relativeEntropy(p, q float64) float64 {
	return xlogy(p, p) - xlogy(p, q) + xlogy(1-p, 1-p) - xlogy(1-p, 1-q)
}

// farthest returns the end towards far of an interval that holds near, by bisection; outside
// reports whether a number is beyond its end.
func farthest(near, far float64, outside func(float64) bool) float64 {
	if !outside(far) {
		return far
	}
	for range 60 {
		if q := (near + far) / 2; outside(q) {
			far = q
		} else {
			near = q
		}
	}
	return far
}

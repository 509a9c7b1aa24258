package duel

import "math"

// Standoff is a pair of arms that a tournament has yet to tell apart and that judges prefer about
// equally. If they are equal and the design has no epsilon, the tournament never ends.
type Standoff struct {
	// A won at least half of the Duels of the two, Wins of them; ties count as their coins.
	A     int   `json:"a"`
	B     int   `json:"b"`
	Duels int64 `json:"duels"`
	Wins  int64 `json:"wins"`
	// Rate is Wins/Duels, an estimate of P(A > B). Low and High bound that probability: those of
	// all pairs hold together at all times with probability 95%.
	Rate float64 `json:"rate"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Needed is about how many duels of the two it takes in all if P(A > B) is Rate; 0 if no
	// number suffices. It is a forecast without a bound.
	Needed int64 `json:"needed,omitempty"`
}

const (
	// standoffGap bounds how far from 1/2 the interval of a standoff may reach.
	standoffGap = .1
	// standoffLonger is the least ratio of the duels that are needed to those that there were.
	standoffLonger = 2
	standoffMiss   = .05
)

// contest is a strategy that ends once it can tell some pairs apart, however long that takes.
type contest interface {
	contested() []pair             // these pairs; fewer or none as they are told apart
	record(a, b int) (n, w int64)  // duels of a and b, wins of a
	proof() (log, epsilon float64) // logarithm of the capital that tells a pair apart, bet against 1/2 + epsilon
}

// standoff returns the contested pair with the most duels, if its interval lies within standoffGap of
// 1/2 and at least as many duels as there were are still needed; nil otherwise, after the end, and if
// the design has a horizon.
func (t *Tournament) standoff() *Standoff {
	s, ok := t.strategy.(contest)
	if !ok || t.config.Horizon > 0 || t.strategy.ended() {
		return nil
	}
	var most Standoff
	for _, p := range s.contested() {
		n, w := s.record(p.a, p.b)
		if 2*w < n {
			p, w = pair{p.b, p.a}, n-w
		}
		if n > most.Duels && rate(w, n) < .5+standoffGap {
			most = Standoff{A: p.a, B: p.b, Duels: n, Wins: w, Rate: rate(w, n)}
		}
	}
	if most.Duels == 0 {
		return nil
	}
	most.Low, most.High = probabilityBounds(most.Duels, most.Wins, standoffMiss/float64(pairsOf(len(t.config.Arms))))
	log, epsilon := s.proof()
	most.Needed = duelsNeeded(most.Rate, log, epsilon)
	if most.Low < .5-standoffGap || most.High > .5+standoffGap || most.Needed > 0 && most.Needed < standoffLonger*most.Duels {
		return nil
	}
	return &most
}

// duelsNeeded returns about how many duels it takes until the capital of an arm that loses with
// probability p has the logarithm log; 0 if it does not grow. A bet gains at most the divergence of p
// from what it is bet against, on average; the division into wagers costs about mixture.
func duelsNeeded(p, log, epsilon float64) int64 {
	const mixture = .8
	v := .5 - epsilon
	gain := xlogy(p, p/v) + xlogy(1-p, (1-p)/(1-v))
	n := (log + mixture) / gain
	if !(n < maxCount) {
		return 0
	}
	return int64(math.Ceil(n))
}

func (s *anytime) contested() []pair {
	pairs := make([]pair, len(s.open))
	for i, a := range s.open {
		pairs[i] = pair{s.champion, a}
	}
	return pairs
}

// record returns how often a met b as champion or challenger, and won.
func (s *anytime) record(a, b int) (n, w int64) {
	if row := s.rows[a]; row != nil {
		n, w = row[b].n, row[b].w
	}
	if row := s.rows[b]; row != nil {
		n, w = n+row[a].n, w+row[a].n-row[a].w
	}
	return n, w
}

func (s *anytime) proof() (log, epsilon float64) { return math.Log(s.threshold), s.epsilon }

func (e *evidence) proof() (log, epsilon float64) { return math.Log(e.threshold), e.epsilon }

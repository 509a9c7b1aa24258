package duel

import (
	"math"

	"thresher/internal/philox"
)

// Order says which arm of a duel is shown first, as its A.
type Order string

const (
	// DrawnOrder shows first the arm that began the duel, which in most algorithms is the
	// same one again and again: a judge's lean to the first place counts as its merit.
	// Tournaments of earlier releases continue with it.
	DrawnOrder Order = ""
	// RandomOrder draws the order of every duel from the seed and the duel's ID. If a judge
	// prefers the arm shown first by the same probability in every duel, it cancels out.
	RandomOrder Order = "random"
)

const orderStream = 2 // of the seed; 0 is that of choices, 1 of coins

// swapped reports whether B of a pending duel is shown first.
func (t *Tournament) swapped(e *pendingDuel) bool {
	return t.config.Order == RandomOrder && e.A != e.B && philox.New(t.config.Seed, orderStream).At(e.ID)&1 == 1
}

// shown returns a pending duel as judges see it.
func (t *Tournament) shown(e *pendingDuel) Duel {
	if t.swapped(e) {
		return Duel{ID: e.ID, A: e.B, B: e.A}
	}
	return Duel{ID: e.ID, A: e.A, B: e.B}
}

// places counts the results that were told, except of arms against themselves.
type places struct {
	Judged    int64 `json:"judged"`
	FirstWins int64 `json:"first_wins"`
}

func (p *places) count(e *pendingDuel, swapped bool) {
	if e.A == e.B {
		return
	}
	p.Judged++
	if e.AWon != swapped {
		p.FirstWins++
	}
}

// Lean estimates how much judges prefer the arm that is shown first: the probability that
// it wins, less 1/2. In random order it would be 0 without such a preference, whatever the
// arms.
type Lean struct {
	Duels int64 `json:"duels"` // judged; those of an arm against itself are not
	// Estimate is in [-1/2, 1/2].
	Estimate float64 `json:"estimate"`
	// Low and High bound the lean, if it does not change: at all times during the
	// tournament together, with probability 95%.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// lean returns the estimate, nil without duels.
func (p *places) lean() *Lean {
	const miss = .05
	if p.Judged == 0 {
		return nil
	}
	low, high := probabilityBounds(p.Judged, p.FirstWins, miss)
	return &Lean{Duels: p.Judged, Estimate: float64(p.FirstWins)/float64(p.Judged) - .5, Low: low - .5, High: high - .5}
}

// probabilityBounds bounds the probability of which wins of duels came true, at all times together but
// for a failure probability miss. The interval holds the probabilities p that the mixture of all
// binomial likelihoods does not exceed 1/miss times (H. Robbins, "Statistical methods related to the
// law of the iterated logarithm", 1970): if p is true, their ratio is a martingale that starts at 1.
func probabilityBounds(duels, wins int64, miss float64) (low, high float64) {
	n, w := float64(duels), float64(wins)
	mixture := logGamma(w+1) + logGamma(n-w+1) - logGamma(n+2)
	outside := func(q float64) bool {
		return mixture-xlogy(w, q)-xlogy(n-w, 1-q) >= -math.Log(miss)
	}
	// The likelihood falls from the rate to both sides.
	return farthest(w/n, 0, outside), farthest(w/n, 1, outside)
}

func logGamma(x float64) float64 {
	y, _ := math.Lgamma(x)
	return y
}

// xlogy returns x ln y, and 0 for x = 0.
func xlogy(x, y float64) float64 {
	if x == 0 {
		return 0
	}
	return x * math.Log(y)
}

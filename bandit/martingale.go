package bandit

import (
	"errors"
	"fmt"
	"math"
)

// ErrMartingale marks a block that does not fit the row or a level outside (0, 1).
var ErrMartingale = errors.New("bandit: martingale step")

// maxLambda keeps a bet below 1, at which one coordinate could lose all of the evidence.
const maxLambda = 0.75

// MartingaleStep holds what method strict needs of a block of consecutive coordinates
// before it reads them: one per query and block, shared by all arms. The raw
// coordinates are in one uniform random order; products x_j = q_j v_j are float64.
//
// The bound (docs/guarantee.md proves it): with mu the mean of the unseen
// products, c = w - muHat for any muHat known beforehand and w >= every |x_j|
// unseen, and lambda in [0, 1),
//
//	E exp( lambda (mu - x_j)/c - psi(lambda) (x_j - muHat)^2/c^2 ) <= 1,
//	psi(lambda) = -log(1-lambda) - lambda
//
// by exp(lambda y - psi(lambda) y^2) <= 1 + lambda y for y >= -1 (Fan, Grama and
// Liu, arXiv 1206.2501, Lemma 4.1; Howard et al., arXiv 1808.03204). The product
// over a block drawn without replacement is at most the product of the means by
// Maclaurin's inequality, so the product over blocks is a supermartingale, and
// Ville's inequality bounds it at all looks at once.
type MartingaleStep struct {
	Dim, Seen, Size int     // coordinates of a row, before the block, in the block
	QueryMax        float64 // max |q_j| over unseen coordinates, this block's included
	LogInverseAlpha float64 // log(1/alpha), alpha = delta/k for all looks of one arm
}

// NewMartingaleStep returns the step of the block of `size` coordinates after
// `seen` of `dim`. alpha must be the same at every step of a query. It returns
// ErrMartingale for an empty block, one beyond the row, alpha outside (0, 1) or
// a queryMax that is negative or not finite.
func NewMartingaleStep(alpha float64, dim, seen, size int, queryMax float64) (MartingaleStep, error) {
	if !(alpha > 0 && alpha < 1) {
		return MartingaleStep{}, fmt.Errorf("%w: alpha = %v, need 0 < alpha < 1", ErrMartingale, alpha)
	}
	if seen < 0 || size < 1 || seen > dim-size {
		return MartingaleStep{}, fmt.Errorf("%w: block of %d coordinates after %d of %d", ErrMartingale, size, seen, dim)
	}
	if !(queryMax >= 0) || math.IsInf(queryMax, 1) {
		return MartingaleStep{}, fmt.Errorf("%w: largest query coordinate %v", ErrMartingale, queryMax)
	}
	return MartingaleStep{
		Dim: dim, Seen: seen, Size: size,
		QueryMax:        queryMax,
		LogInverseAlpha: -math.Log(alpha),
	}, nil
}

// MartingaleState is one arm's history: plain values, copied freely.
type MartingaleState struct {
	Sum     float64 // of the products seen
	Squares float64 // of their squares
	// Evidence and Weight are the sums over blocks of the bound's numerator,
	// without log(1/alpha), and of its denominator.
	Evidence, Weight float64
	// Upper is the smallest upper bound so far; all looks hold together.
	Upper float64
}

// NewMartingaleState returns the state of an arm that was never pulled.
func NewMartingaleState() MartingaleState {
	return MartingaleState{Upper: math.Inf(1)}
}

// UCB returns the upper bound of the arm's whole score <q, v>: with probability
// at least 1 - alpha over the order of the coordinates it is above the score at
// every look. It leaves out float64 rounding of the sums, at most d 2^-52 |q||v|,
// which the tolerance of a failure, 2^-22 |q||v|, contains for d <= 2^22.
func (s MartingaleState) UCB() float64 { return s.Upper }

// MartingaleBet holds the parameters of an arm's bound that must be chosen before its
// block is read.
type MartingaleBet struct {
	Centre float64 // muHat, the guess of the unseen products' mean
	Spread float64 // c = Cap - Centre; 0 when all that is unseen is zero
	Lambda float64 // in [0, 0.75]
	Cap    float64 // w, no unseen product exceeds it in absolute value
}

// Bet returns the bet of an arm with this history whose unseen coordinates are
// at most atomMax in absolute value. Any bet made from the past is valid. Centre
// is the mean so far, clipped to [-w, w/2] so that c >= w/2 > 0. Lambda is the
// value that is best after twice the coordinates this block ends with, for the
// variance seen so far (and one coordinate at w/2 beside it, so that the first
// block has one); doubling or halving it moves pulls by 2%.
func (s MartingaleStep) Bet(arm MartingaleState, atomMax float64) MartingaleBet {
	w := roundUp(s.QueryMax * atomMax)
	if w == 0 {
		return MartingaleBet{}
	}
	centre := 0.0
	if s.Seen > 0 {
		centre = min(max(arm.Sum/float64(s.Seen), -w), w/2)
	}
	scatter := arm.Squares - centre*(2*arm.Sum-float64(s.Seen)*centre)
	variance := (w*w/4 + max(0, scatter)) / float64(s.Seen+1)
	spread := w - centre
	lambda := spread * math.Sqrt(s.LogInverseAlpha/(variance*float64(s.Seen+s.Size)))
	if !(lambda < maxLambda) {
		lambda = maxLambda
	}
	return MartingaleBet{Centre: centre, Spread: spread, Lambda: lambda, Cap: w}
}

// Update returns the arm's state after the block: sum is the sum of the block's
// products, centred the sum of their (x_j - bet.Centre)^2 (Centred makes it from
// a sum of squares). The bet must come from Bet on the same step and state.
func (s MartingaleStep) Update(arm MartingaleState, bet MartingaleBet, sum, centred float64) MartingaleState {
	m, left := float64(s.Size), float64(s.Dim-s.Seen)
	next := arm
	// Deterministic: no unseen product exceeds the cap.
	next.Upper = min(arm.Upper, arm.Sum+left*bet.Cap)
	next.Sum += sum
	next.Squares += centred + bet.Centre*(2*sum-m*bet.Centre)
	if bet.Spread > 0 && bet.Lambda > 0 {
		l := bet.Lambda / bet.Spread
		psi := -math.Log1p(-bet.Lambda) - bet.Lambda
		next.Evidence += l*sum + psi*(centred/bet.Spread)/bet.Spread + l*m*arm.Sum/left
		next.Weight += l * m / left
		next.Upper = min(next.Upper, (s.LogInverseAlpha+next.Evidence)/next.Weight)
	}
	if s.Seen+s.Size == s.Dim {
		next.Upper = min(next.Upper, next.Sum)
	}
	return next
}

// Centred returns sum (x_j - centre)^2 over `size` products given their sum and
// their sum of squares.
func Centred(sum, squares float64, size int, centre float64) float64 {
	return max(0, squares-centre*(2*sum-float64(size)*centre))
}

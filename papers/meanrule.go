package papers

import (
	"fmt"
	"math"

	"thresher/bandit"
)

// bernsteinRadius is the radius from the empirical variance that section 3.2 of
// arXiv 2212.07551 offers where sigma is unknown: Theorem 4 of Maurer and Pontil
// (arXiv 0907.3740) at level delta/(4 n s^2) a side, the same union over arms
// and s as bandit.MeanRadius:
//
//	C = sqrt(2 V L / s) + 7 width L / (3 (s-1)),   L = log(8 n s^2 / delta)
//
// V is the unbiased variance (divided by s-1) of the s rewards, width the length
// of an interval that holds every reward. Independent draws only. s < 2 gives
// +Inf.
func bernsteinRadius(variance, width float64, n, s int, delta float64) float64 {
	if s < 2 {
		return math.Inf(1)
	}
	l := logUnion(8, n, s, delta)
	return math.Sqrt(2*variance*l/float64(s)) + 7*width*l/(3*float64(s-1))
}

// bernsteinSerflingRadius is bernsteinRadius for draws without replacement from
// a list of d rewards: Theorem 4.3 of Bardenet and Maillard (arXiv 1309.4029),
// which costs 5 times its level a side, with the same union over arms and s:
//
//	C = sqrt(2 rho V' L / s) + (7/3 + 3/sqrt 2) width L / s,   L = log(20 n s^2 / delta)
//
// where V' = V (s-1)/s is the variance divided by s, and rho = 1 - (s-1)/d for
// s <= d/2, (1 - s/d)(1 + 1/s) above. V is again the unbiased variance.
func bernsteinSerflingRadius(variance, width float64, n, s, d int, delta float64) float64 {
	if s < 2 {
		return math.Inf(1)
	}
	size, list := float64(s), float64(d)
	rho := 1 - (size-1)/list
	if 2*s > d {
		rho = max(0, 1-size/list) * (1 + 1/size)
	}
	kappa := 7.0/3 + 3/math.Sqrt2
	l := logUnion(20, n, s, delta)
	biased := variance * (size - 1) / size
	return math.Sqrt(2*rho*biased*l/size) + kappa*width*l/size
}

// logUnion is log(c n s^2 / delta), in a form that cannot overflow.
func logUnion(c float64, n, s int, delta float64) float64 {
	return math.Log(c) + math.Log(float64(n)) + 2*math.Log(float64(s)) - math.Log(delta)
}

// Spread says where the radius of a mean comes from.
type Spread int

const (
	// SigmaGiven: the caller guarantees sigma-sub-Gaussian rewards.
	SigmaGiven Spread = iota
	// SigmaBounded: every reward lies in [Lo, Hi]; sigma is half its length. A
	// reward outside ends the run with ErrRange.
	SigmaBounded
	// EmpiricalBernstein: every reward lies in [Lo, Hi], and the radius follows
	// each arm's variance. With replacement it is Maurer and Pontil's, without
	// replacement Bardenet and Maillard's.
	EmpiricalBernstein
)

// meanRule is the radius as a function of s and the variance.
type meanRule struct {
	spread   Spread
	sigma    float64
	lo, hi   float64
	n, d     int
	delta    float64
	sampling Sampling
}

func (r *meanRule) check() error {
	switch r.spread {
	case SigmaGiven:
		if !finite(r.sigma) || r.sigma <= 0 {
			return fmt.Errorf("%w: sigma = %v, need a finite sigma > 0", ErrSigma, r.sigma)
		}
		return nil
	case SigmaBounded:
		r.sigma = bandit.BoundedSigma(r.lo, r.hi)
		return checkRange(r.lo, r.hi)
	case EmpiricalBernstein:
		return checkRange(r.lo, r.hi)
	}
	return fmt.Errorf("%w: unknown spread %d", ErrSigma, int(r.spread))
}

// radius is the radius of a mean of s rewards; variance matters only to
// EmpiricalBernstein.
func (r *meanRule) radius(s int, variance float64) float64 {
	if r.spread != EmpiricalBernstein {
		return bandit.MeanRadius(r.sigma, r.n, s, r.delta)
	}
	if r.sampling == WithoutReplacement {
		return bernsteinSerflingRadius(variance, r.hi-r.lo, r.n, s, r.d, r.delta)
	}
	return bernsteinRadius(variance, r.hi-r.lo, r.n, s, r.delta)
}

// admit returns an error for a reward that the rule does not cover.
func (r *meanRule) admit(x float64, arm, j int) error {
	if r.spread == SigmaGiven {
		if finite(x) {
			return nil
		}
		return fmt.Errorf("%w: arm %d, coordinate %d is %v", ErrReward, arm, j, x)
	}
	return admitBounded(x, r.lo, r.hi, arm, j)
}

func admitBounded(x, lo, hi float64, arm, j int) error {
	if x >= lo && x <= hi {
		return nil
	}
	return fmt.Errorf("%w: arm %d, coordinate %d is %v, outside [%v, %v]", ErrRange, arm, j, x, lo, hi)
}

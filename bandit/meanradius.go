package bandit

import "math"

// MeanRadius is BanditMIPS's confidence radius of a running mean (arXiv
// 2212.07551, Algorithm 1 line 8):
//
//	C = sigma sqrt( 2 log(4 n s^2 / delta) / s )
//
// for s >= 1 rewards in the mean of one of n arms with sigma-sub-Gaussian
// rewards. Two-sided, it fails with probability at most delta/(2 n s^2), so with
// probability above 1 - delta it holds for all arms and all s together, and a
// caller may test after any s. (The paper divides by d_used + 1 and
// takes the logarithm at d_used, which is -infinity at the first look; s here is
// the number of rewards in the mean in both places.)
//
// It holds for draws with and without replacement: for the same list, sums drawn
// without replacement have the smaller moment generating function (Hoeffding
// 1963, Theorem 4). The unit is that of a reward. s < 1 gives +Inf.
func MeanRadius(sigma float64, n, s int, delta float64) float64 {
	if s < 1 {
		return math.Inf(1)
	}
	// the logarithm of the product could overflow
	l := math.Log(4) + math.Log(float64(n)) + 2*math.Log(float64(s)) - math.Log(delta)
	return sigma * math.Sqrt(2*l/float64(s))
}

// BoundedSigma is the sub-Gaussian parameter of rewards in [lo, hi]: half their
// range (Hoeffding's lemma). Section 3.2 of arXiv 2212.07551 prints
// (hi^2 - lo^2)/4, a slip: it is not even in the unit of a reward, and it
// vanishes for lo = -hi.
func BoundedSigma(lo, hi float64) float64 { return (hi - lo) / 2 }

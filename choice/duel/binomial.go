package duel

import (
	"math"
	"math/bits"

	"thresher/internal/philox"
)

// binomial draws the number of successes in n trials of probability p, exact up to
// rounding of p and of logarithms: trial by trial for few trials, by inversion for a
// small mean, else by BTRS (Hormann, "The generation of binomial random variates",
// 1993), whose cost does not depend on n. gonum's distuv.Binomial takes several
// log-gammas a draw; with it the skip-ahead would be an order of magnitude slower.
func binomial(r *philox.Source, n int64, p float64) int64 {
	switch {
	case n <= 0 || p <= 0:
		return 0
	case p >= 1:
		return n
	case p > .5:
		return n - binomial(r, n, 1-p)
	case n <= 64:
		return binomialBits(r, int(n), p)
	case float64(n)*p < 10:
		return binomialInversion(r, n, p)
	}
	return binomialRejection(r, float64(n), p)
}

// binomialBits runs n <= 64 trials side by side, one bit each. Each compares p, binary
// digit by digit, with a uniform number whose digits are drawn while they equal p's,
// with probability 1/2 each time. At the first difference the trial ends, and succeeds
// if p's digit is greater.
func binomialBits(r *philox.Source, n int, p float64) int64 {
	open := ^uint64(0) >> (64 - n)
	var won uint64
	for digits := uint64(p*(1<<63)) << 1; open != 0 && digits != 0; digits <<= 1 {
		alike := r.Uint64()
		one := uint64(int64(digits) >> 63) // all ones if p's digit is 1
		won |= open &^ alike & one
		open &= alike
	}
	return int64(bits.OnesCount64(won))
}

// binomialInversion inverts the distribution from 0 upwards, for n p < 10 and p <= 1/2.
func binomialInversion(r *philox.Source, n int64, p float64) int64 {
	odds := p / (1 - p)
	mass := math.Exp(float64(n) * math.Log1p(-p)) // probability of 0 successes, above e^-14
	u := uniform(r)
	for k := int64(0); ; k++ {
		if u < mass || k == n {
			return k
		}
		u -= mass
		mass *= odds * float64(n-k) / float64(k+1)
	}
}

// binomialRejection is BTRS, for n p >= 10 and p <= 1/2.
func binomialRejection(r *philox.Source, n, p float64) int64 {
	deviation := math.Sqrt(n * p * (1 - p))
	b := 1.15 + 2.53*deviation
	a := -.0873 + .0248*b + .01*p
	c := n*p + .5
	quick := .92 - 4.2/b
	for {
		v := uniform(r)
		u := uniform(r) - .5
		us := .5 - math.Abs(u)
		k := math.Floor((2*a/us+b)*u + c)
		if us >= .07 && v <= quick {
			return int64(k)
		}
		if k < 0 || k > n {
			continue
		}
		v *= (2.83 + 5.1/b) * deviation / (a/(us*us) + b)
		if underMass(v, n, p, k) {
			return int64(k)
		}
	}
}

// underMass reports whether v is at most the probability of k successes divided by that
// of the mode.
func underMass(v, n, p, k float64) bool {
	const near = 20 // distance up to which products are cheaper than logarithms
	mode := math.Floor((n + 1) * p)
	odds := p / (1 - p)
	if math.Abs(k-mode) <= near {
		ratio := 1.
		for i := min(k, mode) + 1; i <= max(k, mode); i++ {
			ratio *= odds * ((n+1)/i - 1) // probability of i over that of i-1
		}
		if k < mode {
			return v*ratio <= 1
		}
		return v <= ratio
	}
	return math.Log(v) <= (mode+.5)*math.Log((mode+1)/(odds*(n-mode+1)))+
		(n+1)*math.Log((n-mode+1)/(n-k+1))+
		(k+.5)*math.Log(odds*(n-k+1)/(k+1))+
		stirling(mode)+stirling(n-mode)-stirling(k)-stirling(n-k)
}

// stirling returns ln k! - (k + 1/2) ln(k+1) + (k+1) - ln(2 pi)/2, the error of
// Stirling's formula; from 10 on by its series, to 1e-10.
func stirling(k float64) float64 {
	if k < 10 {
		return [...]float64{
			.08106146679532726, .0413406959554093, .02767792568499834, .020790672103765093, .016644691189821193,
			.013876128823070748, .01189670994589177, .010411265261972096, .009255462182712733, .008330563433362871,
		}[int(k)]
	}
	x := 1 / (k + 1)
	return x * (1./12 - x*x*(1./360-x*x/1260))
}

// uniform draws uniformly from [0, 1).
func uniform(r *philox.Source) float64 { return float64(r.Uint64()>>11) / (1 << 53) }

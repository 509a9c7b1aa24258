package bandit

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// MinStudentDim is the smallest dimension of the rotated rest for which XiQuantile returns a
// quantile below 1. In fewer dimensions the bound of a prefix would be too loose to drop arms.
const MinStudentDim = 16

// XiQuantile returns x_alpha, the upper alpha quantile of xi: P(xi > x_alpha) = alpha. xi is
// one coordinate of a point that is uniformly distributed on the unit sphere S^{D-2} in
// R^{D-1}; equivalently, xi sqrt(D-2)/sqrt(1-xi^2) has Student's t distribution with D-2
// degrees of freedom. D is the dimension in which the rest is rotated.
//
// The result is rounded upward, so that its failure probability is at most alpha; its
// relative excess is below 1e-10 (alpha in [1e-12, 0.4], D in [16, 2^21]). For other
// arguments it is the nearest valid quantile: 0 for alpha >= 1/2, because with a negative
// quantile the function whose tangent Linear takes would be concave, and its tangent not a
// lower bound; and 1, the largest value of xi, for alpha <= 0, NaN and D < MinStudentDim.
func XiQuantile(alpha float64, D int) float64 {
	if alpha >= 0.5 {
		return 0
	}
	if !(alpha > 0) || D < MinStudentDim {
		return 1
	}
	tail := newXiTail(D)
	// P(xi > x) = I_{1-x^2}(nu/2, 1/2)/2 <= (1-x^2)^(nu/2)/2, because the
	// regularised beta function grows with its second parameter. Newton's
	// method on log P starts from the x at which that bound is alpha; log P
	// is concave (the density is log-concave for nu >= 2), so from the right
	// of the root it descends without ever crossing it: every iterate is a
	// valid quantile.
	logAlpha := math.Log(alpha)
	x := math.Sqrt(-math.Expm1(2 / tail.nu * (math.Ln2 + logAlpha)))
	for range 64 {
		if x > 1-1e-12 {
			return 1
		}
		mills := tail.mills(x)
		step := mills * (logAlpha - tail.logDensity(x) - math.Log(mills))
		if !(step > x*1e-13) {
			break
		}
		x -= step
	}
	// 1e-11 standard deviations and 1e-11 of the value exceed the rounding of the
	// density and of the quadrature (measured: below 2e-13).
	return math.Min(1, x+1e-11*(x+1/math.Sqrt(tail.nu)))
}

// xiTail computes the logarithm of the density of xi and the ratio of its tail probability to
// its density, neither of which underflows where the tail probability would.
type xiTail struct {
	nu       float64 // degrees of freedom, D-2
	exponent float64 // density = exp(logScale) (1-x^2)^exponent
	logScale float64
}

func newXiTail(D int) xiTail {
	nu := float64(D - 2)
	return xiTail{
		nu:       nu,
		exponent: nu/2 - 1,
		logScale: logGammaHalfStep(nu/2) - 0.5*math.Log(math.Pi),
	}
}

func (t xiTail) logDensity(x float64) float64 {
	return t.logScale + t.exponent*math.Log1p(-x*x)
}

// mills returns the Mills ratio P(xi > x)/density(x), which is the integral over s in [x, 1] of
// ((1-s^2)/(1-x^2))^exponent. It adds Gauss-Legendre quadratures over intervals of one standard
// deviation until the integrand is below 1e-17 of its value at x.
func (t xiTail) mills(x float64) float64 {
	start := math.Log1p(-x * x)
	ratio := func(s float64) float64 {
		return math.Exp(t.exponent * (math.Log1p(-s*s) - start))
	}
	width := 1 / math.Sqrt(t.nu)
	total := 0.0
	for from := x; from < 1; from += width {
		to := math.Min(1, from+width)
		total += quad.Fixed(ratio, from, to, 16, quad.Legendre{}, 0)
		if to == 1 || ratio(to) < 1e-17 {
			break
		}
	}
	return total
}

// logGammaHalfStep returns log(Gamma(a+1/2)/Gamma(a)). At a = 10^6 the difference of two
// Lgamma values would lose nine digits. From a = 256 on the asymptotic series is used, whose
// first omitted term is below 1e-19.
func logGammaHalfStep(a float64) float64 {
	if a < 256 {
		upper, _ := math.Lgamma(a + 0.5)
		lower, _ := math.Lgamma(a)
		return upper - lower
	}
	inv := 1 / a
	inv2 := inv * inv
	return 0.5*math.Log(a) - inv*(1./8-inv2*(1./192-inv2*(1./640-inv2*17./14336)))
}

// Moments of a code x of the rotated rest o of one atom, both in R^D, as float64
// sums. The Student bound depends on an atom only through them. x may be any function
// of o, as long as it does not depend on the query: a prefix, an int8 code, a sign code.
type Moments struct {
	A  float64 // <x,o>
	X2 float64 // |x|^2
	O2 float64 // |o|^2
}

// H returns sqrt(max(0, |x|^2|o|^2 - <x,o>^2)), rounded upward: |o| times the distance of x
// from the line through o. The difference is rounded once, so H is 0 exactly if the stored
// moments are those of parallel x and o. The moments are rounded too (by 2^-53 each), which
// matters where x and o are nearly parallel; Slack includes the effect.
func (m Moments) H() float64 {
	square := productDifference(m.X2, m.O2, m.A)
	if !(square > 0) {
		return 0
	}
	return roundUp(math.Sqrt(square))
}

// productDifference returns b*c - a*a with a relative error of about 2^-52: it computes the
// rounding error of each product and adds their difference. The conversions to float64 force
// both products to be rounded; without them a compiler may fuse one with the subtraction, and
// the rounding errors would no longer match.
func productDifference(b, c, a float64) float64 {
	high, square := float64(b*c), float64(a*a)
	highError := math.FMA(b, c, -high)
	squareError := math.FMA(a, a, -square)
	return (high - square) + (highError - squareError)
}

// roundUp increases x >= 0 by a factor of 1 + 2^-48, which exceeds the rounding errors of a few
// float64 operations (2^-53 each).
func roundUp(x float64) float64 {
	return x * (1 + 0x1p-48)
}

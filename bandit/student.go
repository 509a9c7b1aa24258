package bandit

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// MinStudentDim is the smallest dimension of the rotated rest for which there is a
// Student bound. Below it the bound of a prefix is too loose to drop arms, and method
// certain or a dense scan is used.
const MinStudentDim = 16

// XiQuantile returns x_alpha, the upper alpha quantile of xi, one coordinate of
// the uniform law on the sphere S^{D-2} in R^{D-1}: P(xi > x_alpha) = alpha.
// Equivalently xi sqrt(D-2)/sqrt(1-xi^2) has Student's t law with D-2 degrees
// of freedom. D is the dimension in which the rest is rotated.
//
// The result is rounded upward, so that its failure probability is at most alpha; its
// relative excess is below 1e-10 (alpha in [1e-12, 0.4], D in [16, 2^21]). For other
// arguments it is the nearest valid quantile: 0 for alpha >= 1/2 (a negative quantile
// would make the law concave, and its tangent no bound), and 1, the largest value of
// xi, for alpha <= 0, NaN and D < MinStudentDim.
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

// xiTail evaluates the law of xi in logarithms, so that no tail underflows.
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

// mills returns P(xi > x)/density(x), the integral over [x, 1] of
// ((1-s^2)/(1-x^2))^exponent, by Gauss-Legendre panels of one standard
// deviation each until the integrand is below 1e-17 of its start.
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

// logGammaHalfStep returns log(Gamma(a+1/2)/Gamma(a)). The difference of two
// large logarithms would lose nine digits at a = 10^6; from a = 256 on the
// asymptotic series (its first omitted term is below 1e-19) loses none.
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
// of o alone: a prefix, an int8 code, a sign code.
type Moments struct {
	A  float64 // <x,o>
	X2 float64 // |x|^2
	O2 float64 // |o|^2
}

// H returns sqrt(max(0, |x|^2|o|^2 - <x,o>^2)), which is |o| times the distance
// of x from the line through o, rounded upward. The difference is rounded once, so H
// is 0 exactly if x and o are parallel by the stored moments. The effect of the
// moments' rounding (2^-53 each) on H of nearly parallel x and o is part of Slack.
func (m Moments) H() float64 {
	square := productDifference(m.X2, m.O2, m.A)
	if !(square > 0) {
		return 0
	}
	return roundUp(math.Sqrt(square))
}

// productDifference returns b*c - a*a to a relative error of about 2^-52, by
// keeping the low halves of both products. The conversions round them: without,
// a compiler may fuse a product into the difference, which then lacks a half.
func productDifference(b, c, a float64) float64 {
	high, square := float64(b*c), float64(a*a)
	highRest := math.FMA(b, c, -high)
	squareRest := math.FMA(a, a, -square)
	return (high - square) + (highRest - squareRest)
}

// roundUp increases x >= 0 by a relative 2^-48, at least sixteen times the unit
// roundoff, which covers the rounding of a few float64 operations.
func roundUp(x float64) float64 {
	return x * (1 + 0x1p-48)
}

package bandit

import "math"

// Kappa returns the load-time constant of the linear test, 1.4/sqrt(D).
//
// Kappa fixes the point of tangency c0 = kappa/sqrt(x_alpha^2 + kappa^2) before
// k and delta are known. Any positive value is valid; it only decides how many
// arms are kept. No value is best everywhere: a smaller one suits iid-like rests,
// a larger one rests in which a few directions still stand out. Among 0.5 to 6
// over sqrt(D), 1.4 had the smallest worst excess over the exact test (images,
// text embeddings, ratings, power laws) where a
// head carries the leading directions; TestKappaKeepsFew prints such a table for
// generated rests.
func Kappa(D int) float64 {
	if D < 1 {
		return 1.4
	}
	return 1.4 / math.Sqrt(float64(D))
}

// LinearTerms are the per-atom terms of the linear test
//
//	keep iff  Scale <x,q> + Radius l |q| >= tauRest,   l = Reach(alpha, kappa, D)
//
// where q is the rest of the query and tauRest the threshold less the head's
// product.
type LinearTerms struct {
	// Scale is 1/a, a = (A + kappa H)/|o|^2; it multiplies <x,q>. It is 0 if the
	// code has no information about o.
	Scale float64
	// Radius is h = H/(a|o|), rounded upward; |o| where Scale is 0.
	Radius float64
	// Deterministic says that Radius is multiplied by |q| only, not by l, and that
	// the bound cannot fail: this arm spends no alpha.
	Deterministic bool
}

// Linear returns the terms of the linear test for an atom's moments and a
// kappa > 0 fixed at load: the tangent at c0 = kappa/l of the convex law
//
//	<x,q> >= (|q|/|o|) (A c - H x_alpha sqrt(1-c^2)),   c = <q,o>/(|q||o|),
//
// which fails with probability alpha. The tangent is below the law, so every arm that
// it drops is also dropped by the exact test, for every alpha.
//
// Where no tangent exists the bound is Cauchy-Schwarz and holds with certainty:
// a zero rest has Scale 0 and Radius 0, a code with A + kappa H <= 0 (an empty
// prefix, a code that points away) has Scale 0 and Radius |o|. A code parallel
// to o (H = 0) has Radius 0 and is deterministic too. A zero query rest needs
// no case: both terms vanish.
func Linear(m Moments, kappa float64) LinearTerms {
	onorm := math.Sqrt(m.O2)
	if onorm == 0 {
		return LinearTerms{Deterministic: true}
	}
	h := m.H()
	slope := m.A + kappa*h
	scale := m.O2 / slope
	radius := roundUp(h * onorm / slope)
	if !(slope > 0) || math.IsInf(scale, 0) || math.IsInf(radius, 0) {
		return LinearTerms{Radius: roundUp(onorm), Deterministic: true}
	}
	return LinearTerms{Scale: scale, Radius: radius, Deterministic: h == 0}
}

// Upper returns the upper bound of <o, q_rest> given dot = <x, q_rest>, reach
// from Reach and qnorm = |q_rest|. The rounding of the query's codes, the head and
// float32 arithmetic is not included (Slack, CodeSlack).
func (t LinearTerms) Upper(dot, reach, qnorm float64) float64 {
	if t.Deterministic {
		reach = 1
	}
	return t.Scale*dot + t.Radius*reach*qnorm
}

// UniformRadius returns a radius to be multiplied by every reach of this kappa, for
// kernels without a Deterministic flag per atom. Reach is at least kappa, so
// |o|/kappa times it is at least |o|: the Cauchy-Schwarz bound of a deterministic
// arm still holds, but is looser.
func (t LinearTerms) UniformRadius(kappa float64) float64 {
	if t.Deterministic {
		return roundUp(t.Radius / kappa)
	}
	return t.Radius
}

// Reach returns l = sqrt(x_alpha^2 + kappa^2), rounded upward: the multiple of the
// radius for failure probability alpha. kappa must be the one given to
// Linear. For D < MinStudentDim the quantile is 1 and the bound Cauchy-Schwarz
// or looser.
func Reach(alpha, kappa float64, D int) float64 {
	return roundUp(math.Hypot(XiQuantile(alpha, D), kappa))
}

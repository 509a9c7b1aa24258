package bandit

import "math"

// keepExact is the exact, non-linear test of the law: it reports whether an arm
// survives the threshold tauRest on <q_rest, o> (the threshold less the head's
// product), given dot = <x, q_rest>, qnorm = |q_rest| and xalpha from
// XiQuantile. The search uses the linear test, which is compared with this one.
//
// With c = tauRest/(|q||o|) the arm is dropped iff
//
//	<x,q> < (|q|/|o|) min over c' in [c, 1] of ( A c' - H xalpha sqrt(1-c'^2) )
//
// The bracket is convex in c' and lowest at -A/sqrt(A^2 + H^2 xalpha^2); taking
// its minimum to the right of c makes the test monotone in the
// threshold, so that one alpha covers all thresholds.
func keepExact(m Moments, dot, qnorm, tauRest, xalpha float64) bool {
	onorm := math.Sqrt(m.O2)
	if onorm == 0 || qnorm == 0 {
		return tauRest <= 0
	}
	c := tauRest / (qnorm * onorm)
	if c > 1 {
		return false
	}
	spread := m.H() * xalpha
	length := math.Hypot(m.A, spread)
	if length == 0 {
		return dot >= 0 // the bracket is 0 everywhere
	}
	c = math.Max(c, -m.A/length)
	return dot >= qnorm/onorm*(m.A*c-spread*math.Sqrt(math.Max(0, 1-c*c)))
}

package backendtest

import (
	"gonum.org/v1/gonum/mathext"
)

// FalseAlarm is the probability with which a correct program may fail one of
// the suite's statistical tests.
const FalseAlarm = 1e-6

// AtLeast is P(X >= failures) for X binomial with n trials of probability p.
// Tests fail if it is below FalseAlarm. Trials must be independent: queries that
// share a rotation fail together, so each trial should have a rotation of its own.
func AtLeast(failures, n int, p float64) float64 {
	if failures <= 0 {
		return 1
	}
	return mathext.RegIncBeta(float64(failures), float64(n-failures+1), p)
}

package bandit

// PrefixRadius returns the Cauchy-Schwarz radius of a look at a prefix of the
// coordinates, |o beyond the prefix| |q beyond the prefix|, rounded upward: the
// rule of `certain`. It goes with the plain product of the prefixes (a = 1),
// holds with certainty and in any basis, and is 0 once everything was seen.
func PrefixRadius(atomBeyond, queryBeyond float64) float64 {
	return roundUp(atomBeyond * queryBeyond)
}

// RoundingError returns a bound of |<y,w> - <y^,w^>|, rounded upward, where y is
// the vector an atom's code stands for, w the query's, and ^ marks what is
// really multiplied:
//
//	<y,w> - <y^,w^> = <y, w-w^> + <y-y^, w^>  <=  |y||w-w^| + |y-y^||w^|
//
// yNorm = |y|, wError = |w-w^|, yError = |y-y^|, wHatNorm = |w^|. Where the code
// itself is x (see doc.go) the rest contributes nothing to yError. The error is
// bounded, not modelled: taken as random with 4 or 6 standard deviations it
// failed on sparse data.
func RoundingError(yNorm, wError, yError, wHatNorm float64) float64 {
	return roundUp(yNorm*wError + yError*wHatNorm)
}

// NormCap returns |q||v| rounded upward, the bound that needs no look at all.
// Atoms in norm order let a scan stop where it falls below the threshold.
func NormCap(queryNorm, atomNorm float64) float64 {
	return roundUp(queryNorm * atomNorm)
}

package slate

import (
	"fmt"
	"math"
)

// MaxMagnitude bounds every input number, including costs and budgets, so that no square,
// sum or quotient of accepted numbers overflows.
const MaxMagnitude = 1e60

// maxEntries bounds n*d and n*l, so that products of sizes do not overflow.
const maxEntries = 1 << 40

// usable reports whether x is finite and at most MaxMagnitude.
func usable(x float64) bool { return math.Abs(x) <= MaxMagnitude } // false for NaN

// checkSize checks that have numbers are a matrix of n rows of d.
func checkSize(what string, n, d, have int) error {
	if n < 1 || d < 1 || n > maxEntries/d {
		return fmt.Errorf("slate: %s: %d items of %d features", what, n, d)
	}
	if have != n*d {
		return fmt.Errorf("slate: %s: %d numbers for %d items of %d features", what, have, n, d)
	}
	return nil
}

// checkVectors checks the size and that all entries are in [0, most].
func checkVectors(what string, n, d int, vectors []float64, most float64) error {
	if err := checkSize(what, n, d, len(vectors)); err != nil {
		return err
	}
	for i, x := range vectors {
		if !(x >= 0 && x <= most) {
			return fmt.Errorf("slate: %s: item %d, feature %d: %v is not in [0, %v]", what, i/d, i%d, x, most)
		}
	}
	return nil
}

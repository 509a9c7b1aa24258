package slate

import (
	"fmt"
	"math"
)

// MaxMagnitude bounds every number that goes in, costs and budgets too, so that no square, sum or
// quotient of what was accepted overflows.
const MaxMagnitude = 1e60

// maxEntries bounds n*d and n*l, so that products of sizes do not overflow.
const maxEntries = 1 << 40

// usable says whether x is a number that may go in.
func usable(x float64) bool { return math.Abs(x) <= MaxMagnitude } // false for NaN

// checkSize finds sizes that no matrix of n rows of d numbers has.
func checkSize(what string, n, d, have int) error {
	if n < 1 || d < 1 || n > maxEntries/d {
		return fmt.Errorf("slate: %s: %d items of %d features", what, n, d)
	}
	if have != n*d {
		return fmt.Errorf("slate: %s: %d numbers for %d items of %d features", what, have, n, d)
	}
	return nil
}

// checkVectors finds rows of the wrong number and entries outside of [0, most].
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

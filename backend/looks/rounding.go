package looks

import (
	"math"

	"thresher/bandit"
	"thresher/collection"
)

// docs/guarantee.md, float32 arithmetic: what a test by float32 numbers is charged.
const (
	// Slop covers the float32 operations of one test and of the lists that keep its
	// bounds: at most twelve roundings of terms no greater than their norms' product.
	Slop = 12 * bandit.Unit
	// Least covers what those operations lose below the normal numbers, half a step
	// each.
	Least = 12 * math.SmallestNonzeroFloat32
)

// LeastStep is the step of integer codes below which a vector is coded as zeros: its
// inverse would leave float32. docs/guarantee.md, int8 codes.
const LeastStep = 1e-30

// NormBound bounds an atom's score by norms alone: the query's, rounded upward, the
// atom's, and its offset in the query's units, whose sum float64 rounds by less than
// Slop of it.
func NormBound(query float64, atom float32, offset float64) float64 {
	return query*float64(atom)*collection.Up + offset + Slop*math.Abs(offset)
}

// Cap bounds the scores of all atoms from a panel on by norms alone, less the offsets,
// which are never positive: for a query of this norm, rounded upward. -Inf beyond the
// last panel. Of a collection that is not coded it bounds those of all atoms.
// docs/guarantee.md, one list on every processor.
func Cap(c *collection.Collection, norm float64, panel int) float64 {
	switch {
	case panel >= c.PanelCount():
		return math.Inf(-1)
	case !c.Coded():
		return CapAll(c, norm)
	}
	return norm * float64(c.NormCaps[panel]) * collection.Up
}

// CapAll is Cap of all atoms, by the first in internal order.
func CapAll(c *collection.Collection, norm float64) float64 {
	return norm * float64(c.Norm[0]) * collection.NormStep * collection.Up
}

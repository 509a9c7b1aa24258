package looks

import (
	"math"

	"thresher/bandit"
	"thresher/collection"
)

// Rounding of a test in float32 arithmetic: docs/guarantee.md, float32 arithmetic.
const (
	// Slop covers the float32 operations of one test and of the lists that store its
	// bounds: at most twelve roundings of terms no greater than the product of norms.
	Slop = 12 * bandit.Unit
	// Least covers the same operations on subnormal numbers, with half a step of error
	// each.
	Least = 12 * math.SmallestNonzeroFloat32
)

// LeastStep is the step of integer codes below which a vector is coded as zeros, because the
// inverse step would overflow float32. docs/guarantee.md, int8 codes.
const LeastStep = 1e-30

// NormBound bounds an atom's score by the norms of the query, rounded upward, and of the
// atom, and the atom's offset in the query's units. Slop covers the rounding of the sum in
// float64.
func NormBound(query float64, atom float32, offset float64) float64 {
	return query*float64(atom)*collection.Up + offset + Slop*math.Abs(offset)
}

// Cap bounds the scores of all atoms in the given panel and those after it by norms. norm is
// the query's, rounded upward. Offsets are omitted, because they are never positive. It is
// -Inf beyond the last panel. If c has no codes it bounds the scores of all atoms.
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

// CapAll is Cap of all atoms: the first in internal order has the greatest norm, within a
// factor of NormStep.
func CapAll(c *collection.Collection, norm float64) float64 {
	return norm * float64(c.Norm[0]) * collection.NormStep * collection.Up
}

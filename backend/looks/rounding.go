package looks

import (
	"math"

	"thresher/bandit"
	"thresher/collection"
)

// The rounding errors of comparing a bound with a threshold in float32: docs/guarantee.md,
// float32 arithmetic.
const (
	// Slop is a bound of these errors relative to the product of the norms of atom and query:
	// computing a bound and storing it in a list rounds at most twelve times, each time a
	// number that is no greater than this product.
	Slop = 12 * bandit.Unit
	// Least is their absolute bound where results are subnormal numbers: twelve roundings by
	// at most half the smallest one each.
	Least = 12 * math.SmallestNonzeroFloat32
)

// LeastStep is the least step of a query's integer codes. A head or rest whose step would be
// smaller is coded as zeros, because 1/step could overflow float32. docs/guarantee.md, int8 codes.
const LeastStep = 1e-30

// NormBound returns an upper bound of an atom's score: the product of the norms of query and
// atom plus the atom's offset. query is rounded upward, and offset is already multiplied by
// OffsetFactor. Slop exceeds the rounding of the sum in float64.
func NormBound(query float64, atom float32, offset float64) float64 {
	return query*float64(atom)*collection.Up + offset + Slop*math.Abs(offset)
}

// Cap returns an upper bound, from the norms alone, of the scores of all atoms in the given panel
// and in those after it: -Inf if there is no such panel, CapAll if c has no panels. norm is the
// query's, rounded upward. Offsets are omitted, because they are never positive.
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

// CapFrom is Cap with offsets counted, for a query of the given norm, rounded upward, and OffsetFactor. An atom at distance x from the centre has a
// score of at most norm x - factor x^2/2, which rises to x = norm/factor and falls beyond. docs/guarantee.md, about
// a centre.
func CapFrom(c *collection.Collection, norm, factor float64, panel int) float64 {
	if c.NormFloors == nil || panel >= c.PanelCount() {
		return Cap(c, norm, panel)
	}
	x := min(max(norm/factor, float64(c.NormFloors[panel])), float64(c.NormCaps[panel]))
	product, offset := norm*x, factor*x*x/2
	return product - offset + Slop*(product+offset)
}

// CapAll returns an upper bound, from the norms alone, of the scores of all atoms of c.
func CapAll(c *collection.Collection, norm float64) float64 {
	return norm * c.MaxNorm() * collection.Up
}

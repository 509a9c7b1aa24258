package looks

import (
	"math"

	"thresher/collection"
)

// Conversion converts between search scores and the values that bounds are of, for one
// query, in its units of 2^-exp. They differ only for squared differences: with q and v
// relative to the collection's centre, bounds are of q.v - |v|^2/2, which is the search score
// plus |q|^2/2. docs/guarantee.md, about a centre.
type Conversion struct {
	Lead float64 // |q|^2/2, or 0
	Give float64 // relative rounding error of Lead and of scores in float64, or 0
}

// Give = (Dim + giveTerms) giveUnit.
const (
	giveTerms = 32
	giveUnit  = 0x1p-52
)

// NewConversion returns the conversion for a query of the given working norm and exponent.
func NewConversion(c *collection.Collection, norm float64, exp int) Conversion {
	if !c.Metric.Differences() {
		return Conversion{}
	}
	return Conversion{Lead: math.Ldexp(c.Metric.Lead(norm), -exp), Give: float64(c.Dim+giveTerms) * giveUnit}
}

// Threshold converts a search score to a threshold: an atom whose bound is below it has a
// lower score, including rounding.
func (s Conversion) Threshold(score float64) float64 {
	if math.IsInf(score, 0) {
		return score
	}
	return score + s.Lead - s.Give*(s.Lead+math.Abs(score))
}

// LowerThreshold converts a lower bound of one atom's score to a threshold: an atom whose
// bound is below it has a lower score than that atom, including rounding.
func (s Conversion) LowerThreshold(lower float64) float64 {
	return lower - s.Give*(2*s.Lead+math.Abs(lower))
}

// UpperScore converts an upper bound to one of search scores.
func (s Conversion) UpperScore(bound float64) float64 {
	if s.Give == 0 || math.IsInf(bound, 0) {
		return bound
	}
	return min(0, bound-s.Lead+s.Give*(2*s.Lead+math.Abs(bound)))
}

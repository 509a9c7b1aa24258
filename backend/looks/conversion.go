package looks

import (
	"math"

	"thresher/collection"
)

// Conversion turns search scores into the values that bounds are of, and back, for one query,
// in its units of 2^-exp. They differ for squared differences alone: with q and v
// relative to the collection's centre, bounds are of q.v - |v|^2/2, which is |q|^2/2 more
// than the search score. docs/guarantee.md, about a centre.
type Conversion struct {
	Lead float64 // |q|^2/2, or 0
	Give float64 // what float64 can be wrong by in Lead and in scores, relative to their sizes, or 0
}

// Give is (Dim + giveTerms) giveUnit.
const (
	giveTerms = 32
	giveUnit  = 0x1p-52
)

// NewConversion is that of a query of this working norm.
func NewConversion(c *collection.Collection, norm float64, exp int) Conversion {
	if !c.Metric.Differences() {
		return Conversion{}
	}
	return Conversion{Lead: math.Ldexp(c.Metric.Lead(norm), -exp), Give: float64(c.Dim+giveTerms) * giveUnit}
}

// Threshold is the threshold that a search score makes: an atom whose bound is below has a
// lower score, as computed too.
func (s Conversion) Threshold(score float64) float64 {
	if math.IsInf(score, 0) {
		return score
	}
	return score + s.Lead - s.Give*(s.Lead+math.Abs(score))
}

// LowerThreshold is the threshold that a lower bound makes: an atom whose bound is below has a
// lower score than the atom of that lower bound, as computed too.
func (s Conversion) LowerThreshold(lower float64) float64 {
	return lower - s.Give*(2*s.Lead+math.Abs(lower))
}

// UpperScore turns an upper bound into one of search scores.
func (s Conversion) UpperScore(bound float64) float64 {
	if s.Give == 0 || math.IsInf(bound, 0) {
		return bound
	}
	return min(0, bound-s.Lead+s.Give*(2*s.Lead+math.Abs(bound)))
}

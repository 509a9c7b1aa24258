package looks

import (
	"math"

	"thresher/collection"
)

// Conversion converts between search scores and the values that bounds are of, for one
// query, in its units of 2^-exp. They differ only for squared differences: with q and v
// relative to the collection's centre, bounds are of q.v - |v|^2/2, which is the search score
// plus |q|^2/2. docs/guarantee.md, about a centre.
//
// Of rows of float64, bounds are of the rows and the query rounded to float32, scores of those given. The two scores
// differ by at most Apart, the two distances by at most Away. docs/guarantee.md, rows of float64.
type Conversion struct {
	Lead  float64 // |q|^2/2, or 0
	Give  float64 // relative rounding error of Lead and of scores in float64, or 0
	Apart float64 // for products and cosines of rows of float64, else 0
	Away  float64 // for distances of rows of float64, else 0
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

// Rounded returns the conversion for rows of float64 and a query that rounded to float32, relative to the Origin, has
// norm length. For other rows it returns s.
func (s Conversion) Rounded(c *collection.Collection, length float64, exp int) Conversion {
	if !c.Float64() {
		return s
	}
	var apart, away float64
	tiny := math.Sqrt(float64(c.Dim)) * math.SmallestNonzeroFloat32 // of coordinates that are subnormal
	sums := 4 * float64(c.Dim+giveTerms) * giveUnit                 // of canonical sums, of which scores are made
	longest := c.MaxNorm()
	switch {
	case c.Metric.Differences():
		if c.Centre != nil {
			longest = c.Longest
		}
		away = roundedShare*(longest+length) + 2*tiny
	case c.Metric.Normalises():
		apart = 8*roundedShare + sums
	default:
		apart = (2*roundedShare+sums)*longest*length + tiny*(longest+length+tiny)
	}
	s.Apart, s.Away = math.Ldexp(apart, -exp), away*math.Sqrt(math.Ldexp(1, -exp))*collection.Up
	return s
}

// roundedShare is above 2^-24, by which a coordinate changes at most when it is rounded to float32, as a share of the
// result.
const roundedShare = 0x1p-24 * (1 + 0x1p-10)

// distance returns |q-v|, from above, of a score or a bound that is below Lead by gap.
func distance(gap float64) float64 { return math.Sqrt(2*max(0, gap)) * collection.Up }

// Threshold converts a search score to a threshold: an atom whose bound is below it has a
// lower score, including rounding.
func (s Conversion) Threshold(score float64) float64 {
	if math.IsInf(score, 0) {
		return score
	}
	tau := score + s.Lead - s.Give*(s.Lead+math.Abs(score)) - s.Apart
	if s.Away > 0 {
		tau -= s.Away * (distance(-score) + s.Away)
	}
	return tau
}

// LowerThreshold converts a lower bound of one atom's score to a threshold: an atom whose
// bound is below it has a lower score than that atom, including rounding.
func (s Conversion) LowerThreshold(lower float64) float64 {
	tau := lower - s.Give*(2*s.Lead+math.Abs(lower)) - 2*s.Apart
	if s.Away > 0 && !math.IsInf(lower, 0) {
		tau -= 2 * s.Away * (distance(s.Lead-lower+s.Give*(2*s.Lead+math.Abs(lower))) + s.Away)
	}
	return tau
}

// UpperScore converts an upper bound to one of search scores.
func (s Conversion) UpperScore(bound float64) float64 {
	if s.Give == 0 || math.IsInf(bound, 0) {
		return bound + s.Apart
	}
	give := s.Give * (2*s.Lead + math.Abs(bound))
	return min(0, bound-s.Lead+give+s.Away*distance(s.Lead-bound+give))
}

package looks

import (
	"math"

	"thresher/collection"
)

// MixQuery sets mixed, [Width], to what the look multiplies by for a query.
func (m *Mixed) MixQuery(mixed []float32, query *collection.Query) {
	head, width := len(query.Head), m.look.To
	for i := range mixed {
		var sum float32
		for j, v := range query.Head {
			sum += m.Matrix[j*m.Width+i] * v
		}
		for j, v := range query.Rest[:width] {
			sum += m.Matrix[(head+j)*m.Width+i] * float32(float64(v)*m.Rest)
		}
		mixed[i] = sum
	}
}

// EncodeQuery writes the codes of a query that MixQuery has mixed, for the threshold tau, to codes, [Width+MixedTerms], and returns
// their step s'. An atom i with the sum S of products of both sides' codes has a bound of at most tau + Step[i] s' S, so it may be
// dropped if S is negative. A query has no codes if its threshold, or the step that it takes, is infinite; then EncodeQuery returns 0.
func (m *Mixed) EncodeQuery(codes []int8, mixed []float32, query *collection.Query, tau float64) float64 {
	if math.IsInf(tau, 0) {
		return 0
	}
	bound := m.look.Factors(query, 0, 0)
	norm := collection.Norm(mixed) * collection.Up
	own := m.Slack*norm + lostLeast
	norms := (bound.HN + bound.XN + bound.NN) * m.Norms
	// The step is so great that all factors fit, one of which has a part of at most roundingNorm steps.
	step := max(float64(kernels.MaxAbs(mixed))/MaxCode8, math.Abs(Least-tau)/m.Limit[ByThreshold], bound.RadiusFactor/m.Limit[ByRadius],
		(own+norms)/(m.Limit[BySize]-m.roundingNorm()), (norm+own)/(m.Limit[ByError]-m.roundingNorm()), LeastStep) * collection.Up
	if math.IsInf(step, 0) {
		return 0
	}
	lost := codeMixed(codes, mixed, step) + own
	factors := [MixedProducts]float64{ByThreshold: Least - tau, ByRadius: bound.RadiusFactor, BySize: lost + norms, ByError: norm + lost}
	m.codeFactors(codes[len(mixed):], &factors, step)
	return step
}

// codeMixed writes the codes of a mixed query at a step to codes, and returns an upper bound of the norm of their errors.
func codeMixed(codes []int8, mixed []float32, step float64) float64 {
	squares := 0.
	for k, v := range mixed {
		code := math.RoundToEven(float64(v) / step)
		codes[k] = int8(code)
		lost := float64(v) - code*step
		squares += lost * lost
	}
	return math.Sqrt(squares) * collection.Up
}

// codeFactors writes the codes of factors at a step to codes, [MixedTerms], and what is charged for their rounding.
func (m *Mixed) codeFactors(codes []int8, factors *[MixedProducts]float64, step float64) {
	at, charge := 0, .01 // more than what float64 loses
	for product, repeats := range MixedRepeats {
		whole, left := digits(factors[product]/step*MaxCode8/m.Limit[product], repeats)
		for range repeats {
			codes[at] = whole
			at++
		}
		codes[at], codes[at+1] = left, fourth(whole)
		at += 2
		// What the products of a left and a fourth lack, and the product of what is left on both sides.
		charge += (MaxCode8+math.Abs(float64(whole)))/8 + 2*float64(repeats) + .5 + float64(repeats)/4
	}
	codes[at] = int8(math.Ceil(charge / ChargeUnit))
}

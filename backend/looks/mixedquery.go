package looks

import (
	"math"

	"thresher/collection"
)

// MixQuery sets z, [Width], to that of query q.
func (m *Mixed) MixQuery(z []float32, q *collection.Query) {
	r, to := len(q.Head), m.look.To
	for i := range z {
		var sum float32
		for j, v := range q.Head {
			sum += m.Matrix[j*m.Width+i] * v
		}
		for j, v := range q.Rest[:to] {
			sum += m.Matrix[(r+j)*m.Width+i] * float32(float64(v)*m.Rest)
		}
		z[i] = sum
	}
}

// EncodeQuery writes the codes of a query with that z for the threshold tau to codes, [Width+MixedTerms], and returns their step s'.
// An atom i with the sum S of products of both sides' codes has a bound of at most tau + Step[i] s' S, so it may be dropped if S is
// negative. A query has no codes if its threshold, or the step that it takes, is infinite; then EncodeQuery returns 0.
func (m *Mixed) EncodeQuery(codes []int8, z []float32, q *collection.Query, tau float64) float64 {
	if math.IsInf(tau, 0) {
		return 0
	}
	f := m.look.Factors(q, 0, 0)
	norm := collection.Norm(z) * collection.Up
	own := m.Slack*norm + lostLeast
	norms := (f.HN + f.XN + f.NN) * m.Norms
	// The step is so great that all factors fit, one of which has a part of at most roundingNorm steps.
	step := max(float64(kernels.MaxAbs(z))/MaxCode8, math.Abs(Least-tau)/m.Limit[ByThreshold], f.RadiusFactor/m.Limit[ByRadius],
		(own+norms)/(m.Limit[BySize]-m.roundingNorm()), (norm+own)/(m.Limit[ByError]-m.roundingNorm()), LeastStep) * collection.Up
	if math.IsInf(step, 0) {
		return 0
	}
	errors := 0.
	for k, v := range z {
		code := math.RoundToEven(float64(v) / step)
		codes[k] = int8(code)
		d := float64(v) - code*step
		errors += d * d
	}
	lost := math.Sqrt(errors)*collection.Up + own
	factors := [MixedProducts]float64{ByThreshold: Least - tau, ByRadius: f.RadiusFactor, BySize: lost + norms, ByError: norm + lost}
	at, charge := len(z), .01 // more than what float64 loses
	for r, n := range MixedRepeats {
		whole, left := digits(factors[r]/step*MaxCode8/m.Limit[r], n)
		for range n {
			codes[at] = whole
			at++
		}
		codes[at], codes[at+1] = left, fourth(whole)
		at += 2
		// What the products of a left and a fourth lack, and the product of what is left on both sides.
		charge += (MaxCode8+math.Abs(float64(whole)))/8 + 2*float64(n) + .5 + float64(n)/4
	}
	codes[at] = int8(math.Ceil(charge / ChargeUnit))
	return step
}

package revisit

import (
	"math"

	"thresher/backend/looks"
	"thresher/collection"
	"thresher/cpu/topk"
	"thresher/simd"
)

// rowCodes are a query's 16-bit codes of head and rest for looks at rows. Codes of atoms are
// stored with simd.Bias (128) added, so products of them exceed the true ones by Bias times
// the sum of the query's codes.
type rowCodes struct {
	looks.Steps
	ready       bool
	codes       simd.RowQuery
	headBias    float64   // Bias times the sum of the head's codes
	stageBiases []float64 // Bias times the sum of the rest's codes up to each stage
	// highSteps and highSum are the steps and the sum of the rest's high halves. Looks at signs
	// read no low halves of the rest.
	highSteps looks.Steps
	highSum   float64
}

// codeQuery16 computes the query's 16-bit codes, once.
func (s *Query) codeQuery16(w *Scratch) {
	if s.rows.ready {
		return
	}
	c, r := s.C, &s.rows
	all := c.R + c.D
	padded := (all + 63) &^ 63
	if len(r.codes.Hi) != padded {
		half := make([]int8, 2*padded)
		r.codes.Hi, r.codes.Lo = half[:padded:padded], half[padded:]
		r.stageBiases = make([]float64, len(c.Stages))
	}
	w.Codes16 = topk.Grow(w.Codes16, all)
	var sum int64
	r.HeadStep, r.HeadErr, sum = QuantizeQuery(s.Kern, w.Codes16[:c.R], s.Prep.Head, looks.MaxCode16)
	r.headBias = simd.Bias * float64(sum)
	r.RestStep, r.RestErr, _ = QuantizeQuery(s.Kern, w.Codes16[c.R:], s.Prep.Rest, looks.MaxCode16)
	simd.SplitCodes(r.codes.Hi, r.codes.Lo, w.Codes16)
	sum = 0
	from := 0
	for l := range c.Stages {
		if c.Stages[l].Coding != collection.Int8 {
			r.sumHighHalves(c.R, all)
			continue
		}
		for _, v := range w.Codes16[c.R+from : c.R+c.Stages[l].Width] {
			sum += int64(v)
		}
		from = c.Stages[l].Width
		r.stageBiases[l] = simd.Bias * float64(sum)
	}
	r.ready = true
}

// sumHighHalves sets highSteps and highSum from the codes from to end-1, which are the rest's.
func (r *rowCodes) sumHighHalves(from, end int) {
	lows := r.codes.Lo[from:end]
	var sum, squares int64
	for j, v := range r.codes.Hi[from:end] {
		l := int64(lows[j])
		sum, squares = sum+int64(v), squares+l*l
	}
	r.highSteps, r.highSum = r.Steps, float64(sum)
	r.highSteps.RestStep = 256 * r.RestStep
	r.highSteps.RestErr = (r.RestErr + r.RestStep*math.Sqrt(float64(squares))) * collection.Up
}

// QuantizeQuery rounds x to integers of magnitude at most limit in dst. It returns the value
// of one step, an upper bound of the norm of the rounding error, and the sum of the codes. If
// a step would be too small for float32, all codes and the step are 0.
func QuantizeQuery(kern simd.Kernels, dst []int16, x []float32, limit int32) (step, err float64, sum int64) {
	step = float64(kern.MaxAbs(x)) / float64(limit)
	if step < looks.LeastStep {
		clear(dst)
		return 0, math.Sqrt(kern.SumSquares(x)) * collection.Up, 0
	}
	f := float32(step)
	sum, err2 := kern.QuantizeError(dst, x, float32(1/step), limit, f)
	return float64(f), math.Sqrt(err2) * collection.Up, sum
}

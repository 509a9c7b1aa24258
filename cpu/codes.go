package cpu

import (
	"math"

	"thresher/backend/looks"
	"thresher/collection"
	"thresher/simd"
)

// rowCodes are a query's 16-bit codes of head and rest for looks at rows.
type rowCodes struct {
	looks.Steps
	ready    bool
	codes    simd.RowQuery
	headBias float64   // 128 sum of the head's codes
	stages   []float64 // 128 sum of the rest's codes up to each stage
	// Step and sum of the rest's high halves, for looks at signs, which use only these.
	high  looks.Steps
	highs float64
}

// fine computes the 16-bit codes.
func (s *state) fine(w *scratch) {
	if s.rows.ready {
		return
	}
	c, r := s.c, &s.rows
	all := c.R + c.D
	padded := (all + 63) &^ 63
	if len(r.codes.Hi) != padded {
		half := make([]int8, 2*padded)
		r.codes.Hi, r.codes.Lo = half[:padded:padded], half[padded:]
		r.stages = make([]float64, len(c.Stages))
	}
	w.small = grow(w.small, all)
	var sum int64
	r.HeadStep, r.HeadErr, sum = encode(s.k, w.small[:c.R], s.prep.Head, looks.MaxCode16)
	r.headBias = simd.Bias * float64(sum)
	r.RestStep, r.RestErr, _ = encode(s.k, w.small[c.R:], s.prep.Rest, looks.MaxCode16)
	simd.SplitCodes(r.codes.Hi, r.codes.Lo, w.small)
	sum = 0
	from := 0
	for l := range c.Stages {
		if c.Stages[l].Coding != collection.Int8 {
			r.halve(c.R, all)
			continue
		}
		for _, v := range w.small[c.R+from : c.R+c.Stages[l].Width] {
			sum += int64(v)
		}
		from = c.Stages[l].Width
		r.stages[l] = simd.Bias * float64(sum)
	}
	r.ready = true
}

// halve computes what looks need that only use the high halves of the rest's coordinates
// from to end.
func (r *rowCodes) halve(from, end int) {
	lows := r.codes.Lo[from:end]
	var sum, squares int64
	for j, v := range r.codes.Hi[from:end] {
		l := int64(lows[j])
		sum, squares = sum+int64(v), squares+l*l
	}
	r.high, r.highs = r.Steps, float64(sum)
	r.high.RestStep = 256 * r.RestStep
	r.high.RestErr = (r.RestErr + r.RestStep*math.Sqrt(float64(squares))) * collection.Up
}

// coarse writes the 8-bit codes of the head and of the first width rest coordinates to dst and
// returns 128 times the sum of each.
func (s *state) coarse(w *scratch, dst []int8, width int) (k looks.Steps, headBias, restBias int32) {
	r := s.c.R
	w.small = grow(w.small, r+width)
	var h, o int64
	k.HeadStep, k.HeadErr, h = encode(s.k, w.small[:r], s.prep.Head, looks.MaxCode8)
	k.RestStep, k.RestErr, o = encode(s.k, w.small[r:], s.prep.Rest[:width], looks.MaxCode8)
	for j, v := range w.small {
		dst[j] = int8(v)
	}
	return k, simd.Bias * int32(h), simd.Bias * int32(o)
}

// encode rounds x to integers of magnitude at most limit and returns the value of a step, an
// upper bound of the rounding error's norm, and the sum of the codes.
func encode(k simd.Kernels, dst []int16, x []float32, limit int32) (step, err float64, sum int64) {
	step = float64(k.MaxAbs(x)) / float64(limit)
	if step < looks.LeastStep {
		clear(dst)
		return 0, math.Sqrt(k.SumSquares(x)) * collection.Up, 0
	}
	f := float32(step)
	sum, err2 := k.QuantizeError(dst, x, float32(1/step), limit, f)
	return float64(f), math.Sqrt(err2) * collection.Up, sum
}

package scan

import (
	"math"

	"thresher/backend/looks"
	"thresher/collection"
	"thresher/cpu/arms"
	"thresher/cpu/revisit"
	"thresher/cpu/topk"
	"thresher/simd"
)

// codeQuerySigns writes the query's 8-bit codes of the head, and the tables of the first width rest coordinates, to q.
// It returns the steps of these codes, and simd.Bias times the sum of the head's.
func (s *Query) codeQuerySigns(w *scratch, q *scanning, width int) (k looks.Steps, headBias int32) {
	r := s.C.R
	w.Codes16 = topk.Grow(w.Codes16, r+width)
	var h int64
	k.HeadStep, k.HeadErr, h = revisit.QuantizeQuery(s.Kern, w.Codes16[:r], s.Prep.Head, looks.MaxCode8)
	for j, v := range w.Codes16[:r] {
		q.codes[j] = int8(v)
	}
	q.codes = q.codes[:r]
	codes, x := w.Codes16[r:], s.Prep.Rest[:width]
	k.RestStep = greatestGroup(x) / (simd.MaxSignGroup - groupRounding)
	if k.RestStep < looks.LeastStep {
		clear(codes)
		k.RestStep, k.RestErr = 0, math.Sqrt(s.Kern.SumSquares(x))*collection.Up
	} else {
		step := float32(k.RestStep)
		_, err2 := s.Kern.QuantizeError(codes, x, float32(1/k.RestStep), looks.MaxCode8, step)
		k.RestStep, k.RestErr = float64(step), math.Sqrt(err2)*collection.Up
	}
	q.tables.Make(codes)
	return k, simd.Bias * int32(h)
}

// groupRounding is more than rounding four codes adds to the sum of their magnitudes.
const groupRounding = 2.01

// greatestGroup returns the greatest sum of the magnitudes of four neighbouring coordinates.
func greatestGroup(x []float32) float64 {
	var greatest float32
	for ; len(x) >= 4; x = x[4:] {
		four := (*[4]float32)(x)
		var sum float32
		for _, v := range four {
			sum += max(v, -v)
		}
		greatest = max(greatest, sum)
	}
	return float64(greatest)
}

// scanSigns tests the atoms of panel p by their signs for all queries and sets w.masks and w.values.
func (x *Run) scanSigns(w *scratch, t *looks.Compiled, qs []*scanning, p int) {
	size := simd.SignPanelBytes(x.C.R, t.Look.To)
	panel, terms := t.Signs.Panels[p*size:(p+1)*size], x.panelTerms(w, t, p)
	for k, q := range qs {
		x.r.Kernels.SignPanel(&w.panelSums, panel, q.codes, t.Look.To, q.tables.Sums)
		w.masks[k] = x.r.Kernels.Test(w.panelSums[:], terms, &w.tests[k], w.values[k*arms.PanelAtoms:])
	}
}

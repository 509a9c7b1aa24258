package main

import (
	"math"

	"thresher/backend/looks"
	"thresher/simd"
)

var kernels = simd.Best()

// atomwise is the first look as it is: integer products of head and rest, a float bound of each pair by
// the terms of its atom, and the rounding of a strip of atoms at its worst (kernels/scan.cu).
type atomwise struct {
	*workload
	look       *looks.Compiled
	bounds     []looks.Bound
	head, rest []float32 // the queries' codes as panels of simd.Gemm
	codes      []float32 // of a strip
	dh, dr     []float32
}

func newAtomwise(w *workload, l *looks.Compiled) *atomwise {
	c := w.c
	s := &atomwise{workload: w, look: l, head: make([]float32, c.R*queryCount), rest: make([]float32, l.To*queryCount),
		codes: make([]float32, looks.StripAtoms*(c.R+l.To)), dh: make([]float32, looks.StripAtoms*queryCount), dr: make([]float32, looks.StripAtoms*queryCount)}
	for j := range w.queries {
		q := &w.queries[j]
		var steps looks.Steps
		steps.HeadStep, steps.HeadErr = encode(s.head, j, q.Head)
		steps.RestStep, steps.RestErr = encode(s.rest, j, q.Rest[:l.To])
		s.bounds = append(s.bounds, l.Bound(q, steps))
	}
	return s
}

// encode writes the 8-bit codes of x to column j of a panel, and returns their step and the norm of
// their rounding errors.
func encode(panel []float32, j int, x []float32) (step, err float64) {
	step = float64(kernels.MaxAbs(x)) / looks.MaxCode8
	if step == 0 {
		return 0, 0
	}
	sum := 0.0
	for i, v := range x {
		code := math.RoundToEven(float64(v) / step)
		panel[i*queryCount+j] = float32(code)
		d := float64(v) - code*step
		sum += d * d
	}
	return step, math.Sqrt(sum)
}

func (s *atomwise) turnAtoms() int  { return 32 }
func (s *atomwise) firstChunk() int { return s.look.FirstChunk }

func (s *atomwise) scan(lo, hi int, tau []float64, list func(at, query int, bound float64)) {
	width := s.c.R + s.look.To
	cut := make([]float64, queryCount)
	for ; lo < hi; lo += looks.StripAtoms {
		n := min(hi-lo, looks.StripAtoms)
		for i := range n {
			for c, v := range s.c.Code(lo + i)[:width] {
				s.codes[i*width+c] = float32(v) - simd.Bias
			}
		}
		clear(s.dh)
		if s.c.R > 0 {
			kernels.Gemm(s.dh, queryCount, s.codes, width, n, s.head, s.c.R, queryCount, false)
		}
		kernels.Gemm(s.dr, queryCount, s.codes[s.c.R:], width, n, s.rest, s.look.To, queryCount, false)
		strip := &s.look.Strips[lo/looks.StripAtoms]
		for j := range cut {
			cut[j] = tau[j] - s.bounds[j].StripRounding(strip)
		}
		for i := range n {
			for j := range cut {
				if v := s.value(lo+i, j, s.dh[i*queryCount+j], s.dr[i*queryCount+j]); v >= cut[j] {
					list(lo+i, j, v+s.bounds[j].StripRounding(strip))
				}
			}
		}
	}
}

// value is the bound of a pair without rounding.
func (s *atomwise) value(i, j int, dh, dr float32) float64 {
	b := &s.bounds[j]
	v := float64(s.look.HeadScale[i])*b.Steps.HeadStep*float64(dh) + float64(s.look.Scale[i])*b.Steps.RestStep*float64(dr) +
		float64(s.look.Radius[i])*b.RadiusFactor
	if s.look.Offset != nil {
		v += float64(s.look.Offset[i]) * b.OffsetFactor
	}
	return v
}

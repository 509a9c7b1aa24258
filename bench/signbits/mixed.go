package main

import (
	"context"
	"math"
	"runtime"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
)

// mixed is the first look by mixed codes (looks.Mixed), as a GPU takes it: queries without a threshold are scanned at panels.
type mixed struct {
	*workload
	*looks.Mixed
	panels          *atomwise
	look            *looks.Compiled
	z               [][]float32
	codes           []int8 // of a query
	atoms           []float32
	panel, products []float32 // of simd.Gemm
	step            []float64 // of each query's codes
}

// newMixed codes atoms for look l; nil if it can have no mixed codes.
func newMixed(ctx context.Context, w *workload, l *looks.Compiled) (*mixed, error) {
	m, err := l.Mix(ctx, w.c, w.c, 0, runtime.GOMAXPROCS(0))
	if m == nil || err != nil {
		return nil, err
	}
	width := m.Width + backend.MixedTerms
	s := &mixed{workload: w, Mixed: m, panels: newAtomwise(w, l), look: l, codes: make([]int8, width), atoms: make([]float32, tileAtoms*width),
		panel: make([]float32, width*queryCount), products: make([]float32, tileAtoms*queryCount), step: make([]float64, queryCount)}
	for j := range w.queries {
		s.z = append(s.z, make([]float32, m.Width))
		m.MixQuery(s.z[j], &w.queries[j])
	}
	return s, nil
}

func (s *mixed) turnAtoms() int  { return tileAtoms }
func (s *mixed) firstChunk() int { return s.look.FirstChunk }

func (s *mixed) scan(lo, hi int, tau []float64, list func(at, query int, bound float64)) {
	width, first := len(s.codes), slices.Repeat([]float64{math.Inf(1)}, queryCount)
	for j, t := range tau {
		if math.IsInf(t, -1) {
			first[j] = t
		}
		if s.step[j] = s.EncodeQuery(s.codes, s.z[j], &s.queries[j], t); s.step[j] > 0 {
			for k, code := range s.codes {
				s.panel[k*queryCount+j] = float32(code)
			}
		}
	}
	if slices.Contains(first, math.Inf(-1)) {
		s.panels.scan(lo, hi, first, list)
	}
	for ; lo < hi; lo += tileAtoms {
		n := min(hi-lo, tileAtoms)
		for k, code := range s.Codes[lo*width : (lo+n)*width] {
			s.atoms[k] = float32(code)
		}
		kernels.Gemm(s.products, queryCount, s.atoms, width, n, s.panel, width, queryCount, false) // whole numbers below 2^24
		for i := range n {
			for j, v := range s.products[i*queryCount : (i+1)*queryCount] {
				if s.step[j] > 0 && v >= 0 {
					list(lo+i, j, tau[j]+float64(v)*float64(s.Step[lo+i])*s.step[j])
				}
			}
		}
	}
}

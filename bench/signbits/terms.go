package main

import (
	"math"

	"thresher/backend/looks"
	"thresher/collection"
)

// The look by sign bits with the terms of each atom, in the order in which atoms are stored. y and z are
// those of tiles.go, but y has a step of its own for each atom. With the same terms as there, of the atom
// in place of the greatest of a tile, a pair passes if
//
//	<Y, Z> + (l |w| h + offset + error - tau) / (step of the atom x step of the query) >= 0.
//
// The second part is a sum of products of one factor of the atom and one of the query, so 32 more codes of
// both can hold it: a factor is rounded to 7 bits, its product takes several equal coordinates, and what
// rounding leaves of either factor takes one more each. What is then left of the products is charged to the
// query. So one product of codes, which starts at zero, decides a pair by its sign.

// termCodes is the number of codes that hold the terms.
const termCodes = 32

// leastShare is the least step of an atom, as a share of the greatest: terms of smaller atoms would not fit.
const leastShare = 1. / 2

// The factors of an atom and the number of coordinates that hold the product of each, besides two for what
// rounding leaves.
const (
	byTau    = iota // 1
	byRadius        // h
	bySize          // |y|; at least |v|/64, so that a small head and few codes do not make the ratios coded and norm large
	byError         // |y - coded y|
	byOffset        // of the offset, its deviation from the mean
	factorCount
)

// coordinates are those numbers without offsets and with offsets. With two more for each factor they are 31 codes; the last is
// for the charge.
var coordinates = [2][factorCount]int{
	{byTau: 17, byRadius: 4, bySize: 1, byError: 1},
	{byTau: 7, byRadius: 3, bySize: 1, byError: 1, byOffset: 9},
}

// termed is the look.
type termed struct {
	*workload
	look            *looks.Compiled
	coordinates     [factorCount]int
	width           int                  // of y and the terms
	step, lost      []float64            // of each atom: the step of its codes, and |y - coded y|
	most            [factorCount]float64 // greatest factor of an atom over its step
	coded, norm     float64              // greatest ratios of |x~| and |v| to the factor bySize
	mean, spread    float64              // of the offsets, and the greatest of their sizes
	codes           []float32
	z               [][]float32
	size, err       []float64 // |z|, and the error that M makes of it
	factors         []looks.Factors
	panel, products []float32
	queryStep       []float64
}

// newTermed codes atoms for look l, by the rule Student: other rules have one more term.
func newTermed(w *workload, l *looks.Compiled) *termed {
	c := w.c
	y := c.R + l.To
	s := &termed{workload: w, look: l, width: y + termCodes, step: make([]float64, c.N), lost: make([]float64, c.N), products: make([]float32, tileAtoms*queryCount), queryStep: make([]float64, queryCount)}
	s.codes, s.panel = make([]float32, c.N*s.width), make([]float32, s.width*queryCount)
	m := newMix(c, l, y, noOffset)
	all := make([]float32, c.N*y)
	order := storedOrder(c.N)
	greatest := 0.
	for lo := 0; lo < c.N; lo += tileAtoms {
		hi := min(c.N, lo+tileAtoms)
		m.atoms(all[lo*y:hi*y], order[lo:hi])
		for i := lo; i < hi; i++ {
			s.step[i] = max(looks.LeastStep, float64(kernels.MaxAbs(all[i*y:(i+1)*y]))/looks.MaxCode8)
			greatest = max(greatest, s.step[i])
		}
	}
	s.coordinates = coordinates[0]
	if l.Offset != nil {
		s.coordinates = coordinates[1]
	}
	for i := range l.Offset {
		s.mean += float64(l.Offset[i]) / float64(c.N)
	}
	factors := make([][factorCount]float64, c.N)
	for i := range factors {
		s.step[i] = max(s.step[i], leastShare*greatest)
		size, err := 0., 0.
		for k, v := range all[i*y : (i+1)*y] {
			code := math.RoundToEven(float64(v) / s.step[i])
			s.codes[i*s.width+k] = float32(code)
			d := float64(v) - code*s.step[i]
			size, err = size+float64(v)*float64(v), err+d*d
		}
		s.lost[i] = math.Sqrt(err)
		f := &factors[i]
		*f = [factorCount]float64{byTau: 1, byRadius: (1 + looks.Slop) * float64(l.Radius[i]), bySize: max(math.Sqrt(size), float64(l.Norm[i])/64), byError: s.lost[i]}
		if l.Offset != nil {
			f[byOffset] = float64(l.Offset[i]) - s.mean
			s.spread = max(s.spread, -float64(l.Offset[i]))
		}
		if f[bySize] > 0 {
			s.coded, s.norm = max(s.coded, float64(l.XNorm[i])/f[bySize]), max(s.norm, float64(l.Norm[i])/f[bySize])
		}
		for r := range f {
			f[r] /= s.step[i]
			s.most[r] = max(s.most[r], math.Abs(f[r]), looks.LeastStep)
		}
	}
	for i := range factors {
		at := i*s.width + y
		for r, n := range s.coordinates {
			if n > 0 {
				whole, left := digits(factors[i][r]*looks.MaxCode8/s.most[r], n)
				at = put(s.codes, at, 1, n, whole)
				at = put(s.codes, at, 1, 1, fourth(whole))
				at = put(s.codes, at, 1, 1, left)
			}
		}
		s.codes[(i+1)*s.width-1] = looks.MaxCode8 // the charge
	}
	for j := range w.queries {
		q := &w.queries[j]
		z := make([]float32, y)
		m.query(z, q)
		norm := collection.Norm(z)
		s.z, s.size, s.err = append(s.z, z), append(s.size, norm), append(s.err, m.slack*norm)
		s.factors = append(s.factors, l.Factors(q, 0, 0))
	}
	return s
}

// digits divides a factor between -127 and 127 into its nearest whole number and what is left of it, 4 n
// times as great and rounded, which is to be multiplied by a fourth of the other side's whole number.
func digits(v float64, n int) (whole, left float32) {
	w := math.RoundToEven(v)
	return float32(w), float32(math.RoundToEven(4 * float64(n) * (v - w)))
}

// fourth is a fourth of a whole number, rounded.
func fourth(whole float32) float32 { return float32(math.RoundToEven(float64(whole) / 4)) }

// put writes v to n places of to, each stride after the one before, and returns the place after the last.
func put(to []float32, at, stride, n int, v float32) int {
	for range n {
		to[at] = v
		at += stride
	}
	return at
}

// encodeQuery writes the codes of query j with the finite threshold tau to the panel.
func (s *termed) encodeQuery(j int, tau float64) {
	f := &s.factors[j]
	z := s.z[j]
	step := max(looks.LeastStep, float64(kernels.MaxAbs(z))/looks.MaxCode8)
	var with [factorCount]float64
	for fits := false; !fits; { // the step must be so great that all factors fit, one of which it changes
		err := 0.
		for k, v := range z {
			code := math.RoundToEven(float64(v) / step)
			s.panel[k*queryCount+j] = float32(code)
			d := float64(v) - code*step
			err += d * d
		}
		lost := math.Sqrt(err) + s.err[j]
		with = [factorCount]float64{
			byTau:    looks.Least - tau + f.OffsetFactor*(s.mean+looks.Slop*s.spread),
			byRadius: f.RadiusFactor,
			bySize:   lost + f.XN*s.coded + f.NN*s.norm,
			byError:  s.size[j] + lost,
			byOffset: f.OffsetFactor,
		}
		least := 0.
		for r, n := range s.coordinates {
			if n > 0 {
				least = max(least, math.Abs(with[r])*s.most[r]/(looks.MaxCode8*looks.MaxCode8*float64(n)))
			}
		}
		if fits = least <= step; !fits {
			step = least * (1 + 1e-9)
		}
	}
	s.queryStep[j] = step
	at, charge := len(z)*queryCount+j, 0.
	for r, n := range s.coordinates {
		if n == 0 {
			continue
		}
		whole, left := digits(with[r]/step*s.most[r]/(looks.MaxCode8*float64(n)), n)
		at = put(s.panel, at, queryCount, n, whole)
		at = put(s.panel, at, queryCount, 1, left)
		at = put(s.panel, at, queryCount, 1, fourth(whole))
		// What the products of a left and a fourth lack, and the product of what is left on both sides.
		charge += (looks.MaxCode8+math.Abs(float64(whole)))/8 + 2*float64(n) + .5 + float64(n)/4
	}
	s.panel[(s.width-1)*queryCount+j] = float32(math.Ceil(charge / looks.MaxCode8))
}

func (s *termed) turnAtoms() int  { return tileAtoms }
func (s *termed) firstChunk() int { return s.look.FirstChunk }

func (s *termed) scan(lo, hi int, tau []float64, list func(at, query int, bound float64)) {
	for j, t := range tau {
		if !math.IsInf(t, 0) {
			s.encodeQuery(j, t)
		}
	}
	for ; lo < hi; lo += tileAtoms {
		n := min(hi-lo, tileAtoms)
		kernels.Gemm(s.products, queryCount, s.codes[lo*s.width:], s.width, n, s.panel, s.width, queryCount, false) // whole numbers below 2^24
		for i := range n {
			for j, v := range s.products[i*queryCount : (i+1)*queryCount] {
				switch {
				case math.IsInf(tau[j], -1):
					list(lo+i, j, s.first(lo+i, j))
				case !math.IsInf(tau[j], 1) && v >= 0:
					list(lo+i, j, tau[j]+float64(v)*s.step[lo+i]*s.queryStep[j])
				}
			}
		}
	}
}

// first is the bound of a pair before there is a threshold, by z itself in place of its codes.
func (s *termed) first(i, j int) float64 {
	f := &s.factors[j]
	v := (1+looks.Slop)*f.RadiusFactor*float64(s.look.Radius[i]) + s.lost[i]*s.size[j] + s.err[j]*float64(s.look.Norm[i]) +
		f.XN*float64(s.look.XNorm[i]) + f.NN*float64(s.look.Norm[i]) + looks.Least
	for k, code := range s.codes[i*s.width : i*s.width+len(s.z[j])] {
		v += float64(code) * s.step[i] * float64(s.z[j][k])
	}
	if s.look.Offset != nil {
		v += f.OffsetFactor * float64(s.look.Offset[i]) * (1 - looks.Slop)
	}
	return v
}

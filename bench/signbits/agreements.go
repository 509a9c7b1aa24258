package main

import (
	"encoding/binary"
	"math"
	"math/bits"

	"thresher/backend/looks"
	"thresher/simd"
)

// A first look by agreements, which is not built: the head's codes, and of the first B coordinates of the
// rest the signs of both sides, of which the equal ones are counted. Each coordinate of a uniformly rotated
// pair of cosine c has equal signs with probability 1 - acos(c)/pi.
//
// The law. By a coupling P(A <= a | c) falls in c, and a pair of Gaussian vectors of correlation rho, given
// its sample correlation r, is a rotated pair of cosine r. So P(A <= a | c) <= P(Bin(B, 1 - acos(rho)/pi) <= a) /
// P_rho(r <= c): with rho = c a binomial tail times about 2. An atom of rest o whose signs agree with the query's in a
// places is bounded by |o| |q| C(a), C(a) the greatest c at which twice the tail is alpha at least, or by any line above C.
// Counted here is the least that such a look would keep: the signs are of codes, of which some 5 in 1,000 have another one than o.

// agreementBounds returns C(a) for a = 0 to width.
func agreementBounds(width int, alpha float64) []float64 {
	at := make([]float64, width+1)
	for a := range at {
		at[a] = 1
		if a == width { // all agree
			continue
		}
		low, high := -1., 1.
		for range 60 {
			c := (low + high) / 2
			if 2*binomialTail(width, a, 1-math.Acos(c)/math.Pi) >= alpha {
				low = c
			} else {
				high = c
			}
		}
		at[a] = high
	}
	return at
}

// lineAbove returns the bounds of a line above all of bounds, which touches them or nearly so where they first reach touch.
func lineAbove(bounds []float64, touch float64) []float64 {
	at := 1
	for at < len(bounds)-2 && bounds[at] < touch {
		at++
	}
	slope, start := (bounds[at+1]-bounds[at-1])/2, math.Inf(-1)
	for a, c := range bounds {
		start = max(start, c-slope*float64(a))
	}
	line := make([]float64, len(bounds))
	for a := range line {
		line[a] = start + slope*float64(a)
	}
	return line
}

// binomialTail is the probability of at most a successes in n trials of probability p each.
func binomialTail(n, a int, p float64) float64 {
	if p <= 0 {
		return 1
	}
	if p >= 1 {
		return 0
	}
	all, _ := math.Lgamma(float64(n + 1))
	sum := 0.
	for i := range a + 1 {
		some, _ := math.Lgamma(float64(i + 1))
		others, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(all - some - others + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// agreements is the look. Its rounding is that of the look at codes, and so a little too much.
type agreements struct {
	*workload
	look   *looks.Compiled
	head   *atomwise // its products of the heads
	width  int
	bounds []float64
	signs  [][]uint64 // of each query
	norms  []float64  // of the queries' rests
}

// newAgreements is the look at the signs of width coordinates, with the bounds of agreementBounds or of a line above them.
func newAgreements(w *workload, l *looks.Compiled, bounds []float64) *agreements {
	width := len(bounds) - 1
	s := &agreements{workload: w, look: l, head: newAtomwise(w, l), width: width, bounds: bounds}
	for j := range w.queries {
		q := &w.queries[j]
		signs := make([]uint64, (width+63)/64)
		for k, v := range q.Rest[:width] {
			if v >= 0 {
				signs[k/64] |= 1 << (k % 64)
			}
		}
		s.signs, s.norms = append(s.signs, signs), append(s.norms, q.RestNorm)
	}
	return s
}

func (s *agreements) turnAtoms() int  { return tileAtoms }
func (s *agreements) firstChunk() int { return s.look.FirstChunk }

func (s *agreements) scan(lo, hi int, tau []float64, list func(at, query int, bound float64)) {
	c, h := s.c, s.head
	whole := &c.Stages[len(c.Stages)-1]
	codes, dots := make([]float32, c.R), make([]float32, queryCount)
	signs := make([]uint64, (s.width+63)/64)
	for i := lo; i < hi; i++ {
		row := c.Code(i)
		clear(signs)
		for k, v := range row[c.R:][:s.width] {
			signs[k/64] |= uint64(v>>7) << (k % 64)
		}
		clear(dots)
		if c.R > 0 {
			for k, v := range row[:c.R] {
				codes[k] = float32(v) - simd.Bias
			}
			kernels.Gemm(dots, queryCount, codes, c.R, 1, h.head, c.R, queryCount, false)
		}
		strip := &s.look.Strips[i/looks.StripAtoms]
		length := float64(whole.XNorm[i]) + float64(whole.Beyond[i])
		for j := range tau {
			b := &h.bounds[j]
			differ := 0
			for k, v := range signs {
				differ += bits.OnesCount64(v ^ s.signs[j][k])
			}
			v := float64(s.look.HeadScale[i])*b.Steps.HeadStep*float64(dots[j]) + length*s.norms[j]*s.bounds[s.width-differ] + b.StripRounding(strip)
			if s.look.Offset != nil {
				v += float64(s.look.Offset[i]) * b.OffsetFactor
			}
			if v >= tau[j] {
				list(i, j, v)
			}
		}
	}
}

// agreePortable tests the 64 atoms of a panel against queries: the head's codes are those of simd.Kernels.Scan, and
// each 32 signs of an atom a word in their places. A query's codes are head bytes and the complements of as many signs
// as there are, every stride bytes. With dh the product of the head's codes and a the number of equal signs, the value is
//
//	heads[i] q.Head dh + norms[i] (q.Rest a + q.Radius)
//
// and bit i of a mask says whether it is at least q.Cut.
func agreePortable(panel []uint8, head, width int, codes []int8, stride int, queries []simd.ScanQuery, heads, norms, values []float32, masks []uint64) {
	for j := range queries {
		q, x := &queries[j], codes[j*stride:][:head+width/8]
		masks[j] = 0
		for i := range simd.PanelLanes {
			dh, a := -q.HeadBias, 0
			for k, v := range x[:head] {
				dh += int32(v) * int32(panel[k/4*256+4*i+k%4])
			}
			for k := range width / 32 {
				var word [4]uint8
				for b := range word {
					word[b] = uint8(x[head+4*k+b])
				}
				a += bits.OnesCount32(binary.LittleEndian.Uint32(word[:]) ^ binary.LittleEndian.Uint32(panel[(head/4+k)*256+4*i:]))
			}
			v := heads[i]*(q.Head*float32(dh)) + norms[i]*(q.Rest*float32(a)+q.Radius)
			values[j*simd.PanelLanes+i] = v
			if v >= q.Cut {
				masks[j] |= 1 << i
			}
		}
	}
}

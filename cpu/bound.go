package cpu

import (
	"thresher/backend"
	"thresher/backend/looks"
	"thresher/simd"
)

// compile compiles look l, once for all runs that take it. For looks at rows it also stores
// the terms of each atom contiguously, except for Cauchy looks at prefixes.
func (r *resident) compile(l backend.Look) (*looks.Compiled, error) {
	t, err := r.looks.Compile(l)
	if err == nil && t.QueryCodes != looks.Codes8 && t.Kind != looks.Cauchy {
		r.looks.LayOut(t)
	}
	return t, err
}

// boundCodes returns the estimate and the upper bound of atom i from the sums of its codes
// with the query's 16-bit codes.
func (s *state) boundCodes(b *looks.Bound, i int, t *simd.RowSums) (estimate, upper float64) {
	dh := 256*float64(t.HeadHi) + float64(t.HeadLo) - s.rows.headBias
	dr := 256*float64(t.RestHi) + float64(t.RestLo) - s.rows.stageBiases[b.Stage]
	if b.Sides == nil {
		return b.Of(i, dh, dr)
	}
	return b.OfSide(&b.Sides[i], dh, dr)
}

// boundSigns returns the estimate and the upper bound of atom i from the sums of its head
// codes with the query's 16-bit codes and of the high halves h_j at positive coordinates.
// The product with signs is twice that less the sum of all h_j.
func (s *state) boundSigns(b *looks.Bound, i int, t *simd.SignSums) (estimate, upper float64) {
	dh := 256*float64(t.HeadHi) + float64(t.HeadLo) - s.rows.headBias
	return b.OfSide(&b.Sides[i], dh, 2*float64(t.Rest)-s.rows.highSum)
}

// fetchSides reads a field of b.Sides for each of ids in one loop, so that their cache
// misses overlap. The caller must store the sum.
func fetchSides(b *looks.Bound, ids []uint32) (sum float32) {
	if b.Sides == nil {
		return 0
	}
	for _, i := range ids {
		sum += b.Sides[i].Size
	}
	return sum
}

// boundWideCodes is boundCodes for rows whose sums do not fit int32: it sums pieces of
// simd.MaxScan codes in float64.
func (s *state) boundWideCodes(b *looks.Bound, i int) (estimate, upper float64) {
	c, q := s.c, &s.rows.codes
	code := c.Code(i)
	product := func(from, to int) (sum float64) {
		for ; from < to; from += simd.MaxScan {
			n := min(to-from, simd.MaxScan)
			var t [1]simd.RowSums
			s.kern.Rows(t[:], code[from:], len(code), []uint32{0}, 0, n, &simd.RowQuery{Hi: q.Hi[from:], Lo: q.Lo[from:]})
			sum += 256*float64(t[0].RestHi) + float64(t[0].RestLo)
		}
		return sum
	}
	return b.Of(i, product(0, c.R)-s.rows.headBias, product(c.R, c.R+b.Look.To)-s.rows.stageBiases[b.Stage])
}

package cpu

import (
	"thresher/backend"
	"thresher/backend/looks"
	"thresher/simd"
)

// terms readies look l, once for all batches that take it. Looks at rows have their
// terms side by side, but for Cauchy's at prefixes.
func (r *resident) terms(l backend.Look) (*looks.Compiled, error) {
	t, err := r.looks.Compile(l)
	if err == nil && t.QueryCodes != looks.Codes8 && t.Kind != looks.Cauchy {
		r.looks.LayOut(t)
	}
	return t, err
}

// row bounds atom i from its row's sums with the 16-bit codes.
func (s *state) row(b *looks.Bound, i int, t *simd.RowSums) (estimate, upper float64) {
	dh := 256*float64(t.HeadHi) + float64(t.HeadLo) - s.rows.headBias
	dr := 256*float64(t.RestHi) + float64(t.RestLo) - s.rows.stages[b.Stage]
	if b.Sides == nil {
		return b.Of(i, dh, dr)
	}
	return b.OfSide(&b.Sides[i], dh, dr)
}

// signs bounds atom i from the sums of its signs with the high halves of the 16-bit
// codes: those with a bit count twice, less all.
func (s *state) signs(b *looks.Bound, i int, t *simd.SignSums) (estimate, upper float64) {
	dh := 256*float64(t.HeadHi) + float64(t.HeadLo) - s.rows.headBias
	return b.OfSide(&b.Sides[i], dh, 2*float64(t.Rest)-s.rows.highs)
}

// fetch reads something of the terms that stand side by side for each of ids, all at
// once: one by one, each would be waited for.
func fetch(b *looks.Bound, ids []uint32) (sum float32) {
	if b.Sides == nil {
		return 0
	}
	for _, i := range ids {
		sum += b.Sides[i].Size
	}
	return sum
}

// wideRow is row where a row's sums do not fit int32.
func (s *state) wideRow(b *looks.Bound, i int) (estimate, upper float64) {
	c, q := s.c, &s.rows.codes
	code := c.Code(i)
	product := func(from, to int) (sum float64) {
		for ; from < to; from += simd.MaxScan {
			n := min(to-from, simd.MaxScan)
			var t [1]simd.RowSums
			s.k.Rows(t[:], code[from:], len(code), []uint32{0}, 0, n, &simd.RowQuery{Hi: q.Hi[from:], Lo: q.Lo[from:]})
			sum += 256*float64(t[0].RestHi) + float64(t[0].RestLo)
		}
		return sum
	}
	return b.Of(i, product(0, c.R)-s.rows.headBias, product(c.R, c.R+b.Look.To)-s.rows.stages[b.Stage])
}

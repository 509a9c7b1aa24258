package revisit

import (
	"thresher/backend"
	"thresher/backend/looks"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
	"thresher/simd"
)

// rowSums are sums of products of rows with a query's codes, as looks at each
// representation need them.
type rowSums struct {
	codes []simd.RowSums
	signs []simd.SignSums
}

// stepsOf returns the steps of the codes that a look multiplies rows by.
func (r *rowCodes) stepsOf(k looks.QueryCodes) looks.Steps {
	if k == looks.CodesHigh {
		return r.highSteps
	}
	return r.Steps
}

// leastArms is the least number of arms to bound together that are divided into pieces.
const leastArms = 128

// boundArms sets w.estimates and w.uppers to the estimates and the upper bounds of atoms ids. Helpers
// may do parts of them.
func (q *revisitState) boundArms(w *Scratch, ids []uint32) {
	n := len(ids)
	w.estimates, w.uppers = topk.Grow(w.estimates, n), topk.Grow(w.uppers, n)
	estimates, uppers := w.estimates, w.uppers
	if !q.Team.Shares(n, leastArms) {
		q.boundSome(w, ids, estimates, uppers)
		return
	}
	q.Team.ShareOut(n, func(t *threads.Scratch, lo, hi int) {
		w := ScratchOf(t)
		q.boundSome(w, ids[lo:hi], estimates[lo:hi], uppers[lo:hi])
	})
}

// boundSome writes the estimates and the upper bounds of atoms ids.
func (q *revisitState) boundSome(w *Scratch, ids []uint32, estimates, uppers []float64) {
	w.fetchSink = fetchSides(&q.bound, ids)
	if q.bound.Rep == backend.Signs {
		w.sums.signs = topk.Grow(w.sums.signs, len(ids))
		rows, stride := q.bound.Rep.Codes(q.C)
		q.Kern.Signs(w.sums.signs, rows, stride, ids, q.C.R, q.C.D, &q.rows.codes)
		for k, i := range ids {
			estimates[k], uppers[k] = q.boundSigns(&q.bound, int(i), &w.sums.signs[k])
		}
		return
	}
	w.sums.codes = topk.Grow(w.sums.codes, len(ids))
	wide := q.sumCodes(w, ids, q.bound.Look.To)
	for k, i := range ids {
		estimates[k], uppers[k] = q.boundSummedCodes(&q.bound, w, k, i, wide)
	}
}

// sumCodes sums the products of head and width rest codes of rows ids with the query's codes
// into w.sums.codes. It returns true if the sums may not fit int32; then it reads nothing.
func (s *Query) sumCodes(w *Scratch, ids []uint32, width int) (wide bool) {
	c := s.C
	if c.R+width > simd.MaxScan {
		return true
	}
	s.Kern.Rows(w.sums.codes, c.Codes, c.R+c.D, ids, c.R, width, &s.rows.codes)
	return false
}

// boundSummedCodes returns the estimate and the upper bound of atom i, entry k of w.sums.codes.
func (s *Query) boundSummedCodes(b *looks.Bound, w *Scratch, k int, i uint32, wide bool) (estimate, upper float64) {
	if wide {
		return s.boundWideCodes(b, int(i))
	}
	return s.boundCodes(b, int(i), &w.sums.codes[k])
}

// boundCodes returns the estimate and the upper bound of atom i from the sums of its codes
// with the query's 16-bit codes.
func (s *Query) boundCodes(b *looks.Bound, i int, t *simd.RowSums) (estimate, upper float64) {
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
func (s *Query) boundSigns(b *looks.Bound, i int, t *simd.SignSums) (estimate, upper float64) {
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
func (s *Query) boundWideCodes(b *looks.Bound, i int) (estimate, upper float64) {
	c, q := s.C, &s.rows.codes
	code := c.Code(i)
	product := func(from, to int) (sum float64) {
		for ; from < to; from += simd.MaxScan {
			n := min(to-from, simd.MaxScan)
			var t [1]simd.RowSums
			s.Kern.Rows(t[:], code[from:], len(code), []uint32{0}, 0, n, &simd.RowQuery{Hi: q.Hi[from:], Lo: q.Lo[from:]})
			sum += 256*float64(t[0].RestHi) + float64(t[0].RestLo)
		}
		return sum
	}
	return b.Of(i, product(0, c.R)-s.rows.headBias, product(c.R, c.R+b.Look.To)-s.rows.stageBiases[b.Stage])
}

package cpu

import "math/bits"

// fewTile is the greatest number of rows in a tile that is multiplied by few queries.
const fewTile = 512

// multiplyFew multiplies rows lo to hi-1 of the job by its queries, which are not packed, and adds
// those that may reach a query's threshold to its pending rows.
func (d *denseRange) multiplyFew(x *run, w *scratch, t *denseTerms, lo, hi int) {
	s, m, dim, n, k := &w.dense, len(d.js), x.c.Dim, hi-lo, x.r.kernels
	s.dots, s.masks = grow(s.dots, m*fewTile), grow(s.masks, fewTile/64)
	step := dim
	if d.rows != nil || t.far { // rows are copied
		step = denseCoords
	}
	for from := 0; from < dim; from += step {
		b := min(step, dim-from)
		rows, ld := d.coordinates(x.c, s, t.far, lo, hi, from, b)
		k.GemmFew(s.dots, fewTile, rows, ld, n, s.query[from:], dim, m, b, from > 0)
	}
	scale, size, offset := d.rowTerms(s, t, lo, hi)
	for e := range m {
		dots := s.dots[e*fewTile:][:n]
		k.DenseTestColumn(dots, s.margin[e], s.factor[e], s.tau[e], scale, size, offset, s.masks)
		for word, mask := range s.masks[:(n+63)/64] {
			for ; mask != 0; mask &= mask - 1 {
				i := 64*word + bits.TrailingZeros64(mask)
				d.pass(x, s, t, e, uint32(d.rowAt(lo+i)), dots[i], scale[i], size[i], offset[i])
			}
		}
	}
	d.tightenPending(x, w, t)
}

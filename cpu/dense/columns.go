package dense

import (
	"math/bits"

	"thresher/cpu/topk"
)

// fewTile is the greatest number of rows in a tile that is multiplied by few queries.
const fewTile = 512

// multiplyFew multiplies rows lo to hi-1 of the pass by its queries, which are not packed, and adds
// those that may reach a query's threshold to its pending rows.
func (d *rowRange) multiplyFew(x *Scans, w *scratch, t *terms, lo, hi int) {
	s, m, dim, n, k := &w.tests, len(d.js), x.C.Dim, hi-lo, x.r.Kernels
	s.dots = topk.Grow(s.dots, m*fewTile)
	step := dim
	far := t.far && d.exact == nil
	if d.rows != nil || far { // rows are copied
		step = tileCoords
	}
	for from := 0; from < dim; from += step {
		b := min(step, dim-from)
		rows, ld := d.coordinates(x.C, s, far, lo, hi, from, b)
		k.GemmFew(s.dots, fewTile, rows, ld, n, s.query[from:], dim, m, b, from > 0)
	}
	scale, size, offset := d.rowTerms(s, t, lo, hi)
	for e := range m {
		d.testColumn(x, s, t, e, lo, s.dots[e*fewTile:][:n], scale, size, offset)
	}
	d.tightenPending(x, w, t)
}

// testColumn adds the rows of a tile, from row lo of the pass on, that may reach the threshold of query e
// of the pass to its pending rows. dots are their products with it.
func (d *rowRange) testColumn(x *Scans, s *tests, t *terms, e, lo int, dots, scale, size, offset []float32) {
	s.masks = topk.Grow(s.masks, (len(dots)+63)/64)
	x.r.Kernels.DenseTestColumn(dots, s.margin[e], s.factor[e], s.tau[e], scale, size, offset, s.masks)
	for word, mask := range s.masks[:(len(dots)+63)/64] {
		if mask == 0 {
			continue
		}
		if s.plain && d.rows == nil {
			from := 64 * word
			n := min(64, len(dots)-from)
			s.addColumn(x, d.js[e], e, mask, lo+from, dots[from:], 1, scale[from:from+n], size[from:from+n], offset[from:from+n])
			continue
		}
		for ; mask != 0; mask &= mask - 1 {
			i := 64*word + bits.TrailingZeros64(mask)
			d.addPassing(x, s, t, e, uint32(d.rowAt(lo+i)), dots[i], scale[i], size[i], offset[i])
		}
	}
}

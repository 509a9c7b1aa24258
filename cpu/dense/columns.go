package dense

import (
	"math/bits"

	"thresher/cpu/topk"
)

// fewTile is the greatest number of rows in a tile that is multiplied by few queries.
const fewTile = 512

// multiplyFew multiplies rows lo to hi-1 of the pass by its queries, which are not packed, and adds
// those that may reach a query's threshold to its pending rows.
func (d *rowRange) multiplyFew(scans *Scans, w *scratch, terms *terms, lo, hi int) {
	tests, queries, dim, rowCount := &w.tests, len(d.js), scans.C.Dim, hi-lo
	tests.dots = topk.Grow(tests.dots, queries*fewTile)
	step := dim
	far := terms.far && d.exact == nil
	if d.rows != nil || far || scans.C.Rows == nil { // rows are copied
		step = tileCoords
	}
	for from := 0; from < dim; from += step {
		width := min(step, dim-from)
		rows, stride := d.coordinates(scans.C, tests, far, lo, hi, from, width)
		scans.r.Kernels.GemmFew(tests.dots, fewTile, rows, stride, rowCount, tests.query[from:], dim, queries, width, from > 0)
	}
	scale, size, offset := d.rowTerms(tests, terms, lo, hi)
	for slot := range queries {
		d.testColumn(scans, tests, terms, slot, lo, tests.dots[slot*fewTile:][:rowCount], scale, size, offset)
	}
	d.tightenPending(scans, w, terms)
}

// testColumn adds the rows of a tile, from row lo of the pass on, that may reach the threshold of the query in a slot
// of the pass to its pending rows. dots are their products with it.
func (d *rowRange) testColumn(scans *Scans, tests *tests, terms *terms, slot, lo int, dots, scale, size, offset []float32) {
	words := (len(dots) + 63) / 64
	tests.masks = topk.Grow(tests.masks, words)
	scans.r.Kernels.DenseTestColumn(dots, tests.margin[slot], tests.factor[slot], tests.tau[slot], scale, size, offset, tests.masks)
	for word, mask := range tests.masks[:words] {
		if mask == 0 {
			continue
		}
		if tests.plain {
			from := 64 * word
			to := min(from+64, len(dots))
			d.addColumn(scans, tests, d.js[slot], slot, mask, lo+from, dots[from:], 1, scale[from:to], size[from:to], offset[from:to])
			continue
		}
		for ; mask != 0; mask &= mask - 1 {
			row := 64*word + bits.TrailingZeros64(mask)
			d.addPassing(scans, tests, terms, slot, uint32(d.rowAt(lo+row)), dots[row], scale[row], size[row], offset[row])
		}
	}
}

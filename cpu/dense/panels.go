package dense

import (
	"math"
	"math/bits"

	"thresher/bandit"
	"thresher/collection"
	"thresher/cpu/topk"
	"thresher/simd"
)

// packedQueries is how many of m queries of a scan are packed: those that fill the columns of a panel,
// and the others too if they are more than few.
func (x *Scans) packedQueries(m int) int {
	const step = simd.PanelStep
	if rest := m % step; rest <= x.r.Kernels.FewQueries() {
		return m - rest
	}
	return m
}

// prepare sets the terms of the test for queries js of a scan, and packs the first of them for Gemm,
// tileCoords coordinates at a time.
func (x *Scans) prepare(w *scratch, js []int, packed int) {
	s, dim, k := &w.tests, x.C.Dim, x.r.Kernels
	s.packed, s.width = packed, (packed+simd.PanelStep-1)/simd.PanelStep*simd.PanelStep
	s.query = topk.Grow(s.query, len(js)*dim)
	for e, j := range js {
		roundings := roundingsOf(dim, e < packed)
		if x.C.Centre != nil { // rows less the centre are rounded
			roundings++
		}
		q := &x.queries[j]
		row := s.query[e*dim : (e+1)*dim]
		q.writeCompared(row)
		s.margin[e] = 0
		if q.dots == byNorms {
			s.margin[e] = collection.Upward(roundings * bandit.Unit * math.Sqrt(k.SumSquares(row)) * collection.Up)
		}
		s.factor[e] = float32(math.Ldexp(1, -q.Exp))
	}
	s.panels = topk.Grow(s.panels, s.width*dim)
	for e := len(js); e < s.width; e++ { // padding
		s.margin[e], s.factor[e], s.tau[e] = 0, 0, float32(math.Inf(1))
	}
	if packed == 0 {
		return
	}
	for from := 0; from < dim; from += tileCoords {
		n := min(tileCoords, dim-from)
		k.Pack(s.panels[from*s.width:], s.query[from:], dim, packed, n, s.width)
	}
}

// roundingsOf bounds the roundings of a term of the test: of the query, of a float32 sum of products, packed or not, of
// the sums of these sums, and of the test itself.
func roundingsOf(dim int, packed bool) float64 {
	inChain := min(tileCoords, dim)
	if !packed { // sums have eight chains
		inChain = dim/8 + 6
	}
	return float64(inChain + 8 + (dim+tileCoords-1)/tileCoords)
}

// multiplyTile multiplies rows lo to hi-1 of the pass by the queries, packed or not, and adds those that
// may reach a query's threshold to its pending rows.
func (d *rowRange) multiplyTile(x *Scans, w *scratch, t *terms, lo, hi int) {
	s, dim, n, k := &w.tests, x.C.Dim, hi-lo, x.r.Kernels
	width, few := s.width, len(d.js)-s.packed
	far := t.far && d.exact == nil
	s.dots, s.masks, s.fewDots = topk.Grow(s.dots, tileRows*width), topk.Grow(s.masks, tileRows), topk.Grow(s.fewDots, few*tileRows)
	for from := 0; from < dim; from += tileCoords {
		b := min(tileCoords, dim-from)
		rows, ld := d.coordinates(x.C, s, far, lo, hi, from, b)
		k.Gemm(s.dots, width, rows, ld, n, s.panels[from*width:], b, width, from > 0)
		if few > 0 {
			k.GemmFew(s.fewDots, tileRows, rows, ld, n, s.query[s.packed*dim+from:], dim, few, b, from > 0)
		}
	}
	scale, size, offset := d.rowTerms(s, t, lo, hi)
	k.DenseTestRows(s.dots, width, s.margin[:width], s.factor[:width], s.tau[:width], width, scale, size, offset, s.masks[:n])
	d.addTested(x, s, t, lo, scale, size, offset)
	for e := range few {
		d.testColumn(x, s, t, s.packed+e, lo, s.fewDots[e*tileRows:][:n], scale, size, offset)
	}
	d.tightenPending(x, w, t)
}

// addTested adds the rows of a tile, from row lo of the pass on, to the pending rows of the packed
// queries whose threshold they may reach.
func (d *rowRange) addTested(x *Scans, s *tests, t *terms, lo int, scale, size, offset []float32) {
	if s.plain {
		d.addPassed(x, s, lo, scale, size, offset)
		return
	}
	queries := ^uint64(0) >> (64 - s.packed) // without the padding
	for i, mask := range s.masks[:len(scale)] {
		if mask &= queries; mask == 0 {
			continue
		}
		row := d.rowAt(lo + i)
		dots := s.dots[i*s.width:][:s.width]
		for ; mask != 0; mask &= mask - 1 {
			e := bits.TrailingZeros64(mask)
			d.addPassing(x, s, t, e, uint32(row), dots[e], scale[i], size[i], offset[i])
		}
	}
}

// addPassing adds a row whose product with query e of the pass passed the test to the query's pending
// rows, if the query allows it. The terms are those of the row.
func (d *rowRange) addPassing(x *Scans, s *tests, t *terms, e int, row uint32, dot, scale, size, offset float32) {
	q := &x.queries[d.js[e]]
	if !s.allAllowed[e] && (!d.allows(q, t, row) || s.hides(q, e, row)) {
		return
	}
	// The same operations as in the test.
	bound := float32(dot*scale) + float32(s.margin[e]*size) + float32(offset*s.factor[e])
	if bound-bound != 0 { // not finite: the products overflowed, or have no error bound
		s.addScored(q, e, []uint32{row}, []float64{q.SearchScore(row)})
		return
	}
	if q.Bounded() && q.CertainlyAbove(s.lowerBound(q, t, e, row, bound)) {
		return
	}
	r := &s.pending[e]
	r.IDs, r.Bounds = append(r.IDs, row), append(r.Bounds, bound)
}

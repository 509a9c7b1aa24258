package dense

import (
	"math/bits"

	"thresher/cpu/topk"
)

// addPassed adds the rows of a tile, from row lo of the pass on, that passed the test to the pending rows of
// the packed queries. The scan must be plain. It takes one query after the other, because lists of 64 queries
// that grow by turns displace each other in the first-level cache.
func (d *rowRange) addPassed(x *Scans, s *tests, lo int, scale, size, offset []float32) {
	width := s.width
	for from := 0; from < len(scale); from += 64 {
		n := min(64, len(scale)-from)
		if countBits(s.masks[from:from+n]) <= sparsePassed {
			d.addSparse(x, s, lo, from, s.masks[from:from+n], scale, size, offset)
			continue
		}
		var passed [64]uint64 // by row, then by query
		copy(passed[:], s.masks[from:from+n])
		transposeBits(&passed)
		dots, scale, size, offset := s.dots[from*width:][:n*width], scale[from:from+n], size[from:from+n], offset[from:from+n]
		for e, j := range d.js[:s.packed] {
			if mask := passed[e&63]; mask != 0 {
				d.addColumn(x, s, j, e, mask, lo+from, dots[e:], width, scale, size, offset)
			}
		}
	}
}

// sparsePassed is the number of products of 64 rows that passed the test up to which they are listed one by
// one.
const sparsePassed = 64

// countBits counts the bits that are set.
func countBits(masks []uint64) (n int) {
	for _, m := range masks {
		n += bits.OnesCount64(m)
	}
	return n
}

// addSparse is addPassed for the rows of masks, from row from of the tile on, one product after the other.
func (d *rowRange) addSparse(x *Scans, s *tests, lo, from int, masks []uint64, scale, size, offset []float32) {
	width, js := s.width, d.js[:s.packed]
	queries := ^uint64(0) >> (64 - len(js)) // without the padding
	for i, mask := range masks {
		if mask &= queries; mask == 0 {
			continue
		}
		i += from
		row, dots, scale, size, offset := uint32(d.rowAt(lo+i)), s.dots[i*width:][:width], scale[i], size[i], offset[i]
		for ; mask != 0; mask &= mask - 1 {
			e := bits.TrailingZeros64(mask) & 63
			// The same operations as in the test.
			bound := float32(dots[e]*scale) + float32(s.margin[e]*size) + float32(offset*s.factor[e])
			if bound-bound != 0 { // the products overflowed, or have no error bound
				q := &x.queries[js[e]]
				s.addScored(q, e, []uint32{row}, []float64{q.SearchScore(row)})
				continue
			}
			r := &s.pending[e]
			r.IDs, r.Bounds = append(r.IDs, row), append(r.Bounds, bound)
		}
	}
}

// addColumn adds those of up to 64 rows, from row lo of the pass on, whose bit is set in mask to the pending rows of
// query j, e of the pass. Its products with them are ld floats apart.
func (d *rowRange) addColumn(x *Scans, s *tests, j, e int, mask uint64, lo int, dots []float32, ld int, scale, size, offset []float32) {
	r, q := &s.pending[e], &x.queries[j]
	r.Reserve(64)
	at := len(r.IDs)
	room := at + 64 + topk.Overrun
	n, odd := q.Kern.ListColumn(r.IDs[at:room], r.Bounds[at:room], mask, dots, ld, s.margin[e], s.factor[e], scale, size, offset, uint32(lo))
	r.Truncate(at + n)
	if d.rows != nil {
		for i, k := range r.IDs[at:] {
			r.IDs[at+i] = d.rows[k]
		}
	}
	for ; odd != 0; odd &= odd - 1 { // the products overflowed, or have no error bound
		row := uint32(d.rowAt(lo + bits.TrailingZeros64(odd)))
		s.addScored(q, e, []uint32{row}, []float64{q.SearchScore(row)})
	}
}

// transposeBits exchanges bit j of word i with bit i of word j.
func transposeBits(x *[64]uint64) {
	mask := uint64(1)<<32 - 1
	for d := 32; d > 0; d, mask = d/2, mask^mask<<(d/2) {
		for i := 0; i < 64; i = ((i | d) + 1) &^ d {
			a, b := &x[i&63], &x[(i|d)&63]
			t := (*a>>d ^ *b) & mask
			*a ^= t << d
			*b ^= t
		}
	}
}

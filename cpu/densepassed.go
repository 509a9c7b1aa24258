package cpu

import "math/bits"

// addPassed adds the rows of a tile, from row lo on, that passed the test to the pending rows of the
// queries js. The scan must be plain. It takes one query after the other, because lists of 64 queries
// that grow by turns displace each other in the first-level cache.
func (s *denseScratch) addPassed(x *run, js []int, width, lo int, scale, size, offset []float32) {
	for from := 0; from < len(scale); from += 64 {
		n := min(64, len(scale)-from)
		var passed [64]uint64 // by row, then by query
		copy(passed[:], s.masks[from:from+n])
		transposeBits(&passed)
		dots, scale, size, offset := s.dots[from*width:][:n*width], scale[from:from+n], size[from:from+n], offset[from:from+n]
		for e, j := range js {
			if mask := passed[e&63]; mask != 0 {
				s.addColumn(x, j, e, mask, lo+from, dots[e:], width, scale, size, offset)
			}
		}
	}
}

// addColumn adds those of up to 64 rows, from row lo on, whose bit is set in mask to the pending rows of
// query j, e of the job. Its products with them are ld floats apart.
func (s *denseScratch) addColumn(x *run, j, e int, mask uint64, lo int, dots []float32, ld int, scale, size, offset []float32) {
	r, q := &s.pending[e], &x.states[j]
	r.reserve(64)
	at := len(r.ids)
	room := at + 64 + overrun
	n, odd := q.kern.ListColumn(r.ids[at:room], r.bounds[at:room], mask, dots, ld, s.margin[e], s.factor[e], scale, size, offset, uint32(lo))
	r.truncate(at + n)
	for ; odd != 0; odd &= odd - 1 { // the products overflowed, or have no error bound
		row := uint32(lo + bits.TrailingZeros64(odd))
		s.addScored(q, e, []uint32{row}, []float64{q.searchScore(row)})
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

package group

import "thresher/simd/_generate/neon"

// Vector registers of Codes besides its sums.
const (
	query neon.V = 16 // two for each half of the query's codes
	coded neon.V = 20 // two for a row, two others for the next
	Flip  neon.V = 31 // 0x80 in all bytes
)

// chains is how many sums are under way at a time: an instruction waits for the previous
// one of its own sum only.
const chains = 8

// Prepare sets the registers that Codes expects.
func (k *Kernel) Prepare() { k.Go("VMOVI $128, V%d.B16", Flip) }

// Codes sums the products of the codes from At to end, of the rows with one or both
// halves of the query's, in at most chains vectors from sums on. It returns the vectors
// whose lanes add up to the first row's sums, one for each half, then the next row's and
// so on.
//
// Products of bytes take two signed or two unsigned operands. The query's codes are
// signed, so the rows' highest bits are flipped, which subtracts 128: the sums lack 128
// times the sum of the query's codes. Without rows, Codes returns -128 times that sum.
func (k *Kernel) Codes(end R, halves int, sums neon.V) []neon.V {
	c := &part{Kernel: k, rows: max(len(k.Rows), 1), halves: halves, sums: sums}
	c.slots = min(chains/(c.rows*halves), Line/16)
	for i := range c.rows * halves * c.slots {
		k.Go("VMOVI $0, V%d.B16", sums+neon.V(i))
	}
	past, four := k.Label("past"), k.Label("four")
	k.Steps(Line, end, func() {
		c.line()
		k.Fetch(At)
	})
	k.Go("CMP %v, %v", end, At)
	k.Go("BGE %s", past)
	k.FetchLast(end)
	k.Steps(16, end, func() { c.few("FMOVQ", 16) })
	k.Go("SUB %v, %v, %v", At, end, T)
	k.Go("MOVD %v, %v", end, At)
	k.Go("TBZ $3, %v, %s", T, four)
	c.few("FMOVD", 8)
	k.At(four)
	k.Go("TBZ $2, %v, %s", T, past)
	c.few("FMOVS", 4)
	k.At(past)
	return c.fold()
}

// part is a call of Codes. A sum has slots, vectors that alternate over the products of
// 16 codes.
type part struct {
	*Kernel
	rows, halves, slots int
	sums                neon.V
}

// sum returns the vector of a slot of the sum of a row and a half.
func (c *part) sum(row, half, slot int) neon.V {
	return c.sums + neon.V((row*c.halves+half)*c.slots+slot)
}

// line takes a line of codes, half of it at a time.
func (c *part) line() {
	for half := range 2 {
		load := func(at R, to neon.V) {
			if half == 0 {
				c.Go("FLDPQ.P %d(%v), (F%d, F%d)", Line, at, to, to+1)
				return
			}
			c.Go("FLDPQ %d(%v), (F%d, F%d)", -Line/2, at, to, to+1)
		}
		c.take(load, 2*half, 2)
	}
}

// few takes as many codes as one load reads. The query's codes beyond them are zero.
func (c *part) few(load string, bytes int) {
	c.take(func(at R, to neon.V) { c.Go("%s.P %d(%v), F%d", load, bytes, at, to) }, 0, 1)
}

// take adds the products of vectors of codes that load provides; the vectors are numbered
// from from on.
func (c *part) take(load func(at R, to neon.V), from, vectors int) {
	for h, at := range []R{High, Low}[:c.halves] {
		load(at, query+neon.V(2*h))
	}
	add := func(row, i int, x neon.V) {
		for h := range c.halves {
			c.Dot("sdot", c.sum(row, h, (from+i)%c.slots), x, query+neon.V(2*h+i))
		}
	}
	for r, at := range c.Rows {
		x := coded + neon.V(r%2*2)
		load(at, x)
		for i := range vectors {
			c.Bits("eor", x+neon.V(i), x+neon.V(i), Flip)
		}
		for i := range vectors {
			add(r, i, x+neon.V(i))
		}
	}
	if len(c.Rows) == 0 {
		for i := range vectors {
			add(0, i, Flip)
		}
	}
}

// fold adds the slots of each sum.
func (c *part) fold() (sums []neon.V) {
	for row := range c.rows {
		for h := range c.halves {
			for n := c.slots / 2; n > 0; n /= 2 {
				for slot := range n {
					d := c.sum(row, h, slot)
					c.Same("add", neon.S4, d, d, c.sum(row, h, slot+n))
				}
			}
			sums = append(sums, c.sum(row, h, 0))
		}
	}
	return sums
}

package simd

// A panel holds the codes of 64 atoms (lanes) side by side: code c of lane i lies at
// (c/4)*256 + i*4 + c%4, biased by 128, so that one 64-byte load feeds sixteen lanes
// of a four-way dot product.
//
// The portable kernel multiplies three lanes at once. A 64-bit word holds the signed
// codes of lanes l, l+22 and l+44 at bits 0, 21 and 42; its product with a query's
// code adds to three sums, which stay separate while each fits 21 bits. Sums of 64
// products of 7-bit magnitudes do: 64*127*127 < 2^20.

const (
	// PanelLanes is how many atoms a panel holds side by side; masks have a bit for each.
	PanelLanes = 64

	wordLanes = 22 // words a coordinate: word l holds lanes l, l+22 and l+44
	wordPad   = 24 // words a coordinate as stored: three groups of eight
	laneBits  = 21
	// blockCodes is the number of coordinates whose products' sums fit 21 bits.
	blockCodes = 64
)

// wordsLen is the length of the scratch that expand needs for a panel of width codes.
func wordsLen(width int) int { return width * wordPad }

// expand converts the first width codes of a panel to words for panelDots, laid out
// [group of 8][coordinate][8]. width is a multiple of 4; len(words) >= wordsLen(width).
func expand(words []int64, panel []uint8, width int) {
	for g := 0; g < 3; g++ {
		dst := words[g*8*width : (g+1)*8*width]
		for c := 0; c < width; c++ {
			src := panel[c/4*256+c%4:]
			w := (*[8]int64)(dst[c*8:])
			for e := range w {
				l := g*8 + e
				if l >= wordLanes {
					w[e] = 0
					continue
				}
				v := int64(src[l*4]) - Bias + (int64(src[(l+22)*4])-Bias)<<laneBits
				if l+44 < PanelLanes {
					v += (int64(src[(l+44)*4]) - Bias) << (2 * laneBits)
				}
				w[e] = v
			}
		}
	}
}

// panelDots sets out to the 64 exact products of codes from to to of an expanded panel
// of width codes with the query's codes q, one int64 a coordinate, in [-127, 127].
func panelDots(words []int64, width, from, to int, q []int64, out *[PanelLanes]int32) {
	*out = [PanelLanes]int32{}
	for lo := from; lo < to; lo += blockCodes {
		hi := min(lo+blockCodes, to)
		for g := 0; g < 3; g++ {
			w := words[(g*width+lo)*8 : (g*width+hi)*8]
			x := q[lo:hi]
			var a, b, c, d, e, f, h, k int64
			for j, v := range x {
				p := (*[8]int64)(w[8*j:])
				a += p[0] * v
				b += p[1] * v
				c += p[2] * v
				d += p[3] * v
				e += p[4] * v
				f += p[5] * v
				h += p[6] * v
				k += p[7] * v
			}
			l := g * 8
			addLanes(out, l, a)
			addLanes(out, l+1, b)
			addLanes(out, l+2, c)
			addLanes(out, l+3, d)
			addLanes(out, l+4, e)
			addLanes(out, l+5, f)
			if g < 2 { // words 22 and 23 are padding
				addLanes(out, l+6, h)
				addLanes(out, l+7, k)
			}
		}
	}
}

// addLanes adds the three sums in word v to out[l], out[l+22] and out[l+44]. The
// lowest sum is the sign-extended low 21 bits; subtracting it leaves the next.
func addLanes(out *[PanelLanes]int32, l int, v int64) {
	a := v << (64 - laneBits) >> (64 - laneBits)
	v = (v - a) >> laneBits
	b := v << (64 - laneBits) >> (64 - laneBits)
	out[l] += int32(a)
	out[l+22] += int32(b)
	if l+44 < PanelLanes {
		out[l+44] += int32((v - b) >> laneBits)
	}
}

// panelDotsDirect is panelDots on the panel as stored, for so few queries that
// expanding would not pay. len(q) >= to; from and to are multiples of 4.
func panelDotsDirect(panel []uint8, from, to int, q []int8, out *[PanelLanes]int32) {
	*out = [PanelLanes]int32{}
	var bias int32
	for c := from; c < to; c += 4 {
		p := (*[4 * PanelLanes]uint8)(panel[c*PanelLanes:])
		x := (*[4]int8)(q[c:])
		q0, q1, q2, q3 := int32(x[0]), int32(x[1]), int32(x[2]), int32(x[3])
		bias += q0 + q1 + q2 + q3
		for l := range out {
			v := (*[4]uint8)(p[4*l:])
			out[l] += int32(v[0])*q0 + int32(v[1])*q1 + int32(v[2])*q2 + int32(v[3])*q3
		}
	}
	bias *= Bias
	for l := range out {
		out[l] -= bias
	}
}

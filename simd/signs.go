package simd

import "math"

// SignSums are an atom's sums for a look at its signs: over the head, its biased codes
// times the high and the low halves of the query's codes; over the rest, the query's
// high halves where the atom's bit is set. With bits read as signs +1 and -1, the
// rest's product is 2 Rest - sum Hi; the caller subtracts the last term.
type SignSums struct {
	HeadHi, HeadLo, Rest int32
}

// Signs sets out[i] to the sums of row ids[i] of codes. Rows are stride bytes apart:
// head biased codes, then width bits, rest coordinate j at bit j%8 of byte head+j/8.
// head is a multiple of 4, width of 32, both at most MaxScan. Only the first
// head+width codes of q are read. Rows of later ids are prefetched.
// len(out) >= len(ids).
func (kern Kernels) Signs(out []SignSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	kern.signs(out, codes, stride, ids, head, width, q)
}

// PackSigns sets bit j%8 of dst[j/8] if the sign bit of x[j] is clear, as it is for +0
// and not for -0. len(x) is a multiple of 32, len(dst) >= len(x)/8.
func (kern Kernels) PackSigns(dst []uint8, x []float32) {
	kern.packSigns(dst[:len(x)/8], x[:len(x)&^31])
}

// SumAbs returns sum |x_j| in float64, up to a factor of 1 +- (len(x)+8) 2^-53.
func (kern Kernels) SumAbs(x []float32) float64 { return kern.sumAbs(x) }

func signsGeneric(out []SignSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	end := head + width
	out, hi, lo := out[:len(ids)], q.Hi[:end], q.Lo[:head]
	var rows [rowGroup][]uint8
	for len(ids) > 0 {
		rows, ids = takeRows(codes, stride, ids, head+width/8)
		h, r := bothHalves(&rows, hi[:head], lo, 0), whereSet(&rows, hi[head:], head)
		n := min(rowGroup, len(out))
		for j := range n {
			s := &out[j]
			s.HeadHi, s.HeadLo = apart(h[j])
			s.Rest = r[j]
		}
		out = out[n:]
	}
}

// laneBytes is the number of bytes of bits whose sum fits a 16-bit lane.
const laneBytes = 32

// whereSet sums, for each row, the codes q whose bits are set; the bits start at byte
// from of the row. It adds in words of four 16-bit lanes, one a row.
func whereSet(rows *[rowGroup][]uint8, q []int8, from int) (sums [rowGroup]int32) {
	n := len(q) / 8
	r0, r1, r2, r3 := rows[0][from:][:n], rows[1][from:][:n], rows[2][from:][:n], rows[3][from:][:n]
	var sum uint64
	for i, b := range r0 {
		bits := uint64(b) | uint64(r1[i])<<16 | uint64(r2[i])<<32 | uint64(r3[i])<<48
		sum += eightCodes(bits, (*[8]int8)(q[8*i:]))
		if i%laneBytes == laneBytes-1 {
			addRows(&sums, sum)
			sum = 0
		}
	}
	addRows(&sums, sum)
	return sums
}

// addRows adds the four lanes of word to sums.
func addRows(sums *[rowGroup]int32, word uint64) {
	for j := range sums {
		lane := int16(word)
		sums[j] += int32(lane)
		word = (word - uint64(lane)) >> 16
	}
}

// eightCodes sums, in each lane of 16 bits, the codes whose bits are set there: one
// multiplication serves all four lanes.
func eightCodes(bits uint64, q *[8]int8) uint64 {
	const low = 0x0001000100010001
	return bits&low*uint64(q[0]) + bits>>1&low*uint64(q[1]) + bits>>2&low*uint64(q[2]) + bits>>3&low*uint64(q[3]) +
		bits>>4&low*uint64(q[4]) + bits>>5&low*uint64(q[5]) + bits>>6&low*uint64(q[6]) + bits>>7&low*uint64(q[7])
}

func packSignsGeneric(dst []uint8, x []float32) {
	for i := range dst {
		var signs uint32 // the latest bit on top
		for _, v := range (*[8]float32)(x[8*i:]) {
			signs = signs>>1 | math.Float32bits(v)&(1<<31)
		}
		dst[i] = ^uint8(signs >> 24)
	}
}

func sumAbsGeneric(x []float32) float64 {
	var s, t float64
	for len(x) >= 2 {
		s += math.Abs(float64(x[0]))
		t += math.Abs(float64(x[1]))
		x = x[2:]
	}
	if len(x) == 1 {
		s += math.Abs(float64(x[0]))
	}
	return s + t
}

package simd

import (
	"encoding/binary"
	"math"
)

// SignSums are an atom's sums for a look at its signs: over the head, of unsigned
// (biased) codes times the query's high and low halves; over the rest, of the
// query's high halves where the atom's bit is set. With signs +1 and -1 for the
// bits the rest's product is 2 Rest less the sum of those halves, which the caller
// takes.
type SignSums struct {
	HeadHi, HeadLo, Rest int32
}

// Signs sums rows ids of codes, stride bytes apart: head biased codes, then width
// bits, bit j%8 of byte head+j/8 for rest coordinate j. head is a multiple of 4,
// width of 32, both at most MaxScan. Of q the codes of head and rest are read and
// nothing beyond. Rows of the ids to come are fetched ahead. len(out) >= len(ids).
func (l Level) Signs(out []SignSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	l.signs(out, codes, stride, ids, head, width, q)
}

// PackSigns writes the signs of x, whose length is a multiple of 32, as bits to
// dst[:len(x)/8]: bit j%8 of byte j/8 is 1 where the sign bit of x[j] is 0, which
// it is for +0 and not for -0.
func (l Level) PackSigns(dst []uint8, x []float32) { l.packSigns(dst[:len(x)/8], x[:len(x)&^31]) }

// SumAbs returns the sum of |x_j| in float64, up to a factor of
// 1 +- (len(x)+8) 2^-53.
func (l Level) SumAbs(x []float32) float64 { return l.sumAbs(x) }

func signsGeneric(out []SignSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	end := head + width
	out, hi, lo := out[:len(ids)], q.Hi[:end], q.Lo[:end]
	var rows [rowGroup][]uint8
	for len(ids) > 0 {
		rows, ids = takeRows(codes, stride, ids, head+width/8)
		h, r := bothHalves(&rows, hi[:head], lo[:head], 0), whereSet(&rows, hi[head:], head)
		n := min(rowGroup, len(out))
		for j := range n {
			s := &out[j]
			s.HeadHi, s.HeadLo = apart(h[j])
			s.Rest = r[j]
		}
		out = out[n:]
	}
}

// laneSums is how many codes a lane of 16 bits holds the sum of.
const laneSums = 256

// whereSet sums the codes q, a multiple of 32, where bits from a place in the rows
// on are set. A word has a lane of 16 bits for each row: of it 16 bits of the row,
// and then bit by bit, which one product gives to all lanes, the sum.
func whereSet(rows *[rowGroup][]uint8, q []int8, from int) (sums [rowGroup]int32) {
	n := len(q) / 8
	r0, r1, r2, r3 := rows[0][from:][:n], rows[1][from:][:n], rows[2][from:][:n], rows[3][from:][:n]
	for len(q) > 0 {
		block := q[:min(laneSums, len(q))]
		q = q[len(block):]
		var sum uint64
		for len(block) >= 16 && len(r0) >= 2 && len(r1) >= 2 && len(r2) >= 2 && len(r3) >= 2 {
			bits := uint64(binary.LittleEndian.Uint16(r0)) | uint64(binary.LittleEndian.Uint16(r1))<<16 |
				uint64(binary.LittleEndian.Uint16(r2))<<32 | uint64(binary.LittleEndian.Uint16(r3))<<48
			for _, v := range (*[16]int8)(block) {
				sum += (bits & 0x0001000100010001) * uint64(v)
				bits >>= 1
			}
			block, r0, r1, r2, r3 = block[16:], r0[2:], r1[2:], r2[2:], r3[2:]
		}
		for j := range sums {
			lane := int16(sum)
			sums[j] += int32(lane)
			sum = (sum - uint64(lane)) >> 16
		}
	}
	return sums
}

func packSignsGeneric(dst []uint8, x []float32) {
	for i := range dst {
		var b uint8
		for j, v := range (*[8]float32)(x[8*i:]) {
			b |= uint8(^math.Float32bits(v)>>31) << j
		}
		dst[i] = b
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

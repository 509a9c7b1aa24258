package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"thresher/simd/_generate/asm"
)

// avx512 adds four products of unsigned and signed bytes to a lane at once. A vector
// holds 64 coordinates: quadword b has bit b of eight bytes.
type avx512 struct {
	*kernel
	zero           VecVirtual
	bits           VecVirtual    // bit b of each byte of quadword b
	words, bytes   VecVirtual    // permutations that reorder codes
	weights        VecVirtual    // the bits' weights after two rows are folded
	stored         VecVirtual    // the order of sums in memory
	half           OpmaskVirtual // the doublewords of 32 bytes
	tail           OpmaskVirtual // the head's remainder of 32 bytes
	fullHead       Mem           // where the last 32 codes of the head begin
	full64, full16 Mem           // where the last 64 and the last 16 bytes of bits begin
	full8          Mem           // and the last 8
}

func (a *avx512) prepare() {
	constant := func(m Mem) VecVirtual {
		v := ZMM()
		VMOVDQU64(m, v)
		return v
	}
	a.bits = constant(table("bits512", 8, func(i int) Constant { return U64(0x0101010101010101 << i) }))
	a.words = constant(table("words512", 32, func(i int) Constant { return U16(i%8*4 + i/8) }))
	a.bytes = constant(table("bytes512", 64, func(i int) Constant { return U8(i%8*2 + i/8%2) }))
	a.weights = constant(table("weights512", 16, func(i int) Constant { return U32(i/4*2 + i%2) }))
	a.stored = constant(table("stored512", 16, func(i int) Constant { return U32(i%3*4 + i/3) }))
	a.zero = ZMM()
	VPXORD(a.zero, a.zero, a.zero)
	a.fullHead, a.full64, a.full16, a.full8 = asm.Before(a.head, 32), asm.Before(a.end, 64), asm.Before(a.end, 16), asm.Before(a.end, 8)

	t := GP64()
	MOVQ(U32(0xff), t)
	a.half, a.tail = K(), K()
	KMOVQ(t, a.half)
	MOVQ(a.head, RCX)
	ANDQ(U8(31), RCX)
	SHRQ(U8(2), RCX)
	MOVQ(U32(1), t)
	SHLQ(CL, t)
	DECQ(t)
	KMOVQ(t, a.tail)
}

// order transposes eight bytes of eight bits to eight bits of eight bytes.
func (a *avx512) order(from, to Mem) {
	store := func(q VecVirtual) {
		VPERMW(q, a.words, q)
		VPSHUFB(a.bytes, q, q)
		VMOVDQU64(q, to)
	}
	q := ZMM()
	a.steps(8, a.full8, func() {
		VMOVDQU64(from, q)
		store(q)
	})
	a.left(a.end, func() {
		VMOVDQU32_Z(from, a.half, q)
		store(q)
	})
}

func (a *avx512) sum() {
	head, rest := a.sumHead(), a.sumRest()
	// Lanes still hold sums of bits of one weight, so the weight is removed here.
	a.fold(rest)
	VPSRAVD(a.weights, rest[0], rest[0])
	VPSRAVD(a.weights, rest[1], rest[1])
	a.fold(rest[:2])
	a.fold(head)
	a.fold(head[:2])
	h, r, t := head[0], rest[0], ZMM()
	VSHUFI64X2(U8(0x4e), r, r, t)
	VPADDD(t, r, r)
	VSHUFI64X2(U8(0x88), r, h, t)
	VSHUFI64X2(U8(0xdd), r, h, h)
	VPADDD(t, h, h)
	// Combine four rows' high halves, low halves and rest, the rest twice.
	VPERMD(h, a.stored, h)
	out := Mem{Base: Load(Param("out"), GP64())}
	VMOVDQU32(h.AsY(), out)
	VEXTRACTI32X4(U8(2), h, out.Offset(32))
}

// sumHead sums the head with both halves of the query's codes: sums of high halves in the
// lower half of a row's vector, of low halves in the upper.
func (a *avx512) sumHead() []VecVirtual {
	sums := a.zeros(group)
	XORQ(a.at, a.at)
	a.steps(32, a.fullHead, func() {
		q := ZMM()
		VBROADCASTI64X4(a.place(a.hi), q)
		VINSERTI64X4(U8(1), a.place(a.lo), q, q)
		for i, row := range a.rows {
			x := ZMM()
			VBROADCASTI64X4(a.place(row), x)
			VPDPBUSD(q, x, sums[i])
			a.fetch(i, a.at, 0)
		}
	})
	a.left(a.head, func() {
		q := a.tails(a.hi, a.lo)
		for i, row := range a.rows {
			VPDPBUSD(q, a.tails(row, row), sums[i])
			a.fetch(i, a.at, 0)
		}
	})
	return sums
}

// tails loads the head's remainder of 32 codes at two places.
func (a *avx512) tails(low, high Register) VecVirtual {
	x, y := ZMM(), ZMM()
	VMOVDQU32_Z(a.place(low), a.tail, x)
	VMOVDQU32_Z(a.place(high), a.tail, y)
	VINSERTI64X4(U8(1), y.AsY(), x, x)
	return x
}

// sumRest sums the codes whose bits are set, each times its bit's weight. Two
// accumulators a row halve the latency.
func (a *avx512) sumRest() []VecVirtual {
	sums := a.zeros(2 * group)
	add := func(and func(...Op), disp int, sums []VecVirtual) {
		q := ZMM()
		VMOVDQU64(a.restPlace().Offset(8*disp), q)
		for i, row := range a.rows {
			x := ZMM()
			and(a.place(row).Offset(disp), a.bits, x)
			VPDPBUSD(q, x, sums[i])
		}
	}
	MOVQ(a.head, a.at)
	a.steps(line, a.full64, func() {
		for i := range group {
			add(VPANDQ_BCST, 16*i, sums)
			add(VPANDQ_BCST, 16*i+8, sums[group:])
			a.fetch(i, a.at, line-1)
		}
	})
	a.fetchLast()
	a.steps(16, a.full16, func() {
		add(VPANDQ_BCST, 0, sums)
		add(VPANDQ_BCST, 8, sums[group:])
	})
	a.steps(8, a.full8, func() { add(VPANDQ_BCST, 0, sums) })
	a.left(a.end, func() { add(VPANDD_BCST, 0, sums) })
	for i := range group {
		VPADDD(sums[group+i], sums[i], sums[i])
	}
	return sums[:group]
}

// fold adds neighbouring lanes. In each 128 bits, two vectors x and y become the sums of
// x followed by those of y. The results move to the front.
func (a *avx512) fold(v []VecVirtual) {
	for i := 0; i < len(v); i += 2 {
		x, y, t := v[i], v[i+1], ZMM()
		VSHUFPS(U8(0x88), y, x, t)
		VSHUFPS(U8(0xdd), y, x, x)
		VPADDD(t, x, v[i/2])
	}
}

// zeros returns n zeroed vectors. Copying one is free, and avo does not know that a
// VPXORD of a register with itself does not depend on its old value.
func (a *avx512) zeros(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = ZMM()
		VMOVDQA64(a.zero, v[i])
	}
	return v
}

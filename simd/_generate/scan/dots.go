package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// atLeast is the ordered, quiet predicate >=.
const atLeast = 29

// everySecond returns the indices of the even, then the odd doublewords of two vectors of sixteen.
func everySecond() Mem {
	table := GLOBL("everySecond", RODATA|NOPTR)
	for which := range 2 {
		for i := range 16 {
			DATA(64*which+4*i, U32(2*i+which))
		}
	}
	return table
}

// avx512 multiplies with VPDPBUSD, which takes biased codes as they are.
type avx512 struct {
	everySecond Mem
}

func (avx512) vector() VecVirtual { return ZMM() }
func (avx512) bytes() int         { return 64 }
func (avx512) constants()         {}
func (avx512) end([]VecVirtual)   {}

func (avx512) begin(sums []VecVirtual, bias Mem) {
	b := ZMM()
	VPBROADCASTD(bias, b)
	VPXORD(sums[0], sums[0], sums[0])
	VPSUBD(b, sums[0], sums[0])
	for _, v := range sums[1:] {
		VMOVDQA64(sums[0], v)
	}
}

func (avx512) step(sums [][]VecVirtual, panel Mem, queries []Mem) {
	var p []VecVirtual
	for j := range sums[0] {
		v := ZMM()
		VMOVDQU64(panel.Offset(64*j), v)
		p = append(p, v)
	}
	for i := range sums {
		q := ZMM()
		VPBROADCASTD(queries[i], q)
		for j, v := range sums[i] {
			VPDPBUSD(q, p[j], v)
		}
	}
}

func (avx512) mask(to Mem, values []VecVirtual, cut VecVirtual) {
	var k []OpmaskVirtual
	for _, v := range values {
		m := K()
		VCMPPS(U8(atLeast), cut, v, m)
		k = append(k, m)
	}
	lo, hi, all := K(), K(), K()
	KUNPCKWD(k[0], k[1], lo)
	KUNPCKWD(k[2], k[3], hi)
	KUNPCKDQ(lo, hi, all)
	KMOVQ(all, to)
}

func (a avx512) every2(from Mem, which int) VecVirtual {
	low, v := ZMM(), ZMM()
	VMOVDQU32(a.everySecond.Offset(64*which), v)
	VMOVDQU32(from, low)
	VPERMI2D(from.Offset(64), low, v)
	return v
}

// avx2 multiplies with VPMADDUBSW, whose 16-bit results overflow for two products of a
// biased code. So it removes the bias, replaces the query's code q by |q|, and multiplies
// |q| with the atom's code x, or where q < 0 with the complement ~x = -x-1, which takes
// one operation together with the bias where -x takes two. Two products, 2*127*128 at
// most, fit. The error from -x-1 is the same for every atom: an atom of zeros would get
// just that, so its sum is computed alongside and subtracted at the end.
type avx2 struct {
	bias, ones, zero VecVirtual
	nothing          VecVirtual // the sums of an atom of zeros
}

func (*avx2) vector() VecVirtual { return YMM() }
func (*avx2) bytes() int         { return 32 }

func (a *avx2) constants() {
	fill := func(bits uint32) VecVirtual {
		g, v := GP32(), YMM()
		MOVL(U32(bits), g)
		VMOVD(g, v.AsX())
		VPBROADCASTD(v.AsX(), v)
		return v
	}
	a.bias, a.ones = fill(0x80808080), fill(0x00010001)
	a.zero, a.nothing = YMM(), YMM()
	VPXOR(a.zero, a.zero, a.zero)
}

func (a *avx2) begin(sums []VecVirtual, _ Mem) {
	VPXOR(a.nothing, a.nothing, a.nothing)
	for _, v := range sums {
		VPXOR(v, v, v)
	}
}

func (a *avx2) end(sums []VecVirtual) {
	for _, v := range sums {
		VPSUBD(a.nothing, v, v)
	}
}

func (a *avx2) step(sums [][]VecVirtual, panel Mem, queries []Mem) {
	q, size, sign := YMM(), YMM(), YMM()
	VPBROADCASTD(queries[0], q)
	VPABSB(q, size)
	VPCMPGTB(q, a.zero, sign)
	flip := q
	VPXOR(sign, a.bias, flip)
	add := func(x, sum VecVirtual) {
		VPMADDUBSW(x, size, x)
		VPMADDWD(a.ones, x, x)
		VPADDD(x, sum, sum)
	}
	add(sign, a.nothing)
	for j, sum := range sums[0] {
		x := YMM()
		VPXOR(panel.Offset(32*j), flip, x)
		add(x, sum)
	}
}

func (*avx2) every2(from Mem, which int) VecVirtual {
	v := YMM()
	VMOVUPS(from, v)
	VSHUFPS(U8(0x88+0x55*which), from.Offset(32), v, v) // of each half of both
	VPERMQ(U8(0xd8), v, v)
	return v
}

func (*avx2) mask(to Mem, values []VecVirtual, cut VecVirtual) {
	all := GP64()
	for j := len(values) - 1; j >= 0; j-- {
		v := values[j]
		VCMPPS(U8(atLeast), cut, v, v)
		if j == len(values)-1 {
			VMOVMSKPS(v, all.As32())
			continue
		}
		bits := GP64()
		VMOVMSKPS(v, bits.As32())
		SHLQ(U8(8), all)
		ORQ(bits, all)
	}
	MOVQ(all, to)
}

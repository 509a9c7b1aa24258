package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// notLess is the quiet predicate of VCMPPS for "not less, or NaN".
const notLess = 0x15

// dense tests 16 columns, in one vector or two, in n rows. The columns' terms stay in
// registers; a row's bits go to its mask's place in memory. No product is fused with a
// sum, as in the portable test.
func dense(name string, vector func() VecVirtual, vectors int) {
	TEXT(name, NOSPLIT, "func(dots *float32, ld int, margin, factor, tau, scale, size, offset *float32, n int, masks *uint16)")
	Doc(name + " tests 16 columns of n rows; masks are 8 bytes apart.")
	Pragma("noescape")
	bytes := 64 / vectors
	dots, ld := argument("dots"), distance("ld")
	columns := func(name string) []VecVirtual {
		at, all := argument(name), make([]VecVirtual, vectors)
		for j := range all {
			all[j] = vector()
			VMOVUPS(Mem{Base: at, Disp: bytes * j}, all[j])
		}
		return all
	}
	margin, factor, tau := columns("margin"), columns("factor"), columns("tau")
	terms := []GPVirtual{argument("scale"), argument("size"), argument("offset")}
	n, masks := argument("n"), argument("masks")
	i := GP64()
	XORQ(i, i)

	Label("row")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	var row [3]VecVirtual
	for t, at := range terms {
		row[t] = vector()
		VBROADCASTSS(Mem{Base: at, Index: i, Scale: 4}, row[t])
	}
	sums := make([]VecVirtual, vectors)
	for j := range sums {
		sum, term := vector(), vector()
		VMULPS(Mem{Base: dots, Disp: bytes * j}, row[0], sum)
		VMULPS(margin[j], row[1], term)
		VADDPS(term, sum, sum)
		VMULPS(factor[j], row[2], term)
		VADDPS(term, sum, sum)
		sums[j] = sum
	}
	storeNotLess(sums, tau, Mem{Base: masks, Index: i, Scale: 8})
	ADDQ(ld, dots)
	INCQ(i)
	JMP(LabelRef("row"))
	Label("done")
	VZEROUPPER()
	RET()
}

// storeNotLess writes a bit for each of 16 floats, in one vector or two: whether it is not below
// that of least, or either is a NaN.
func storeNotLess(floats, least []VecVirtual, to Mem) {
	if len(floats) == 1 {
		k := K()
		VCMPPS(U8(notLess), least[0], floats[0], k)
		KMOVW(k, to)
		return
	}
	low, high := GP32(), GP32()
	VCMPPS(U8(notLess), least[0], floats[0], floats[0])
	VMOVMSKPS(floats[0], low)
	VCMPPS(U8(notLess), least[1], floats[1], floats[1])
	VMOVMSKPS(floats[1], high)
	SHLL(U8(8), high)
	ORL(high, low)
	MOVW(low.As16(), to)
}

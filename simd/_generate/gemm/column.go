package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// denseColumn tests 16 rows at a time, in one vector or two, for one query, whose terms stay in
// registers. No product is fused with a sum, as in the portable test.
func denseColumn(name string, vector func() VecVirtual, vectors int) {
	TEXT(name, NOSPLIT, "func(dots, scale, size, offset *float32, blocks int, margin, factor, tau float32, masks *uint16)")
	Doc(name + " tests one column of blocks of 16 rows.")
	Pragma("noescape")
	bytes := 64 / vectors
	streams := []GPVirtual{argument("dots"), argument("scale"), argument("size"), argument("offset")}
	blocks, masks := argument("blocks"), argument("masks")
	column := func(name string) VecVirtual {
		v := vector()
		b, err := Param(name).Resolve()
		if err != nil {
			panic(err)
		}
		VBROADCASTSS(b.Addr, v)
		return v
	}
	margin, factor, tau := column("margin"), column("factor"), column("tau")

	Label("block")
	SUBQ(U8(1), blocks)
	JLT(LabelRef("done"))
	sums := make([]VecVirtual, vectors)
	for j := range sums {
		at := func(i int) Mem { return Mem{Base: streams[i], Disp: bytes * j} }
		sum, term := vector(), vector()
		VMOVUPS(at(0), sum)
		VMULPS(at(1), sum, sum)
		VMULPS(at(2), margin, term)
		VADDPS(term, sum, sum)
		VMULPS(at(3), factor, term)
		VADDPS(term, sum, sum)
		sums[j] = sum
	}
	storeNotLess(sums, []VecVirtual{tau, tau}, Mem{Base: masks})
	for _, s := range streams {
		ADDQ(U8(64), s)
	}
	ADDQ(U8(2), masks)
	JMP(LabelRef("block"))
	Label("done")
	VZEROUPPER()
	RET()
}

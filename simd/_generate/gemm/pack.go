package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// pack transposes blocks of 8 vectors by 8 entries: it interleaves pairs and then quads
// of vectors within the halves of registers, then exchanges halves.
func pack() {
	TEXT("packAVX2", NOSPLIT, "func(panel *float32, width int, src *float32, ld, blocks int)")
	Doc("packAVX2 writes 8 vectors, of 8 entries a block, into 8 columns of a panel.")
	Pragma("noescape")
	panel, width := argument("panel"), distance("width")
	src, ld := argument("src"), distance("ld")
	blocks := argument("blocks")
	ld3 := times(ld, ld, 2)
	upper := times(src, ld, 4)

	Label("block")
	SUBQ(U8(1), blocks)
	JLT(LabelRef("done"))
	var x, y [8]VecVirtual
	for i := range x {
		x[i], y[i] = YMM(), YMM()
	}
	for i, base := range []GPVirtual{src, upper} {
		VMOVUPS(Mem{Base: base}, x[4*i])
		VMOVUPS(Mem{Base: base, Index: ld, Scale: 1}, x[4*i+1])
		VMOVUPS(Mem{Base: base, Index: ld, Scale: 2}, x[4*i+2])
		VMOVUPS(Mem{Base: base, Index: ld3, Scale: 1}, x[4*i+3])
		ADDQ(U8(32), base)
	}
	for i := 0; i < 8; i += 2 {
		VUNPCKLPS(x[i+1], x[i], y[i])
		VUNPCKHPS(x[i+1], x[i], y[i+1])
	}
	for i := 0; i < 8; i += 4 {
		for j := range 2 {
			VSHUFPS(U8(0x44), y[i+2+j], y[i+j], x[i+2*j])
			VSHUFPS(U8(0xee), y[i+2+j], y[i+j], x[i+2*j+1])
		}
	}
	for i := range 4 {
		VPERM2F128(U8(0x20), x[i+4], x[i], y[i])
		VPERM2F128(U8(0x31), x[i+4], x[i], y[i+4])
	}
	for _, v := range y {
		VMOVUPS(v, Mem{Base: panel})
		ADDQ(width, panel)
	}
	JMP(LabelRef("block"))
	Label("done")
	VZEROUPPER()
	RET()
}

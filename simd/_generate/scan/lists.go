package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// below is the ordered, quiet predicate <.
const below = 17

// everywhere broadcasts a parameter of 32 bits to every lane.
func everywhere(param string) VecVirtual {
	p, err := Param(param).Resolve()
	if err != nil {
		panic(err)
	}
	v := YMM()
	VBROADCASTSS(p.Addr, v)
	return v
}

// selects moves eight entries at a time to the front.
func selects(places Mem) {
	TEXT("selectAVX2", NOSPLIT, "func(toIDs *uint32, toBounds *float32, ids *uint32, bounds *float32, n int, lo, hi float32) int")
	Pragma("noescape")
	Doc("selectAVX2 is Select for n a multiple of 8, n >= 8.")
	toIDs := Load(Param("toIDs"), GP64())
	toBounds := Load(Param("toBounds"), GP64())
	ids := Load(Param("ids"), GP64())
	bounds := Load(Param("bounds"), GP64())
	left := Load(Param("n"), GP64())
	lo, hi := everywhere("lo"), everywhere("hi")
	table, n := GP64(), GP64()
	LEAQ(places, table)
	XORQ(n, n)
	Label("loop")
	b, from, to, order, id := YMM(), YMM(), YMM(), YMM(), YMM()
	mask := GP32()
	VMOVUPS(Mem{Base: bounds}, b)
	VCMPPS(U8(atLeast), lo, b, from)
	VCMPPS(U8(below), hi, b, to)
	VANDPS(from, to, to)
	VMOVMSKPS(to, mask)
	VPMOVZXBD(Mem{Base: table, Index: mask.As64(), Scale: 8}, order)
	VPERMD(Mem{Base: ids}, order, id)
	VPERMPS(b, order, b)
	VMOVDQU(id, Mem{Base: toIDs, Index: n, Scale: 4})
	VMOVUPS(b, Mem{Base: toBounds, Index: n, Scale: 4})
	POPCNTL(mask, mask)
	ADDQ(mask.As64(), n)
	ADDQ(I8(32), ids)
	ADDQ(I8(32), bounds)
	SUBQ(I8(8), left)
	JNE(LabelRef("loop"))
	VZEROUPPER()
	Store(n, ReturnIndex(0))
	RET()
}

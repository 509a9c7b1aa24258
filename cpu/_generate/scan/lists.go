package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// below is the ordered, quiet comparison <.
const below = 17

// places is the table of the numbers of the bits set in a byte, lowest first:
// which of eight lanes to move to the front. Moving them by it takes about as
// long as compressing sixteen with AVX-512, and less for short lists.
func places() Mem {
	table := GLOBL("places", RODATA|NOPTR)
	for mask := range 256 {
		var order uint64
		n := 0
		for i := range 8 {
			if mask>>i&1 != 0 {
				order |= uint64(i) << (8 * n)
				n++
			}
		}
		DATA(8*mask, U64(order))
	}
	return table
}

// everywhere returns a parameter of 32 bits in every lane.
func everywhere(param string) VecVirtual {
	p, err := Param(param).Resolve()
	if err != nil {
		panic(err)
	}
	v := YMM()
	VBROADCASTSS(p.Addr, v)
	return v
}

// collect stores eight entries for each byte of the mask, from where those
// selected so far end.
func collect(places Mem) {
	TEXT("collectAVX2", NOSPLIT, "func(ids *uint32, bounds *float32, mask uint64, values *float32, base uint32, add float32)")
	Pragma("noescape")
	Doc("collectAVX2 is Collect.")
	ids := Load(Param("ids"), GP64())
	bounds := Load(Param("bounds"), GP64())
	mask := Load(Param("mask"), GP64()).(GPVirtual)
	values := Load(Param("values"), GP64())
	base, add := everywhere("base"), everywhere("add")
	table, eight := GP64(), YMM()
	MOVL(U32(8), table.As32())
	VMOVD(table.As32(), eight.AsX())
	VPBROADCASTD(eight.AsX(), eight)
	LEAQ(places, table)
	for j := range 8 {
		group, order, id, b := GP32(), YMM(), YMM(), YMM()
		MOVBLZX(mask.As8(), group)
		VPMOVZXBD(Mem{Base: table, Index: group.As64(), Scale: 8}, order)
		VPADDD(base, order, id)
		VPERMPS(Mem{Base: values, Disp: 32 * j}, order, b)
		VADDPS(add, b, b)
		VMOVDQU(id, Mem{Base: ids})
		VMOVUPS(b, Mem{Base: bounds})
		if j == 7 {
			break
		}
		POPCNTL(group, group)
		LEAQ(Mem{Base: ids, Index: group.As64(), Scale: 4}, ids)
		LEAQ(Mem{Base: bounds, Index: group.As64(), Scale: 4}, bounds)
		SHRQ(U8(8), mask)
		VPADDD(eight, base, base)
	}
	VZEROUPPER()
	RET()
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

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// equal is the quiet predicate of VCMPPS for "equal, and no NaN".
const equal = 0

// list lists those of 64 rows of a column whose bits are set, 16 at a time.
func list() {
	TEXT("listAVX512", NOSPLIT, "func(ids *uint32, bounds *float32, mask uint64, dots *float32, ld int, margin, factor float32, "+
		"scale, size, offset *float32, base uint32) (n int, odd uint64)")
	Doc("listAVX512 is ListColumn for 64 rows.")
	Pragma("noescape")
	broadcast := func(name string) VecVirtual {
		v := ZMM()
		b, err := Param(name).Resolve()
		if err != nil {
			panic(err)
		}
		VBROADCASTSS(b.Addr, v)
		return v
	}
	ids, bounds, mask, dots, ld := argument("ids"), argument("bounds"), argument("mask"), argument("dots"), argument("ld")
	scale, size, offset := argument("scale"), argument("size"), argument("offset")
	margin, factor, row := broadcast("margin"), broadcast("factor"), broadcast("base")
	lanes := GLOBL("listed", RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(uint32(i)))
	}
	place, zero, sixteen := ZMM(), ZMM(), ZMM()
	VPADDD(lanes, row, row)
	VPBROADCASTD(ld.As32(), place)
	VPMULLD(lanes, place, place)
	VPXORD(zero, zero, zero)
	step := GP32()
	MOVL(U32(16), step)
	VPBROADCASTD(step, sixteen)
	n, odd, left := GP64(), GP64(), GP64()
	XORQ(n, n)
	XORQ(odd, odd)
	MOVQ(U32(4), left)
	SHLQ(U8(6), ld) // bytes of 16 rows

	Label("group")
	some, read := K(), K()
	KMOVW(mask.As32(), some)
	KMOVW(mask.As32(), read)
	bound, term := ZMM(), ZMM()
	VPXORD(bound, bound, bound)
	VGATHERDPS(Mem{Base: dots, Index: place, Scale: 4}, read, bound)
	VMULPS(Mem{Base: scale}, bound, bound)
	VMULPS(Mem{Base: size}, margin, term)
	VADDPS(term, bound, bound)
	VMULPS(Mem{Base: offset}, factor, term)
	VADDPS(term, bound, bound)
	VSUBPS(bound, bound, term)
	finite := K()
	VCMPPS(U8(equal), zero, term, some, finite)
	KANDNW(some, finite, some)
	listed, others := GP32(), GP32()
	KMOVW(finite, listed)
	KMOVW(some, others)
	RORQ(U8(16), odd)
	ORQ(others.As64(), odd)
	compressed, rows := ZMM(), ZMM()
	VCOMPRESSPS_Z(bound, finite, compressed)
	VMOVUPS(compressed, Mem{Base: bounds, Index: n, Scale: 4})
	VPCOMPRESSD_Z(row, finite, rows)
	VMOVDQU32(rows, Mem{Base: ids, Index: n, Scale: 4})
	POPCNTL(listed, listed)
	ADDQ(listed.As64(), n)
	VPADDD(sixteen, row, row)
	SHRQ(U8(16), mask)
	ADDQ(ld, dots)
	for _, at := range []GPVirtual{scale, size, offset} {
		ADDQ(U8(64), at)
	}
	DECQ(left)
	JNE(LabelRef("group"))
	RORQ(U8(16), odd)
	VZEROUPPER()
	Store(n, Return("n"))
	Store(odd, Return("odd"))
	RET()
}

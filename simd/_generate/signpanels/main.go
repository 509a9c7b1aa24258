// Command signpanels writes the kernels for panels of signs:
//
//	go run ./signpanels -out ../signpanels_amd64.s -stubs ../signpanels_stubs_amd64.go -pkg simd
//
// A byte of a line has eight signs of one atom. Each half of it is an index into a table of 16 sums of the query's
// codes, which a shuffle of bytes looks up for 32 or 64 atoms at once. Two entries fit a byte; the sums of bytes at
// even places and at odd ones are kept in words: those of odd ones by a shift, and those of both together by an
// addition of words, from which the odd ones are subtracted at the end.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64,!noasm,!purego")
	avx512()
	avx2()
	Generate()
}

// kernel holds the arguments of a kernel.
type kernel struct {
	sums, panel, codes, tables, head, lines Register
}

func text(name string) kernel {
	TEXT("signPanel"+name, NOSPLIT, "func(sums *int32, panel *uint8, codes *int8, head int, tables *uint8, lines int)")
	Doc("signPanel" + name + " is SignPanel of head codes and of so many lines of signs.")
	Pragma("noescape")
	load := func(name string) Register { return Load(Param(name), GP64()) }
	return kernel{load("sums"), load("panel"), load("codes"), load("tables"), load("head"), load("lines")}
}

// loop emits a loop of body while n, which each turn lessens by step, is above 0.
func loop(name string, n Register, step uint64, body func()) {
	TESTQ(n, n)
	JLE(LabelRef(name + "Done"))
	Label(name)
	body()
	SUBQ(U8(step), n)
	JG(LabelRef(name))
	Label(name + "Done")
}

// table emits a constant of n entries.
func table(name string, n int, entry func(i int) Constant) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range n {
		c := entry(i)
		DATA(i*c.Bytes(), c)
	}
	return m
}

func avx512() {
	k := text("AVX512")
	var head [4]VecVirtual
	zero := ZMM()
	VPXORD(zero, zero, zero)
	for i := range head {
		head[i] = ZMM()
		VMOVDQA64(zero, head[i])
	}
	loop("head512", k.head, 4, func() {
		q, v := ZMM(), ZMM()
		VPBROADCASTD(Mem{Base: k.codes}, q)
		for i := range head {
			VMOVDQU64(Mem{Base: k.panel, Disp: 64 * i}, v)
			VPDPBUSD(q, v, head[i])
		}
		ADDQ(U32(256), k.panel)
		ADDQ(U8(4), k.codes)
	})
	both, odd, low := ZMM(), ZMM(), ZMM()
	VMOVDQA64(zero, both)
	VMOVDQA64(zero, odd)
	low8 := table("low512", 1, func(int) Constant { return U32(0x0f0f0f0f) })
	VPBROADCASTD(low8, low)
	loop("line512", k.lines, 1, func() {
		v, h, t, u := ZMM(), ZMM(), ZMM(), ZMM()
		VMOVDQU64(Mem{Base: k.panel}, v)
		VBROADCASTI32X4(Mem{Base: k.tables}, t)
		VBROADCASTI32X4(Mem{Base: k.tables, Disp: 16}, u)
		VPSRLW(U8(4), v, h)
		VPANDD(low, v, v)
		VPANDD(low, h, h)
		VPSHUFB(v, t, t)
		VPSHUFB(h, u, u)
		VPADDB(t, u, u)
		VPADDW(u, both, both)
		VPSRLW(U8(8), u, u)
		VPADDW(u, odd, odd)
		ADDQ(U8(64), k.panel)
		ADDQ(U8(32), k.tables)
	})
	even := ZMM()
	VPSLLW(U8(8), odd, even)
	VPSUBW(even, both, even)
	VPADDW(even, even, even)
	VPADDW(odd, odd, odd)
	// Words of 32 atoms in their order, then pairs of a head and a rest.
	words := table("places512", 64, func(i int) Constant { return U16(i/2 + i%2*32) })
	pairs := table("pairs512", 32, func(i int) Constant { return U32(i/2 + i%2*16) })
	for half := range 2 {
		w := ZMM()
		VMOVDQU64(words.Offset(64*half), w)
		VPERMI2W(odd, even, w)
		high := YMM()
		VEXTRACTI64X4(U8(1), w, high)
		for quarter, y := range []VecVirtual{w.AsY().(VecVirtual), high} {
			rest := ZMM()
			VPMOVZXWD(y, rest)
			for part := range 2 {
				p := ZMM()
				VMOVDQU64(pairs.Offset(64*part), p)
				VPERMI2D(rest, head[2*half+quarter], p)
				VMOVDQU64(p, Mem{Base: k.sums, Disp: 64 * (4*half + 2*quarter + part)})
			}
		}
	}
	VZEROUPPER()
	RET()
}

func avx2() {
	k := text("AVX2")
	heads := AllocLocal(256) // sums of the heads
	var head [8]VecVirtual
	for i := range head {
		head[i] = YMM()
		VPXOR(head[i], head[i], head[i])
	}
	bytes := YMM()
	VPBROADCASTD(table("even256", 1, func(int) Constant { return U32(0x00ff00ff) }), bytes)
	loop("head256", k.head, 4, func() {
		// Codes 0 and 2, and 1 and 3, as words.
		q, odd := YMM(), YMM()
		VPBROADCASTD(Mem{Base: k.codes}, q)
		VPSRAW(U8(8), q, odd)
		VPSLLW(U8(8), q, q)
		VPSRAW(U8(8), q, q)
		for i := range head {
			v, w := YMM(), YMM()
			VMOVDQU(Mem{Base: k.panel, Disp: 32 * i}, v)
			VPSRLW(U8(8), v, w)
			VPAND(bytes, v, v)
			VPMADDWD(q, v, v)
			VPMADDWD(odd, w, w)
			VPADDD(v, head[i], head[i])
			VPADDD(w, head[i], head[i])
		}
		ADDQ(U32(256), k.panel)
		ADDQ(U8(4), k.codes)
	})
	for i := range head {
		VMOVDQU(head[i], heads.Offset(32*i))
	}
	var both, odd [2]VecVirtual
	for i := range both {
		both[i], odd[i] = YMM(), YMM()
		VPXOR(both[i], both[i], both[i])
		VPXOR(odd[i], odd[i], odd[i])
	}
	low := YMM()
	VPBROADCASTD(table("low256", 1, func(int) Constant { return U32(0x0f0f0f0f) }), low)
	loop("line256", k.lines, 1, func() {
		t, u := YMM(), YMM()
		VBROADCASTI128(Mem{Base: k.tables}, t)
		VBROADCASTI128(Mem{Base: k.tables, Disp: 16}, u)
		for i := range both {
			v, h := YMM(), YMM()
			VMOVDQU(Mem{Base: k.panel, Disp: 32 * i}, v)
			VPSRLW(U8(4), v, h)
			VPAND(low, v, v)
			VPAND(low, h, h)
			VPSHUFB(v, t, v)
			VPSHUFB(h, u, h)
			VPADDB(v, h, h)
			VPADDW(h, both[i], both[i])
			VPSRLW(U8(8), h, h)
			VPADDW(h, odd[i], odd[i])
		}
		ADDQ(U8(64), k.panel)
		ADDQ(U8(32), k.tables)
	})
	for i := range both {
		even := YMM()
		VPSLLW(U8(8), odd[i], even)
		VPSUBW(even, both[i], even)
		VPADDW(even, even, even)
		VPADDW(odd[i], odd[i], odd[i])
		lo, hi := YMM(), YMM()
		VPUNPCKLWD(odd[i], even, lo) // atoms 0 to 7 and 16 to 23 of this half
		VPUNPCKHWD(odd[i], even, hi) // 8 to 15 and 24 to 31
		for eight := range 4 {
			from := []VecVirtual{lo, hi}[eight%2]
			x, rest, h, t := XMM(), YMM(), YMM(), YMM()
			VEXTRACTI128(U8(eight/2), from, x)
			VPMOVZXWD(x, rest)
			at := 32*i + 8*eight
			VMOVDQU(heads.Offset(4*at), h)
			VPUNPCKLDQ(rest, h, t) // atoms 0, 1, 4 and 5
			VPUNPCKHDQ(rest, h, h)
			first, second := YMM(), YMM()
			VPERM2I128(U8(0x20), h, t, first)
			VPERM2I128(U8(0x31), h, t, second)
			VMOVDQU(first, Mem{Base: k.sums, Disp: 8 * at})
			VMOVDQU(second, Mem{Base: k.sums, Disp: 8*at + 32})
		}
	}
	VZEROUPPER()
	RET()
}

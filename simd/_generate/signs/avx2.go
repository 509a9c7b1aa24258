package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"thresher/simd/_generate/asm"
)

// avx2 adds pairs of products of unsigned and signed bytes in words. A vector holds 32
// coordinates: quadword b has bit b of eight bytes, or bit b+4 moved to b, which keeps
// products small enough for the sums of a line of bits to fit.
type avx2 struct {
	*kernel
	bits     VecVirtual // bit b of each byte of quadword b
	bytes    Mem        // the permutation that reorders codes
	weights  Mem        // factors that give all bits the weight 8
	ones     Mem        // four doublewords of ones, then four of zeros
	fullHead Mem        // where the last 16 codes of the head begin
	full8    Mem        // where the last 8 bytes of bits begin
}

func (a *avx2) prepare() {
	a.bits = YMM()
	VMOVDQU(table("bits256", 4, func(i int) Constant { return U64(0x0101010101010101 << i) }), a.bits)
	a.bytes = table("bytes256", 32, func(i int) Constant { return U8(i/16*2 + i%8/4*4 + i%4/2 + i%2*8) })
	a.weights = table("weights256", 16, func(i int) Constant { return U16(8 >> (i / 4)) })
	a.ones = table("ones256", 8, func(i int) Constant { return U32(uint32(i)/4 - 1) })
	a.fullHead, a.full8 = asm.Before(a.head, 16), asm.Before(a.end, 8)
}

func (a *avx2) sum() {
	head := a.sumHead()
	rest := a.sumRest()
	hi, lo := head.AsX(), XMM()
	VEXTRACTI128(U8(1), head, lo)
	first, second := XMM(), XMM()
	VPUNPCKLDQ(lo, hi, first)
	VPUNPCKHDQ(lo, hi, second)
	out := Mem{Base: Load(Param("out"), GP64())}
	for i, pair := range []Register{first, second} {
		for j := range 2 {
			to := out.Offset(24*i + 12*j)
			VPEXTRQ(U8(j), pair, to)
			VPEXTRD(U8(2*i+j), rest, to.Offset(8))
		}
	}
}

// sumHead sums the head with both halves of the query's codes. Bytes are widened to
// words, since AVX2 adds pairs of byte products in words, which they overflow. Sums of
// high halves are in the lower half, of low halves in the upper.
func (a *avx2) sumHead() VecVirtual {
	sums := zeros(2 * group)
	add := func(load func(base Register) Op) {
		hi, lo := YMM(), YMM()
		VPMOVSXBW(load(a.hi), hi)
		VPMOVSXBW(load(a.lo), lo)
		for i, row := range a.rows {
			x, t := YMM(), YMM()
			VPMOVZXBW(load(row), x)
			VPMADDWD(hi, x, t)
			VPADDD(t, sums[i], sums[i])
			VPMADDWD(lo, x, x)
			VPADDD(x, sums[group+i], sums[group+i])
			a.fetch(i, a.at, 0)
		}
	}
	XORQ(a.at, a.at)
	a.steps(16, a.fullHead, func() {
		add(func(base Register) Op { return a.place(base) })
	})
	a.left(a.head, func() {
		left, at, mask := GP64(), GP64(), XMM()
		MOVQ(a.head, left)
		SUBQ(a.at, left)
		LEAQ(a.ones, at)
		SUBQ(left, at)
		VMOVDQU(Mem{Base: at, Disp: 16}, mask)
		add(func(base Register) Op {
			x := XMM()
			VPMASKMOVD(a.place(base), mask, x)
			return x
		})
	})
	hi, lo, t := fold(sums[:group]), fold(sums[group:]), YMM()
	VPERM2I128(U8(0x20), lo, hi, t)
	VPERM2I128(U8(0x31), lo, hi, hi)
	VPADDD(t, hi, hi)
	return hi
}

// sumRest sums the codes whose bits are set: in words for a line of bits, 2^15 at most,
// then in doublewords.
func (a *avx2) sumRest() Register {
	sums := zeros(group)
	widen := func(words []VecVirtual) {
		for i, w := range words {
			VPMADDWD(a.weights, w, w)
			VPADDD(w, sums[i], sums[i])
		}
	}
	MOVQ(a.head, a.at)
	a.while(a.full8, func() {
		words, stop := zeros(group), GP64()
		LEAQ(Mem{Base: a.at, Disp: line - 8}, stop)
		CMPQ(stop, a.full8)
		CMOVQGT(a.full8, stop)
		a.steps(8, stop, func() { a.add(words, VPBROADCASTQ) })
		for i := range group {
			a.fetch(i, a.at, -1)
		}
		widen(words)
	})
	a.fetchLast()
	a.left(a.end, func() {
		words := zeros(group)
		a.add(words, VPBROADCASTD)
		widen(words)
	})
	all, t := fold(sums), XMM()
	VEXTRACTI128(U8(1), all, t)
	VPADDD(t, all.AsX(), t)
	VPSRAD(U8(3), t, t)
	return t
}

// add adds to the rows' words the codes for eight bytes of bits, or four, which broadcast
// copies to every quadword.
func (a *avx2) add(words []VecVirtual, broadcast func(...Op)) {
	lower, upper := YMM(), YMM()
	VMOVDQU(a.restPlace(), lower)
	VMOVDQU(a.restPlace().Offset(32), upper)
	for i, row := range a.rows {
		x, y := YMM(), YMM()
		broadcast(a.place(row), x)
		VPSRLQ(U8(4), x, y)
		VPAND(a.bits, x, x)
		VPAND(a.bits, y, y)
		VPMADDUBSW(lower, x, x)
		VPMADDUBSW(upper, y, y)
		VPADDW(x, words[i], words[i])
		VPADDW(y, words[i], words[i])
	}
}

// order transposes eight bytes of eight bits to four bits of eight bytes, the lower and
// then the upper.
func (a *avx2) order(from, to Mem) {
	store := func(pairs int) {
		v := zeros(4)
		for i := range pairs {
			VBROADCASTI128(from.Offset(16*i), v[i])
			VPSHUFB(a.bytes, v[i], v[i])
		}
		VPUNPCKLWD(v[1], v[0], v[0])
		VPUNPCKLWD(v[3], v[2], v[2])
		VPUNPCKLDQ(v[2], v[0], v[1])
		VPUNPCKHDQ(v[2], v[0], v[0])
		VMOVDQU(v[1], to)
		VMOVDQU(v[0], to.Offset(32))
	}
	a.steps(8, a.full8, func() { store(4) })
	a.left(a.end, func() { store(2) })
}

// fold adds the lanes of each 128 bits of four vectors and returns the sums side by side.
func fold(v []VecVirtual) VecVirtual {
	VPHADDD(v[1], v[0], v[0])
	VPHADDD(v[3], v[2], v[2])
	VPHADDD(v[2], v[0], v[0])
	return v[0]
}

// zeros returns n zeroed vectors.
func zeros(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = YMM()
		VPXOR(v[i], v[i], v[i])
	}
	return v
}

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"thresher/simd/_generate/asm"
)

// words is the number of codes that fill a vector as 16-bit words.
const words = 16

// prepareAVX2 sets registers that do not depend on the row.
func (k *kernel) prepareAVX2(name string) {
	k.ones = GLOBL(name+"Ones", RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(uint32(i)/4-1))
	}
	k.zero = YMM()
	VPXOR(k.zero, k.zero, k.zero)
	for part, end := range k.ends {
		k.fulls[part] = []Mem{asm.Before(end, line), asm.Before(end, words)}
	}
}

// sumAVX2 stores all sums of the rows. Bytes are widened to words, since AVX2 adds pairs
// of byte products in words, which they overflow.
func (k *kernel) sumAVX2() {
	n := len(k.query)
	var sums [2]VecVirtual
	XORQ(k.at, k.at)
	for part, end := range k.ends {
		acc := k.zeros(len(k.rows) * n)
		add := func(disp int, mask VecVirtual) {
			var q []VecVirtual
			for _, base := range k.query {
				q = append(q, k.words(VPMOVSXBW, base, disp, mask))
			}
			for r, base := range k.rows {
				x := k.words(VPMOVZXBW, base, disp, mask)
				for h := range q {
					t := YMM()
					VPMADDWD(q[h], x, t)
					VPADDD(t, acc[r*n+h], acc[r*n+h])
				}
			}
		}
		k.steps(line, k.fulls[part][0], func() {
			for d := 0; d < line; d += words {
				add(d, nil)
			}
			k.fetch()
		})
		k.steps(words, k.fulls[part][1], func() {
			add(0, nil)
			k.fetch()
		})
		next := k.label("next")
		CMPQ(k.at, end)
		JGE(LabelRef(next))
		add(0, k.tail(end))
		MOVQ(end, k.at)
		Label(next)
		sums[part] = k.across(acc)
	}
	k.storeAVX2(sums[0], sums[1], n)
}

// storeAVX2 stores the sums of head and rest alternately, n each a row.
func (k *kernel) storeAVX2(head, rest VecVirtual, n int) {
	lo, hi := YMM(), YMM()
	low, high := VPUNPCKLDQ, VPUNPCKHDQ
	if n == 2 {
		low, high = VPUNPCKLQDQ, VPUNPCKHQDQ
	}
	low(rest, head, lo)
	high(rest, head, hi)
	to := Mem{Base: k.out}
	switch {
	case len(k.rows) == 1 && n == 1:
		VMOVQ(lo.AsX(), to)
	case len(k.rows) == 1:
		VMOVDQU(lo.AsX(), to)
	default:
		VMOVDQU(lo.AsX(), to)
		VMOVDQU(hi.AsX(), to.Offset(16))
		if n == 2 {
			VEXTRACTI128(U8(1), lo, to.Offset(32))
			VEXTRACTI128(U8(1), hi, to.Offset(48))
		}
	}
	k.done(2 * n * len(k.rows))
}

// words loads codes and widens them, or the part that mask selects.
func (k *kernel) words(widen func(...Op), base Register, disp int, mask VecVirtual) VecVirtual {
	x, from := YMM(), Mem{Base: base, Index: k.at, Scale: 1, Disp: disp}
	if mask == nil {
		widen(from, x)
		return x
	}
	VPMASKMOVD(from, mask.AsX(), x.AsX())
	widen(x.AsX(), x)
	return x
}

// tail returns the mask of the doublewords from the place in the row to its end.
func (k *kernel) tail(end Mem) VecVirtual {
	left, at, mask := GP64(), GP64(), YMM()
	MOVQ(end, left)
	SUBQ(k.at, left)
	LEAQ(k.ones, at)
	SUBQ(left, at)
	VMOVDQU(Mem{Base: at, Disp: 16}, mask.AsX())
	return mask
}

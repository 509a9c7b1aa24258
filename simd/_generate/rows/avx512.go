package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"thresher/simd/_generate/asm"
)

// prepareAVX512 sets registers that do not depend on the row.
func (k *kernel) prepareAVX512(string) {
	k.zero = ZMM()
	VPXORD(k.zero, k.zero, k.zero)
	for i, m := range []uint32{0xcccc, 0xff00} {
		t := GP32()
		MOVL(U32(m), t)
		k.uppers[i] = K()
		KMOVW(t, k.uppers[i])
	}
	for part, end := range k.ends {
		k.fulls[part] = []Mem{asm.Before(end, line)}
		MOVQ(end, RCX)
		if part == 1 {
			SUBQ(k.ends[0], RCX)
		}
		ANDQ(U8(line-1), RCX)
		t := GP64()
		MOVQ(U32(1), t)
		SHLQ(CL, t)
		DECQ(t)
		k.tails[part] = K()
		KMOVQ(t, k.tails[part])
	}
}

// sumAVX512 stores all sums of the rows. It adds four products of unsigned and signed
// bytes to a lane at once.
func (k *kernel) sumAVX512() {
	n := len(k.query)
	acc := k.zeros(len(k.rows) * 2 * n) // in the order they are stored
	XORQ(k.at, k.at)
	for part, end := range k.ends {
		add := func(mask Register) {
			var q []VecVirtual
			for _, base := range k.query {
				q = append(q, k.codes(base, mask))
			}
			for r, base := range k.rows {
				x := k.codes(base, mask)
				for h := range q {
					VPDPBUSD(q[h], x, acc[(2*r+part)*n+h])
				}
			}
			k.fetch()
		}
		k.steps(line, k.fulls[part][0], func() { add(nil) })
		next := k.label("next")
		KTESTQ(k.tails[part], k.tails[part])
		JEQ(LabelRef(next))
		add(k.tails[part])
		Label(next)
		if part == 0 {
			MOVQ(end, k.at)
		}
	}
	sums := k.across(acc)
	switch to := (Mem{Base: k.out}); len(acc) {
	case 16:
		VMOVDQU32(sums, to)
	case 8:
		VMOVDQU32(sums.AsY(), to)
	case 4:
		VMOVDQU32(sums.AsX(), to)
	case 2:
		VMOVQ(sums.AsX(), to)
	}
	k.done(len(acc))
}

// codes loads a line of codes, or the part that mask selects.
func (k *kernel) codes(base, mask Register) VecVirtual {
	x, from := ZMM(), Mem{Base: base, Index: k.at, Scale: 1}
	if mask == nil {
		VMOVDQU64(from, x)
	} else {
		VMOVDQU8_Z(from, mask, x)
	}
	return x
}

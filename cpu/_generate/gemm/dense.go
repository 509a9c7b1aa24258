package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// notLess is the predicate of VCMPPS for "not less, or NaN", quiet.
const notLess = 0x15

// dense tests as many columns as a vector has lanes in n rows. The columns'
// terms stay in registers; a row's bits go to its mask's place in memory. No
// product is fused with a sum, as in the generic test.
func dense(name string, vector func() VecVirtual, lanes int) {
	TEXT(name, NOSPLIT, "func(dots *float32, ld int, margin, factor, tau, scale, size, offset *float32, n int, masks *byte)")
	Doc(fmt.Sprintf("%s tests %d columns of n rows; masks are 8 bytes apart.", name, lanes))
	Pragma("noescape")
	dots, ld := argument("dots"), distance("ld")
	columns := func(name string) VecVirtual {
		v := vector()
		VMOVUPS(Mem{Base: argument(name)}, v)
		return v
	}
	margin, factor, tau := columns("margin"), columns("factor"), columns("tau")
	scale, size, offset := argument("scale"), argument("size"), argument("offset")
	n, masks := argument("n"), argument("masks")
	i := GP64()
	XORQ(i, i)

	Label("row")
	CMPQ(i, n)
	JGE(LabelRef("done"))
	term := func(of GPVirtual, columns Op) VecVirtual {
		v := vector()
		VBROADCASTSS(Mem{Base: of, Index: i, Scale: 4}, v)
		VMULPS(columns, v, v)
		return v
	}
	sum := term(scale, Mem{Base: dots})
	VADDPS(term(size, margin), sum, sum)
	VADDPS(term(offset, factor), sum, sum)
	mask := Mem{Base: masks, Index: i, Scale: 8}
	if lanes == 16 {
		k := K()
		VCMPPS(U8(notLess), tau, sum, k)
		KMOVW(k, mask)
	} else {
		bits := GP32()
		VCMPPS(U8(notLess), tau, sum, sum)
		VMOVMSKPS(sum, bits)
		MOVB(bits.As8(), mask)
	}
	ADDQ(ld, dots)
	INCQ(i)
	JMP(LabelRef("row"))
	Label("done")
	VZEROUPPER()
	RET()
}

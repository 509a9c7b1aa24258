package asm

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// LowBits returns an opmask with the n < 64 low bits set.
func LowBits(n GPVirtual) OpmaskVirtual {
	bits, k := GP64(), K()
	MOVQ(n, RCX)
	MOVQ(U32(1), bits)
	SHLQ(CL, bits)
	DECQ(bits)
	KMOVQ(bits, k)
	return k
}

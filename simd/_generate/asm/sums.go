package asm

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// SumDoubles adds the float64 lanes of v, which has so many bytes: halves first. It overwrites v.
func SumDoubles(v VecVirtual, bytes int) Register {
	if bytes == 64 {
		y := YMM()
		VEXTRACTF64X4(U8(1), v, y)
		VADDPD(y, v.AsY(), v.AsY())
	}
	x, t := v.AsX(), XMM()
	VEXTRACTF128(U8(1), v.AsY(), t)
	VADDPD(t, x, x)
	VPERMILPD(U8(1), x, t)
	VADDSD(t, x, x)
	return x
}

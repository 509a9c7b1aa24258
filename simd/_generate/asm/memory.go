package asm

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// Before returns memory that holds end - n.
func Before(end Mem, n int) Mem {
	t, m := GP64(), AllocLocal(8)
	MOVQ(end, t)
	SUBQ(U8(n), t)
	MOVQ(t, m)
	return m
}

// Package asm holds what the kernels' generators share.
package asm

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// Places returns a table of the positions of the bits set in a byte, lowest first: the
// lanes of eight to move to the front. Moving eight by it takes about as long as
// compressing sixteen with AVX-512, and less for short lists.
func Places() Mem {
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

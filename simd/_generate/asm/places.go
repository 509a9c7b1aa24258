// Package asm holds what the kernels' generators share.
package asm

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// Places is the table of the numbers of the bits set in a byte, lowest first:
// which of eight lanes to move to the front. Moving them by it takes about as
// long as compressing sixteen with AVX-512, and less for short lists.
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

package neon

import (
	"fmt"
	"math/bits"
)

// HowMany is the offset in places<> of the sizes of the 16 sets, a byte each.
const HowMany = 256

// Places writes the table places<> for Table: for each of the 16 sets of four lanes, the
// 16 byte indices that move its lanes to the front. The lanes after those are arbitrary.
func (f *File) Places() {
	var table [HowMany + 16]uint8
	for set := range 16 {
		to := table[16*set:]
		for lane := range 4 {
			if set>>lane&1 == 0 {
				continue
			}
			for b := range 4 {
				to[b] = uint8(4*lane + b)
			}
			to = to[4:]
		}
		table[HowMany+set] = uint8(bits.OnesCount(uint(set)))
	}
	f.asm.WriteByte('\n')
	for at := 0; at < len(table); at += 8 {
		var word uint64
		for b, v := range table[at:][:8] {
			word |= uint64(v) << (8 * b)
		}
		fmt.Fprintf(&f.asm, "DATA places<>+%d(SB)/8, $0x%016x\n", at, word)
	}
	fmt.Fprintf(&f.asm, "GLOBL places<>(SB), RODATA|NOPTR, $%d\n", len(table))
}

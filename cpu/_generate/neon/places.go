package neon

import "fmt"

// Places writes a table places<> of the bytes that move lanes of 4 bytes to the
// front, for the 16 sets of four lanes: 16 bytes a set, for Table. What comes after
// the lanes that are moved is any of the four.
func (f *File) Places() {
	f.asm.WriteByte('\n')
	for set := range 16 {
		var bytes [16]uint8
		n := 0
		for lane := range 4 {
			if set>>lane&1 != 0 {
				for b := range 4 {
					bytes[4*n+b] = uint8(4*lane + b)
				}
				n++
			}
		}
		for half := range 2 {
			var word uint64
			for b := range 8 {
				word |= uint64(bytes[8*half+b]) << (8 * b)
			}
			fmt.Fprintf(&f.asm, "DATA places<>+%d(SB)/8, $0x%016x\n", 16*set+8*half, word)
		}
	}
	fmt.Fprintf(&f.asm, "GLOBL places<>(SB), RODATA|NOPTR, $256\n")
}

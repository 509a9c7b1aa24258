package oip

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// floats are the little-endian float32 of b, which is a multiple of four bytes
// long. They are b's memory where that is aligned and this machine keeps numbers
// the same way, else a copy.
func floats(b []byte) []float32 {
	if len(b) == 0 {
		return nil
	}
	start := unsafe.Pointer(unsafe.SliceData(b))
	if little() && uintptr(start)%unsafe.Alignof(float32(0)) == 0 {
		return unsafe.Slice((*float32)(start), len(b)/4)
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// little reports whether this machine stores the low byte first.
func little() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// notFinite is the index of the first NaN or infinity, or -1.
func notFinite(v []float32) int {
	for i, x := range v {
		if x-x != 0 {
			return i
		}
	}
	return -1
}

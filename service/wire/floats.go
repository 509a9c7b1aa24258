package wire

import (
	"encoding/binary"
	"math"
	"unsafe"

	"thresher/service/problem"
)

// Raw takes queries that lie one after the other as little-endian float32, whole rows.
// They are b's memory where that is aligned and this machine keeps numbers the same
// way, else a copy.
func (d *Draft) Raw(b []byte) error { return d.Floats(floats(b)) }

// Floats takes queries that lie one after the other, whole rows, and keeps them.
func (d *Draft) Floats(q []float32) error {
	dim := d.s.Dim
	if i := notFinite(q); i >= 0 {
		return problem.New(problem.NotFinite, "query %d, coordinate %d: value is %v", i/dim, i%dim, q[i]).At(fieldQueries, i/dim)
	}
	return d.Rows(q)
}

// floats are the little-endian float32 of b, which is a multiple of four bytes long.
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

// notFinite is the index of the first NaN or infinity, or -1. Eight at a time: what is
// finite gives 0 times 0.
func notFinite(v []float32) int {
	i := 0
	for ; i+8 <= len(v); i += 8 {
		x := (*[8]float32)(v[i:])
		if s := (x[0]*0 + x[1]*0 + (x[2]*0 + x[3]*0)) + (x[4]*0 + x[5]*0 + (x[6]*0 + x[7]*0)); s != 0 {
			break
		}
	}
	for ; i < len(v); i++ {
		if x := v[i]; x-x != 0 {
			return i
		}
	}
	return -1
}

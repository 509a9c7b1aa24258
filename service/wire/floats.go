package wire

import (
	"encoding/binary"
	"math"
	"unsafe"

	"thresher/service/problem"
)

// Raw sets the queries from little-endian float32, whole rows. They share b's memory if it is
// aligned and the machine is little-endian; otherwise they are copied.
func (d *Draft) Raw(b []byte) error { return d.Floats(floats(b)) }

// Floats sets the queries, whole rows, and keeps the slice.
func (d *Draft) Floats(q []float32) error {
	dim := d.s.Dim
	if i := notFinite(q); i >= 0 {
		return problem.New(problem.NotFinite, "query %d, coordinate %d: value is %v", i/dim, i%dim, q[i]).At(fieldQueries, i/dim)
	}
	return d.Rows(q)
}

// floats returns the little-endian float32 of b, whose length is a multiple of four.
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

// little reports whether this machine is little-endian.
func little() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// notFinite returns the index of the first NaN or infinity, or -1. It tests eight values at a
// time: the product of a finite value and 0 is 0.
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

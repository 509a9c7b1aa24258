package dataset

import (
	"encoding/binary"
	"fmt"
	"math"
)

// kind is the type of a stored element.
type kind uint8

const (
	f16 kind = iota + 1
	bf16
	f32
	f64
	i8
	u8
	i32
)

// size of an element in bytes.
func (k kind) size() int {
	switch k {
	case i8, u8:
		return 1
	case f16, bf16:
		return 2
	case f64:
		return 8
	}
	return 4
}

// swapBytes reverses every element of src in place.
func swapBytes(src []byte, size int) {
	for ; len(src) >= size && size > 1; src = src[size:] {
		for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
			src[i], src[j] = src[j], src[i]
		}
	}
}

// decode converts the little-endian elements of src into dst and returns -1, or
// the index of the first element that float32 must not or cannot hold.
// src holds exactly len(dst) elements.
func (k kind) decode(dst []float32, src []byte) int {
	switch k {
	case f32:
		return decodeF32(dst, src)
	case f64:
		return decodeF64(dst, src)
	case f16:
		return decodeF16(dst, src)
	case bf16:
		for i := range dst {
			u := uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16
			if u&0x7f800000 == 0x7f800000 {
				return i
			}
			dst[i] = math.Float32frombits(u)
		}
	case i8:
		for i, v := range src[:len(dst)] {
			dst[i] = float32(int8(v))
		}
	case u8:
		for i, v := range src[:len(dst)] {
			dst[i] = float32(v)
		}
	case i32:
		for i := range dst {
			v := int32(binary.LittleEndian.Uint32(src[4*i:]))
			dst[i] = float32(v)
			if float64(dst[i]) != float64(v) {
				return i
			}
		}
	}
	return -1
}

func decodeF32(dst []float32, src []byte) int {
	for i := range dst {
		u := binary.LittleEndian.Uint32(src[4*i:])
		if u&0x7f800000 == 0x7f800000 {
			return i
		}
		dst[i] = math.Float32frombits(u)
	}
	return -1
}

func decodeF64(dst []float32, src []byte) int {
	for i := range dst {
		v := float32(math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:])))
		if math.Float32bits(v)&0x7f800000 == 0x7f800000 {
			return i
		}
		dst[i] = v
	}
	return -1
}

func decodeF16(dst []float32, src []byte) int {
	for i := range dst {
		u := binary.LittleEndian.Uint16(src[2*i:])
		if u&0x7c00 == 0x7c00 {
			return i
		}
		dst[i] = half(u)
	}
	return -1
}

// half widens a finite IEEE binary16. Its exponent and fraction moved into the
// places of binary32 give the value times 2^-112, subnormals included.
func half(u uint16) float32 {
	v := math.Float32frombits(uint32(u&0x7fff)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(v) | uint32(u&0x8000)<<16)
}

// refusal says why decode refused the first element of src.
func (k kind) refusal(src []byte) error {
	var v float64
	switch k {
	case f16:
		v = nonFinite(binary.LittleEndian.Uint16(src)&0x3ff != 0, src[1]&0x80 != 0)
	case bf16:
		v = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(src)) << 16))
	case f32:
		v = float64(math.Float32frombits(binary.LittleEndian.Uint32(src)))
	case f64:
		v = math.Float64frombits(binary.LittleEndian.Uint64(src))
	default:
		return fmt.Errorf("integer %d cannot be held by float32 exactly", int32(binary.LittleEndian.Uint32(src)))
	}
	return refuseFloat(v)
}

// refuseFloat says why v is not accepted as an element.
func refuseFloat(v float64) error {
	switch {
	case math.IsNaN(v):
		return errNaN
	case math.IsInf(v, 0):
		return fmt.Errorf("value is %v; only finite numbers are accepted", v)
	}
	return fmt.Errorf("value %v is beyond the range of float32", v)
}

func nonFinite(nan, negative bool) float64 {
	switch {
	case nan:
		return math.NaN()
	case negative:
		return math.Inf(-1)
	}
	return math.Inf(1)
}

package dataset

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
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
	i16
	u16
	u32
	i64
	u64
)

// kindNames are the names of the kinds, by number; numbers in text have none of them.
var kindNames = [...]string{"numbers in text", "float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int16", "uint16", "uint32", "int64", "uint64"}

func (k kind) String() string { return kindNames[k] }

// kindOf returns the kind of the elements that a reader of a format reads, 0 for numbers in text.
func kindOf(r Reader) kind {
	if e, ok := r.(interface{ element() kind }); ok {
		return e.element()
	}
	return 0
}

// size returns the bytes of an element.
func (k kind) size() int {
	switch k {
	case i8, u8:
		return 1
	case f16, bf16, i16, u16:
		return 2
	case f64, i64, u64:
		return 8
	}
	return 4
}

// wide reports whether float32 does not hold all values of the kind.
func (k kind) wide() bool { return k == f64 || k.whole() }

// whole reports whether the values are integers that float32 may not hold.
func (k kind) whole() bool { return k == i32 || k == u32 || k == i64 || k == u64 }

// swapBytes reverses every element of src in place.
func swapBytes(src []byte, size int) {
	for ; len(src) >= size && size > 1; src = src[size:] {
		for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
			src[i], src[j] = src[j], src[i]
		}
	}
}

// decode converts the little-endian elements of src to dst and returns -1, or the index of
// the first element that is not a finite float32. src holds exactly len(dst) elements.
func (k kind) decode(dst []float32, src []byte) int {
	switch k {
	case f32:
		return decodeF32(dst, src)
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
	case i16, u16:
		for i := range dst {
			size, negative := k.integer(src[2*i:])
			if dst[i] = float32(size); negative {
				dst[i] = -dst[i]
			}
		}
	}
	return -1
}

// decodeWide is decode of a wide kind to float64. It refuses integers that float64 does not hold.
func (k kind) decodeWide(dst []float64, src []byte) int {
	if k == f64 {
		for i := range dst {
			x := math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
			if x-x != 0 {
				return i
			}
			dst[i] = x
		}
		return -1
	}
	width := k.size()
	for i := range dst {
		size, negative := k.integer(src[i*width:])
		if !exact(size, 53) {
			return i
		}
		if dst[i] = float64(size); negative {
			dst[i] = -dst[i]
		}
	}
	return -1
}

// one returns the first element of src; ok is false if decode would refuse it.
func (k kind) one(src []byte) (x float64, ok bool) {
	if k.wide() {
		var v [1]float64
		ok = k.decodeWide(v[:], src) < 0
		return v[0], ok
	}
	var v [1]float32
	ok = k.decode(v[:], src) < 0
	return float64(v[0]), ok
}

// precision is a float type that rows are read as.
type precision interface{ float32 | float64 }

// decodeAs is decode for float32 and decodeWide, whose kind must be wide, for float64.
func decodeAs[T precision](k kind, dst []T, src []byte) int {
	if wide, ok := any(dst).([]float64); ok {
		return k.decodeWide(wide, src)
	}
	return k.decode(any(dst).([]float32), src)
}

// integer returns the absolute value and sign of the first element of src, an integer.
func (k kind) integer(src []byte) (size uint64, negative bool) {
	le := binary.LittleEndian
	var v int64
	switch k {
	case u8:
		return uint64(src[0]), false
	case u16:
		return uint64(le.Uint16(src)), false
	case u32:
		return uint64(le.Uint32(src)), false
	case u64:
		return le.Uint64(src), false
	case i8:
		v = int64(int8(src[0]))
	case i16:
		v = int64(int16(le.Uint16(src)))
	case i32:
		v = int64(int32(le.Uint32(src)))
	case i64:
		v = int64(le.Uint64(src))
	}
	if v < 0 {
		return -uint64(v), true
	}
	return uint64(v), false
}

// exact reports whether a float with so many bits of precision holds an integer exactly.
func exact(size uint64, precision int) bool {
	return size == 0 || bits.Len64(size)-bits.TrailingZeros64(size) <= precision
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

// half converts a finite IEEE binary16. Its exponent and fraction, placed in a binary32,
// are the value times 2^-112, subnormals included.
func half(u uint16) float32 {
	v := math.Float32frombits(uint32(u&0x7fff)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(v) | uint32(u&0x8000)<<16)
}

// refusal returns why decode rejected the first element of src.
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
		size, negative := k.integer(src)
		sign := ""
		if negative {
			sign = "-"
		}
		return fmt.Errorf("integer %s%d cannot be held by float32 exactly, nor by float64", sign, size)
	}
	return refuseFloat(v)
}

// refuseFloat returns why v is not accepted as an element.
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

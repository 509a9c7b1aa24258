package dataset

import (
	"encoding/binary"
	"math"
)

// Encode writes values to dst in the type e and the processor's byte order, and returns the index of the first
// that e does not hold, or -1. dst holds len(values) coordinates.
func (e Elem) Encode(dst []byte, values []float32) int {
	order, size := binary.NativeEndian, e.Size()
	for i, x := range values {
		to := dst[i*size : (i+1)*size]
		ok := true
		switch e {
		case ElemFloat32:
			order.PutUint32(to, math.Float32bits(x))
		case ElemFloat64:
			order.PutUint64(to, math.Float64bits(float64(x)))
		case ElemBFloat16:
			b := math.Float32bits(x)
			ok = b<<16 == 0
			order.PutUint16(to, uint16(b>>16))
		case ElemFloat16:
			var u uint16
			u, ok = halfOf(x)
			order.PutUint16(to, u)
		case ElemInt8:
			v := int8(max(math.MinInt8, min(x, math.MaxInt8)))
			to[0], ok = byte(v), float32(v) == x
		case ElemUint8:
			v := uint8(max(0, min(x, math.MaxUint8)))
			to[0], ok = v, float32(v) == x
		}
		if !ok || x-x != 0 {
			return i
		}
	}
	return -1
}

// halfOf returns x as IEEE binary16, if that holds it.
func halfOf(x float32) (u uint16, ok bool) {
	sign := uint16(math.Float32bits(x)>>16) & 0x8000
	size := math.Abs(float64(x))
	if size < 0x1p-14 { // a multiple of the least number
		fraction := uint16(size * 0x1p24)
		return sign | fraction, float64(fraction) == size*0x1p24
	}
	fraction, exponent := math.Frexp(size)
	if exponent > 16 {
		return 0, false
	}
	digits := uint16(fraction * 2048) // 1024 to 2047
	return sign | uint16(exponent+14)<<10 + digits&1023, float64(digits) == fraction*2048
}

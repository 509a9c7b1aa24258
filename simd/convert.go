package simd

import "math"

// Widen sets dst[i] to src[i] times factor, in float64. dst and src have one length and share no
// memory.
func (kern Kernels) Widen(dst []float64, src []float32, factor float64) {
	dst = dst[:len(src)]
	for i := kern.widen(dst, src, factor); i < len(src); i++ {
		dst[i] = float64(src[i]) * factor
	}
}

// Narrow sets dst[i] to src[i] times factor, rounded to float64 and then to float32. dst and src have
// one length and share no memory.
func (kern Kernels) Narrow(dst []float32, src []float64, factor float64) {
	dst = dst[:len(src)]
	for i := kern.narrow(dst, src, factor); i < len(src); i++ {
		dst[i] = float32(src[i] * factor)
	}
}

// Halves sets dst[i] to src[i], a finite IEEE binary16. src is at least as long as dst.
func (kern Kernels) Halves(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i := kern.halves(dst, src); i < len(dst); i++ {
		dst[i] = half(src[i])
	}
}

// half converts a finite IEEE binary16. Its exponent and fraction, placed in a binary32, are the value times
// 2^-112, subnormals included.
func half(u uint16) float32 {
	v := math.Float32frombits(uint32(u&0x7fff)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(v) | uint32(u&0x8000)<<16)
}

// UpperHalves sets dst[i] to the float32 of which src[i] is the upper half and whose lower half is zero: a
// bfloat16. src is at least as long as dst.
func (kern Kernels) UpperHalves(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i := kern.upperHalves(dst, src); i < len(dst); i++ {
		dst[i] = math.Float32frombits(uint32(src[i]) << 16)
	}
}

// Signed sets dst[i] to src[i], which is an int8. src is at least as long as dst.
func (kern Kernels) Signed(dst []float32, src []uint8) {
	src = src[:len(dst)]
	for i := kern.signed(dst, src); i < len(dst); i++ {
		dst[i] = float32(int8(src[i]))
	}
}

// Unsigned sets dst[i] to src[i]. src is at least as long as dst.
func (kern Kernels) Unsigned(dst []float32, src []uint8) {
	src = src[:len(dst)]
	for i := kern.unsigned(dst, src); i < len(dst); i++ {
		dst[i] = float32(src[i])
	}
}

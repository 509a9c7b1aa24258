package simd

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

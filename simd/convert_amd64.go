//go:build !noasm && !purego

package simd

// convertBlock is what the assembly converts a multiple of.
const convertBlock = 16

// widen converts the first entries and returns how many.
func (kern Kernels) widen(dst []float64, src []float32, factor float64) int {
	n := len(src) &^ (convertBlock - 1)
	switch {
	case n == 0 || kern == Generic:
		return 0
	case kern == AVX512:
		widenAVX512(&dst[0], &src[0], n, factor)
	default:
		widenAVX2(&dst[0], &src[0], n, factor)
	}
	return n
}

// narrow converts the first entries and returns how many.
func (kern Kernels) narrow(dst []float32, src []float64, factor float64) int {
	n := len(src) &^ (convertBlock - 1)
	switch {
	case n == 0 || kern == Generic:
		return 0
	case kern == AVX512:
		narrowAVX512(&dst[0], &src[0], n, factor)
	default:
		narrowAVX2(&dst[0], &src[0], n, factor)
	}
	return n
}

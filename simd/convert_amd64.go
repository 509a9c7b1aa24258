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

// halves converts the first entries and returns how many.
func (kern Kernels) halves(dst []float32, src []uint16) int {
	n := len(dst) &^ (convertBlock - 1)
	switch {
	case n == 0 || kern == Generic:
		return 0
	case kern == AVX512:
		halvesAVX512(&dst[0], &src[0], n)
	default:
		halvesAVX2(&dst[0], &src[0], n)
	}
	return n
}

// upperHalves converts the first entries and returns how many.
func (kern Kernels) upperHalves(dst []float32, src []uint16) int {
	n := len(dst) &^ (convertBlock - 1)
	switch {
	case n == 0 || kern == Generic:
		return 0
	case kern == AVX512:
		upperHalvesAVX512(&dst[0], &src[0], n)
	default:
		upperHalvesAVX2(&dst[0], &src[0], n)
	}
	return n
}

// signed converts the first entries and returns how many.
func (kern Kernels) signed(dst []float32, src []uint8) int {
	n := len(dst) &^ (convertBlock - 1)
	switch {
	case n == 0 || kern == Generic:
		return 0
	case kern == AVX512:
		signedAVX512(&dst[0], &src[0], n)
	default:
		signedAVX2(&dst[0], &src[0], n)
	}
	return n
}

// unsigned converts the first entries and returns how many.
func (kern Kernels) unsigned(dst []float32, src []uint8) int {
	n := len(dst) &^ (convertBlock - 1)
	switch {
	case n == 0 || kern == Generic:
		return 0
	case kern == AVX512:
		unsignedAVX512(&dst[0], &src[0], n)
	default:
		unsignedAVX2(&dst[0], &src[0], n)
	}
	return n
}

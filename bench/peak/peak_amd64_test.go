//go:build !noasm && !purego

package peak

import "thresher/simd"

func loops() []loop {
	return []loop{
		{"int8/avx512", simd.AVX512, 12 * 64, int8AVX512},
		{"int8/avx2", simd.AVX2, 12 * 32, int8AVX2},
		{"float32/avx512", simd.AVX512, 12 * 16, floatAVX512},
		{"float32/avx2", simd.AVX2, 12 * 8, floatAVX2},
	}
}

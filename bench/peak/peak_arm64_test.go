//go:build !noasm && !purego

package peak

import "thresher/simd"

func loops() []loop {
	return []loop{
		{"int8/neon", simd.NEON, 24 * 16, int8NEON},
		{"float32/neon", simd.NEON, 24 * 4, floatNEON},
	}
}

//go:build !noasm && !purego

package simd

import "golang.org/x/sys/cpu"

func detect() []Level {
	if !cpu.ARM64.HasASIMD || !cpu.ARM64.HasASIMDDP {
		return []Level{Generic}
	}
	return []Level{Generic, NEON}
}

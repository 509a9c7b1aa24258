//go:build !noasm && !purego

package simd

import "golang.org/x/sys/cpu"

func detect() []Kernels {
	if !cpu.ARM64.HasASIMD || !cpu.ARM64.HasASIMDDP {
		return []Kernels{Generic}
	}
	return []Kernels{Generic, NEON}
}

//go:build !noasm && !purego

package simd

import "golang.org/x/sys/cpu"

func detect() []Kernels {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasPOPCNT || !x.HasBMI1:
		return []Kernels{Generic}
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512VNNI:
		return []Kernels{Generic, AVX2, AVX512}
	}
	return []Kernels{Generic, AVX2}
}

//go:build !noasm && !purego

package simd

import "golang.org/x/sys/cpu"

func detect() []Level {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasPOPCNT || !x.HasBMI1:
		return []Level{Generic}
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512VNNI:
		return []Level{Generic, AVX2, AVX512}
	}
	return []Level{Generic, AVX2}
}

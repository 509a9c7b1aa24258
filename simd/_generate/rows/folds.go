package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// across adds the lanes of each of at most as many vectors as a vector has lanes, a power
// of two, and returns the sums side by side, in order.
func (k *kernel) across(v []VecVirtual) VecVirtual {
	stages := 3
	if k.avx512 {
		stages = 4
	}
	for stage := range stages {
		var sums []VecVirtual
		for i := 0; i < len(v); i += 2 {
			sums = append(sums, k.fold(stage, v[i], v[min(i+1, len(v)-1)]))
		}
		v = sums
	}
	return v[0]
}

// fold halves the lanes of two vectors into a: the sums of a, then those of b, in each 128
// bits at the first two stages and then in the whole. It returns a. Merging halves that
// are in place uses a port that shuffles do not.
func (k *kernel) fold(stage int, a, b VecVirtual) VecVirtual {
	t := k.vector()
	switch {
	case stage == 0:
		VSHUFPS(U8(0x4e), b, a, t)
		k.merge(0, b, a)
	case stage == 1:
		VSHUFPS(U8(0x88), b, a, t)
		VSHUFPS(U8(0xdd), b, a, a)
	case !k.avx512:
		VPERM2I128(U8(0x21), b, a, t)
		k.merge(1, b, a)
	case stage == 2:
		VSHUFI64X2(U8(0x4e), b, a, t)
		k.merge(1, b, a)
	default:
		VSHUFI32X4(U8(0x88), b, a, t)
		VSHUFI32X4(U8(0xdd), b, a, a)
	}
	VPADDD(t, a, a)
	return a
}

// merge replaces the upper half of a by that of b: of each 128 bits, or of all.
func (k *kernel) merge(which int, b, a VecVirtual) {
	if k.avx512 {
		VMOVDQA32(b, k.uppers[which], a)
		return
	}
	VPBLENDD(U8([...]uint8{0xcc, 0xf0}[which]), b, a, a)
}

// Package simd holds the arithmetic kernels, on plain slices: Walsh-Hadamard
// transforms, quantisation, dot products of codes, signs and floats, matrix products
// and the fused scan of a panel. It knows nothing of collections or searches.
//
// Kernels is the set of them for one instruction set. The portable Go of every kernel
// is always compiled and defines what all sets compute. NAME.go has a kernel's contract and
// portable code; NAME_amd64.go and NAME_arm64.go check slices and choose the
// assembly, NAME_asm.go has what both share. The programs in simd/_generate write the
// .s files (make generate).
//
// Callers pass slices of matching lengths. A kernel checks them once, so that inner
// loops have no bounds checks. No kernel allocates.
package simd

// Package simd holds the arithmetic kernels on plain slices: Walsh-Hadamard,
// quantisation, dot products of codes, of signs and of floats, matrix products and
// the fused scan of a panel. The package knows nothing of collections or searches.
//
// A Level says which instructions run. The generic Go of every kernel is always
// compiled and defines what each must compute; the files of a kernel are NAME.go
// with the contract and the generic code, NAME_amd64.go and NAME_arm64.go with what
// checks slices and chooses (NAME_asm.go what they share), and the .s files of both,
// written by the programs in ../_generate (make generate).
//
// Slices are given in matching lengths by the caller; kernels slice them once
// and keep bounds checks out of the inner loops. None allocates.
package simd

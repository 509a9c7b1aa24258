// Package simd holds the arithmetic kernels on plain slices: Walsh-Hadamard,
// quantisation, dot products of codes and of floats, and the fused scan of a
// panel. This file set is the generic Go of every kernel, always compiled; it
// defines what each must compute. The package knows nothing of collections or
// searches.
//
// Slices are given in matching lengths by the caller; kernels slice them once
// and keep bounds checks out of the inner loops. None allocates.
package simd

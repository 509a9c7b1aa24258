//go:build !noasm && !purego

package peak

// Each loop runs n times over 12 independent accumulators in registers, enough to hide the
// latency of an instruction.

// int8AVX512 does 12 x 64 products of bytes an iteration (VPDPBUSD).
//
//go:noescape
func int8AVX512(n int)

// int8AVX2 does 12 x 32 products of bytes an iteration (VPMADDUBSW, VPMADDWD, VPADDD).
//
//go:noescape
func int8AVX2(n int)

// floatAVX512 does 12 x 16 products of float32 an iteration (VFMADD231PS).
//
//go:noescape
func floatAVX512(n int)

// floatAVX2 does 12 x 8 products of float32 an iteration (VFMADD231PS).
//
//go:noescape
func floatAVX2(n int)

// read loads n bytes, a positive multiple of 256, from p on, 32 at a time.
//
//go:noescape
func read(p *byte, n int)

//go:build !noasm && !purego

package peak

// Each loop runs n times over 24 independent accumulators in registers, enough to hide the
// latency of an instruction.

// int8NEON does 24 x 16 products of bytes an iteration (SDOT).
//
//go:noescape
func int8NEON(n int)

// floatNEON does 24 x 4 products of float32 an iteration (FMLA).
//
//go:noescape
func floatNEON(n int)

// read loads n bytes, a positive multiple of 128, from p on, 32 at a time.
//
//go:noescape
func read(p *byte, n int)

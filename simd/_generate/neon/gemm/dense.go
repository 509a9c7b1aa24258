package main

import "thresher/simd/_generate/neon"

// dense tests 16 columns, in four vectors, in n rows. The columns' terms stay in
// registers; a row's bits go to its mask's place in memory. No product is fused with a
// sum, as in the portable test.
func dense(f *neon.File) {
	f.Func("func denseNEON(dots *float32, ld int, margin, factor, tau, scale, size, offset *float32, n int, masks *uint16)",
		"denseNEON tests 16 columns of n rows; masks are 8 bytes apart.")
	const (
		dots, ld            = "R0", "R1"
		scale, size, offset = "R2", "R3", "R4"
		n, masks, apart     = "R5", "R6", "R7"
		column              = "R8"

		sum, term           = neon.V(0), neon.V(4) // four registers each
		margin, factor, tau = neon.V(8), neon.V(12), neon.V(16)
		row                 = neon.V(20) // the row's scale, size and offset
		powers              = neon.V(23)
	)
	f.Args("dots "+dots, "ld "+ld)
	bytes(f, ld)
	for _, c := range []struct {
		name string
		v    neon.V
	}{{"margin", margin}, {"factor", factor}, {"tau", tau}} {
		f.Args(c.name + " " + column)
		f.Go("VLD1 (%s), [V%d.S4, V%d.S4, V%d.S4, V%d.S4]", column, c.v, c.v+1, c.v+2, c.v+3)
	}
	f.Args("scale "+scale, "size "+size, "offset "+offset, "n "+n, "masks "+masks)
	f.Go("MOVD $0x8040201008040201, %s", column)
	f.Go("VDUP %s, V%d.D2", column, powers)
	f.Go("MOVD $8, %s", apart)
	again, done := f.Label("row"), f.Label("done")
	f.Go("CBZ %s, %s", n, done)
	f.At(again)
	for i, at := range []string{scale, size, offset} {
		f.Go("VLD1R.P 4(%s), [V%d.S4]", at, row+neon.V(i))
	}
	f.Go("VLD1 (%s), [V%d.S4, V%d.S4, V%d.S4, V%d.S4]", dots, sum, sum+1, sum+2, sum+3)
	f.Go("ADD %s, %s, %s", ld, dots, dots)
	for j := range neon.V(4) {
		sum, term := sum+j, term+j
		f.Same("fmul", neon.S4, sum, sum, row)
		f.Same("fmul", neon.S4, term, margin+j, row+1)
		f.Same("fadd", neon.S4, sum, sum, term)
		f.Same("fmul", neon.S4, term, factor+j, row+2)
		f.Same("fadd", neon.S4, sum, sum, term)
		f.Same("fcmgt", neon.S4, sum, tau+j, sum) // false for a NaN
	}
	// One byte of each lane remains; masked with powers of two they are bits, which eight
	// bytes' sum collects.
	f.Zip("uzp1", neon.H8, sum, sum, sum+1)
	f.Zip("uzp1", neon.H8, sum+2, sum+2, sum+3)
	f.Zip("uzp1", neon.B16, sum, sum, sum+2)
	f.Bits("bic", sum, powers, sum)
	for range 3 {
		f.Same("addp", neon.B16, sum, sum, sum)
	}
	f.Go("VST1.P V%d.H[0], (%s)(%s)", sum, masks, apart)
	f.Go("SUBS $1, %s, %s", n, n)
	f.Go("BNE %s", again)
	f.At(done)
	f.Return()
}

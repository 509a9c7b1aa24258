package main

import (
	"fmt"

	"thresher/simd/_generate/neon"
)

// pack transposes blocks of 8 vectors by 4 entries, each half in 4 registers: it
// exchanges pairs of entries, then pairs of pairs.
func pack(f *neon.File) {
	f.Func("func packNEON(panel *float32, width int, src *float32, ld, blocks int)",
		"packNEON writes 8 vectors, of 4 entries a block, into 8 columns of a panel.")
	const panel, width, ld, blocks = "R0", "R1", "R2", "R3"
	src := func(i int) string { return fmt.Sprint("R", 4+i) }
	f.Args("panel "+panel, "width "+width, "src "+src(0), "ld "+ld, "blocks "+blocks)
	bytes(f, width, ld)
	for i := 1; i < 8; i++ {
		f.Go("ADD %s, %s, %s", ld, src(i-1), src(i))
	}
	block, done := f.Label("block"), f.Label("done")
	f.Go("CBZ %s, %s", blocks, done)
	f.At(block)
	for i := range 8 {
		f.Go("FMOVQ.P 16(%s), F%d", src(i), i)
	}
	for half := neon.V(0); half < 8; half += 4 {
		x, y := half, half+8
		for i := neon.V(0); i < 4; i += 2 {
			f.Zip("trn1", neon.S4, y+i, x+i, x+i+1)
			f.Zip("trn2", neon.S4, y+i+1, x+i, x+i+1)
		}
		for i := range neon.V(2) {
			f.Zip("trn1", neon.D2, x+i, y+i, y+i+2)
			f.Zip("trn2", neon.D2, x+i+2, y+i, y+i+2)
		}
	}
	for i := range 4 {
		f.Go("FSTPQ (F%d, F%d), (%s)", i, i+4, panel)
		f.Go("ADD %s, %s, %s", width, panel, panel)
	}
	f.Go("SUBS $1, %s, %s", blocks, blocks)
	f.Go("BNE %s", block)
	f.At(done)
	f.Return()
}

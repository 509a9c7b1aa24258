package main

import "thresher/simd/_generate/neon"

// transpose writes sixteen lanes of a panel from sixteen codes of sixteen rows at a
// time: four lines, each of four codes of all rows. A register holds sixteen codes of a
// row, as four words; those of four rows are transposed.
//
// It prefetches one line of each later row while it transposes as many bytes of sixteen
// rows: four lines a step.
func transpose(f *neon.File) {
	f.Func("func transposeNEON(panel, rows *uint8, stride, width, ahead int)",
		"transposeNEON is Transpose of 16 rows to 16 lanes, from panel's first on; the rows\n"+
			"ahead bytes later are prefetched. width >= 16.")
	rows := []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 19, 20, 21} // registers
	const (
		panel   = "R0"
		stride  = "R1"
		left    = "R2"
		fetched = "R22"
		turn    = "R23"
		step    = "R24"
	)
	f.Args("panel "+panel, "rows R3", "stride "+stride, "width "+left, "ahead "+fetched)
	f.Go("ADD R3, %s", fetched)
	for i := 1; i < len(rows); i++ {
		f.Go("ADD %s, R%d, R%d", stride, rows[i-1], rows[i])
	}
	f.Go("MOVD $4, %s", turn)
	f.Go("SUB $16, %s", left)
	codes, same, done := f.Label("codes"), f.Label("same"), f.Label("done")
	f.At(codes)
	for range 4 {
		f.Go("PRFM (%s), PLDL2KEEP", fetched)
		f.Go("ADD %s, %s", stride, fetched)
	}
	f.Go("SUBS $1, %s", turn)
	f.Go("BNE %s", same)
	f.Go("SUB %s<<4, %s", stride, fetched)
	f.Go("ADD $64, %s", fetched)
	f.Go("MOVD $4, %s", turn)
	f.At(same)
	// The last step may go back so that it ends where the rows end.
	f.Go("MOVD $16, %s", step)
	f.Go("CMP %s, %s", step, left)
	f.Go("CSEL LT, %s, %s, %s", left, step, step)
	for half := range 2 {
		for i, row := range rows[8*half:][:8] {
			f.Go("VLD1.P (R%d)(%s), [V%d.B16]", row, step, i)
		}
		low, high := exchange(f, 0, 8), exchange(f, 4, 16)
		for k := range 4 {
			f.Go("FSTPQ (F%d, F%d), %d(%s)", low[k], high[k], panelBytes*k+32*half, panel)
		}
	}
	f.Go("CBZ %s, %s", step, done)
	f.Go("SUB %s, %s", step, left)
	f.Go("ADD %s<<6, %s", step, panel)
	f.Go("JMP %s", codes)
	f.At(done)
	f.Return()
}

// exchange transposes the 4 x 4 words of registers r to r+3 into new registers; it uses
// 8 registers from to on.
func exchange(f *neon.File, r, to neon.V) [4]neon.V {
	for pair := range neon.V(2) {
		f.Zip("trn1", neon.S4, to+2*pair, r+2*pair, r+2*pair+1)
		f.Zip("trn2", neon.S4, to+2*pair+1, r+2*pair, r+2*pair+1)
	}
	for odd := range neon.V(2) {
		f.Zip("trn1", neon.D2, to+4+odd, to+odd, to+2+odd)
		f.Zip("trn2", neon.D2, to+6+odd, to+odd, to+2+odd)
	}
	return [4]neon.V{to + 4, to + 5, to + 6, to + 7}
}

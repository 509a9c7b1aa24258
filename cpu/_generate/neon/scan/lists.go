package main

import "thresher/cpu/_generate/neon"

// selects moves eight entries at a time to the front, in two fours. One number
// says which of them and how many: bits 0 to 3 and 16 to 19, and from 8 and 24 on.
func selects(f *neon.File) {
	f.Func("func selectNEON(toIDs *uint32, toBounds *float32, ids *uint32, bounds *float32, n int, lo, hi float32) (selected int)",
		"selectNEON is Select for n a multiple of 8, n >= 8.")
	const (
		toIDs, toBounds, ids, bounds, left, table = "R0", "R1", "R2", "R3", "R4", "R5"
		first, number, which                      = "R6", "R7", "R8"

		lo, hi, low, high neon.V = 16, 17, 18, 19
	)
	f.Args("toIDs "+toIDs, "toBounds "+toBounds, "ids "+ids, "bounds "+bounds, "n "+left, "lo F16", "hi F17")
	f.Dup(neon.S4, lo, lo, 0)
	f.Dup(neon.S4, hi, hi, 0)
	for half, word := range []string{"0x0000010200000101", "0x0000010800000104"} {
		f.Go("MOVD $%s, %s", word, number)
		f.Go("VMOV %s, V%d.D[%d]", number, low, half)
	}
	f.Shift("shl", neon.S4, high, low, 16)
	f.Go("MOVD $places<>(SB), %s", table)
	f.Go("MOVD %s, %s", toIDs, first)
	loop := f.Label("loop")
	f.At(loop)
	const bound, id, from, to neon.V = 0, 2, 4, 6 // two registers each
	f.Go("FLDPQ.P 32(%s), (F%d, F%d)", bounds, bound, bound+1)
	f.Go("FLDPQ.P 32(%s), (F%d, F%d)", ids, id, id+1)
	for half, weights := range []neon.V{low, high} {
		h := neon.V(half)
		f.Same("fcmge", neon.S4, from+h, bound+h, lo)
		f.Same("fcmgt", neon.S4, to+h, hi, bound+h)
		f.Bits("and", from+h, from+h, weights)
		f.Bits("and", from+h, from+h, to+h)
	}
	f.Bits("orr", from, from, from+1)
	f.Across("addv", neon.S4, from, from)
	f.Go("VMOV V%d.S[0], %s", from, number)
	for half := range neon.V(2) {
		order, outID, outBound := 20+3*half, 21+3*half, 22+3*half
		f.Go("UBFX $%d, %s, $4, %s", 16*half, number, which)
		f.Go("ADD %s<<4, %s, %s", which, table, which)
		f.Go("FMOVQ (%s), F%d", which, order)
		f.Go("UBFX $%d, %s, $4, %s", 16*half+8, number, which)
		f.Table(outID, id+half, 1, order)
		f.Table(outBound, bound+half, 1, order)
		f.Go("FMOVQ F%d, (%s)", outID, toIDs)
		f.Go("FMOVQ F%d, (%s)", outBound, toBounds)
		f.Go("ADD %s<<2, %s", which, toIDs)
		f.Go("ADD %s<<2, %s", which, toBounds)
	}
	f.Go("SUBS $8, %s", left)
	f.Go("BNE %s", loop)
	f.Go("SUB %s, %s", first, toIDs)
	f.Go("LSR $2, %s", toIDs)
	f.Return("selected " + toIDs)
}

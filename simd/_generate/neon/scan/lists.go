package main

import "thresher/simd/_generate/neon"

// selects moves eight entries at a time to the front, as two fours.
func selects(f *neon.File) {
	f.Func("func selectNEON(toIDs *uint32, toBounds *float32, ids *uint32, bounds *float32, n int, lo, hi float32) (selected int)",
		"selectNEON is Select for n a multiple of 8, n >= 8.")
	const (
		toIDs, toBounds, ids, bounds, left = "R0", "R1", "R2", "R3", "R4"
		places, howMany, begin             = "R5", "R6", "R7"
		bits, set                          = "R8", "R9"

		lo, hi, low, high neon.V = 16, 17, 18, 19
	)
	f.Args("toIDs "+toIDs, "toBounds "+toBounds, "ids "+ids, "bounds "+bounds, "n "+left, "lo F16", "hi F17")
	f.Dup(neon.S4, lo, lo, 0)
	f.Dup(neon.S4, hi, hi, 0)
	for half, weights := range []string{"0x0000000200000001", "0x0000000800000004"} {
		f.Go("MOVD $%s, %s", weights, bits)
		f.Go("VMOV %s, V%d.D[%d]", bits, low, half)
	}
	f.Shift("shl", neon.S4, high, low, 4)
	f.Go("MOVD $places<>(SB), %s", places)
	f.Go("ADD $%d, %s, %s", neon.HowMany, places, howMany)
	f.Go("MOVD %s, %s", toIDs, begin)
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
	f.Go("VMOV V%d.S[0], %s", from, bits)
	for half := range neon.V(2) {
		order, outID, outBound := 20+3*half, 21+3*half, 22+3*half
		f.Go("UBFX $%d, %s, $4, %s", 4*half, bits, set)
		f.Go("ADD %s<<4, %s, R10", set, places)
		f.Go("FMOVQ (R10), F%d", order)
		f.Go("MOVBU (%s)(%s), %s", howMany, set, set)
		f.Table(outID, id+half, 1, order)
		f.Table(outBound, bound+half, 1, order)
		f.Go("FMOVQ F%d, (%s)", outID, toIDs)
		f.Go("FMOVQ F%d, (%s)", outBound, toBounds)
		f.Go("ADD %s<<2, %s", set, toIDs)
		f.Go("ADD %s<<2, %s", set, toBounds)
	}
	f.Go("SUBS $8, %s", left)
	f.Go("BNE %s", loop)
	f.Go("SUB %s, %s", begin, toIDs)
	f.Go("LSR $2, %s", toIDs)
	f.Return("selected " + toIDs)
}

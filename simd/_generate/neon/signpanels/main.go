// Command signpanels writes the NEON kernel for panels of signs:
//
//	go run ./neon/signpanels -out ../signpanels_arm64.s -stubs ../signpanels_stubs_arm64.go
//
// Sixteen atoms at a time look up both halves of a byte of signs in tables of sixteen sums. The sums of both fit a
// byte, and are added to words.
package main

import "thresher/simd/_generate/neon"

// Vector registers.
const (
	heads neon.V = 0  // sixteen: the sums of four atoms each
	sums  neon.V = 16 // eight: those of eight atoms each
	query neon.V = 16 // while heads are summed: four codes, four times
	flip  neon.V = 17
	low   neon.V = 24
	first neon.V = 25 // tables
	later neon.V = 26
	x     neon.V = 27 // three that are free
	y     neon.V = 28
	z     neon.V = 29
)

func main() {
	neon.Write(func(f *neon.File) {
		f.Func("func signPanelNEON(sums *int32, panel *uint8, codes *int8, head int, tables *uint8, lines int, bias int32)",
			"signPanelNEON is SignPanel of head codes and of so many lines of signs. bias is added to the sums of heads, whose\ncodes are taken without theirs.")
		f.Args("sums R0", "panel R1", "codes R2", "head R3", "tables R4", "lines R5", "bias R6")
		for i := range neon.V(16) {
			f.Go("VDUP R6, V%d.S4", heads+i)
		}
		f.Go("VMOVI $128, V%d.B16", flip)
		loop(f, 3, 4, func() {
			f.Go("VLD1R.P 4(R2), [V%d.S4]", query)
			for i := range neon.V(16) {
				f.Go("FMOVQ.P 16(R1), F%d", x)
				f.Bits("eor", x, x, flip)
				f.Widen("smull", neon.B8, y, x, query)
				f.Widen("smull", neon.B16, z, x, query)
				f.Pairwise("saddlp", neon.H8, y, y)
				f.Pairwise("saddlp", neon.H8, z, z)
				f.Same("addp", neon.S4, y, y, z)
				f.Same("add", neon.S4, heads+i, heads+i, y)
			}
		})
		for i := range neon.V(8) {
			f.Go("VMOVI $0, V%d.B16", sums+i)
		}
		f.Go("VMOVI $15, V%d.B16", low)
		loop(f, 5, 1, func() {
			f.Go("FLDPQ.P 32(R4), (F%d, F%d)", first, later)
			for i := range neon.V(4) {
				f.Go("FMOVQ.P 16(R1), F%d", x)
				f.Bits("and", y, x, low)
				f.Go("VUSHR $4, V%d.B16, V%d.B16", x, x)
				f.Go("VTBL V%d.B16, [V%d.B16], V%d.B16", y, first, y)
				f.Go("VTBL V%d.B16, [V%d.B16], V%d.B16", x, later, x)
				f.Same("add", neon.B16, x, x, y)
				f.Wider("uaddw", neon.B8, sums+2*i, sums+2*i, x)
				f.Wider("uaddw", neon.B16, sums+2*i+1, sums+2*i+1, x)
			}
		})
		zero := low
		f.Go("VMOVI $0, V%d.B16", zero)
		for i := range neon.V(8) {
			f.Same("add", neon.H8, sums+i, sums+i, sums+i)
			for half, lanes := range []neon.Arrangement{neon.H4, neon.H8} {
				f.Wider("uaddw", lanes, x, zero, sums+i)
				head := heads + 2*i + neon.V(half)
				f.Zip("zip1", neon.S4, y, head, x)
				f.Zip("zip2", neon.S4, z, head, x)
				f.Go("FSTPQ.P (F%d, F%d), 32(R0)", y, z)
			}
		}
		f.Return()
	})
}

// loop emits a loop of body while register n, which each turn lessens by step, is above 0.
func loop(f *neon.File, n, step int, body func()) {
	again, done := f.Label("loop"), f.Label("done")
	f.Go("CMP $0, R%d", n)
	f.Go("BLE %s", done)
	f.At(again)
	body()
	f.Go("SUBS $%d, R%d", step, n)
	f.Go("BGT %s", again)
	f.At(done)
}

package main

import "thresher/simd/_generate/neon"

const floats = 32 // floats a round of the kernels of floats takes

// turns runs body once for every 32 floats; R1 points at them, R2 counts them.
func turns(f *neon.File, body func()) {
	loop := f.Label("loop")
	f.At(loop)
	body()
	f.Go("SUBS $%d, R2", floats)
	f.Go("BNE %s", loop)
}

// packSigns emits PackSigns. The highest bytes of 32 floats hold their signs.
func packSigns(f *neon.File) {
	const x, weights = 0, 16
	f.Func("func packSignsNEON(dst *uint8, x *float32, n int)", "packSignsNEON is PackSigns of a multiple of 32 entries, and of 32 at least.")
	f.Args("dst R0", "x R1", "n R2")
	f.Go("VMOVQ $0x8040201008040201, $0x8040201008040201, V%d", weights)
	turns(f, func() {
		for i := neon.V(0); i < 8; i += 2 {
			f.Go("FLDPQ.P 32(R1), (F%d, F%d)", x+i, x+i+1)
		}
		for i := neon.V(0); i < 4; i++ {
			f.Zip("uzp2", neon.H8, x+i, x+2*i, x+2*i+1)
		}
		for i := neon.V(0); i < 2; i++ {
			f.Zip("uzp2", neon.B16, x+i, x+2*i, x+2*i+1)
			f.Misc("cmge", neon.B16, x+i, x+i)
			f.Bits("and", x+i, x+i, weights)
		}
		// A byte's bits are eight neighbours.
		f.Same("addp", neon.B16, x, x, x+1)
		f.Same("addp", neon.B16, x, x, x)
		f.Same("addp", neon.B16, x, x, x)
		f.Go("FMOVS.P F%d, 4(R0)", x)
	})
	f.Return()
}

// sumAbs emits SumAbs. Eight accumulators hide the latency of additions.
func sumAbs(f *neon.File) {
	const sums, x, wide neon.V = 0, 8, 16
	f.Func("func sumAbsNEON(x *float32, n int) (sum float64)", "sumAbsNEON is SumAbs of a multiple of 32 entries, and of 32 at least.")
	f.Args("x R1", "n R2")
	for i := range neon.V(8) {
		f.Go("VMOVI $0, V%d.B16", sums+i)
	}
	turns(f, func() {
		for i := neon.V(0); i < 8; i += 2 {
			f.Go("FLDPQ.P 32(R1), (F%d, F%d)", x+i, x+i+1)
		}
		for i := range neon.V(8) {
			lower, upper := wide+2*i, wide+2*i+1
			f.Misc("fabs", neon.S4, x+i, x+i)
			f.Double(neon.S2, lower, x+i)
			f.Double(neon.S4, upper, x+i)
			f.Same("fadd", neon.D2, sums+2*i%8, sums+2*i%8, lower)
			f.Same("fadd", neon.D2, sums+2*i%8+1, sums+2*i%8+1, upper)
		}
	})
	for n := neon.V(4); n > 0; n /= 2 {
		for i := range n {
			f.Same("fadd", neon.D2, sums+i, sums+i, sums+n+i)
		}
	}
	f.Same("faddp", neon.D2, sums, sums, sums)
	f.Return("sum F0")
}

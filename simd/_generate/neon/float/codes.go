package main

import (
	"math"

	"thresher/simd/_generate/neon"
)

// Rounding floats to integers as the portable code does. Converting instructions would
// save one instruction, but give other results for products out of range and NaN.
const (
	inv   = neon.V(31)
	round = neon.V(30) // added to round, and subtracted as bits
)

func coder(f *neon.File) {
	f.Args("inv F31")
	f.Dup(neon.S4, inv, inv, 0)
	f.Go("MOVD $0x%x, R9", math.Float32bits(12582912))
	f.Go("VDUP R9, V%d.S4", round)
}

// nearest sets count registers from v on to the integers nearest to inv times the floats
// in the registers from x on.
func nearest(f *neon.File, v, x neon.V, count int) {
	for i := range neon.V(count) {
		f.Same("fmul", neon.S4, v+i, x+i, inv)
	}
	for i := range neon.V(count) {
		f.Same("fadd", neon.S4, v+i, v+i, round)
	}
	for i := range neon.V(count) {
		f.Same("sub", neon.S4, v+i, v+i, round)
	}
}

// shorts saturates the eight integers in v and the register after it to int16, into v.
func shorts(f *neon.File, v neon.V) {
	f.Narrow("sqxtn", neon.H4, v, v)
	f.Narrow("sqxtn", neon.H8, v, v+1)
}

// quantize emits Quantize.
func quantize(f *neon.File) {
	const least, bias = neon.V(29), neon.V(28)
	f.Func("func quantizeNEON(dst *uint8, x *float32, n int, inv float32)", "quantizeNEON is Quantize of n entries, a multiple of 4.")
	f.Args("dst R0", "x R1", "n R2")
	coder(f)
	f.Go("VMOVI $0x81, V%d.B16", least)
	f.Go("VMOVI $0x80, V%d.B16", bias)
	dst, x := stream{"R0", 1}, stream{"R1", 4}
	loop(f, "R2", 16, []int{8, 4}, nil, func(count int) {
		loadEntries(f, x, 0, count, 0)
		nearest(f, 0, 0, count/4)
		switch count {
		case 16:
			shorts(f, 0)
			shorts(f, 2)
			f.Narrow("sqxtn", neon.B8, 0, 0)
			f.Narrow("sqxtn", neon.B16, 0, 2)
		case 8:
			shorts(f, 0)
			f.Narrow("sqxtn", neon.B8, 0, 0)
		case 4:
			f.Narrow("sqxtn", neon.H4, 0, 0)
			f.Narrow("sqxtn", neon.B8, 0, 0)
		}
		f.Same("smax", neon.B16, 0, 0, least)
		f.Bits("eor", 0, 0, bias)
		store(f, dst, count, 0)
	}, dst, x)
	f.Return()
}

// store writes count entries: a whole register or its lower part.
func store(f *neon.File, x stream, count int, v neon.V) {
	f.Go("%s F%d, (%s)", map[int]string{16: "FMOVQ", 8: "FMOVD", 4: "FMOVS"}[count*x.size], v, x.p)
}

// quantizeError emits QuantizeError. The product of step and a code is exact in
// float64, and a code is exact in both float types.
func quantizeError(f *neon.File) {
	const (
		lo, hi = neon.V(29), neon.V(28)
		step   = neon.V(27)
		sum    = neon.V(20) // two registers of int64
		err2   = neon.V(16) // four registers
		c, cc  = neon.V(0), neon.V(4)
		x, xx  = neon.V(2), neon.V(6)
		packed = neon.V(8)
	)
	f.Func("func quantizeErrorNEON(dst *int16, x *float32, n int, inv float32, limit int32, step float32) (sum int64, err2 float64)",
		"quantizeErrorNEON is QuantizeError of n entries, a multiple of 4.")
	f.Args("dst R0", "x R1", "n R2", "limit R3", "step F27")
	coder(f)
	f.Go("VDUP R3, V%d.S4", hi)
	f.Misc("neg", neon.S4, lo, hi)
	f.Double(neon.S2, step, step)
	f.Dup(neon.D2, step, step, 0)
	zero(f, err2, 4)
	zero(f, sum, 2)
	dst, from := stream{"R0", 2}, stream{"R1", 4}
	loop(f, "R2", 8, []int{4}, nil, func(count int) {
		loadEntries(f, from, 0, count, x)
		vectors := count / 4
		nearest(f, c, x, vectors)
		for i := range neon.V(vectors) {
			f.Same("smax", neon.S4, c+i, c+i, lo)
			f.Same("smin", neon.S4, c+i, c+i, hi)
			f.Pairwise("sadalp", neon.S4, sum+i, c+i)
		}
		f.Zip("uzp1", neon.H8, packed, c, c+neon.V(vectors-1))
		store(f, dst, count, packed)
		for i := range neon.V(vectors) {
			f.Misc("scvtf", neon.S4, c+i, c+i)
		}
		codes := doubles(f, count, c, cc)
		for i, d := range doubles(f, count, x, xx) {
			f.Same("fmls", neon.D2, d, codes[i], step)
			f.Same("fmla", neon.D2, err2+neon.V(i), d, d)
		}
	}, dst, from)
	halve(f, "add", neon.D2, sum, 2)
	f.Same("addp", neon.D2, sum, sum, sum)
	f.Go("FMOVD F%d, R0", sum)
	halve(f, "fadd", neon.D2, err2, 4)
	f.Same("faddp", neon.D2, err2, err2, err2)
	f.Return("sum R0", "err2 F16")
}

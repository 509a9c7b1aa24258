package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"thresher/simd/_generate/asm"
)

// round holds the bits of the constant by which the portable code rounds (quantize.go).
var round = math.Float32bits(12582912)

// coder rounds floats to integers exactly as the portable code does.
type coder struct {
	set
	inv, round VecVirtual
}

func (s set) coder() coder {
	c := coder{s, s.wide(), s.broadcast(round)}
	VBROADCASTSS(argument("inv"), c.inv)
	return c
}

// argument returns the address of a one-word argument.
func argument(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// broadcast returns a wide vector with v in every doubleword.
func (s set) broadcast(v uint32) VecVirtual {
	t, x := GP32(), s.wide()
	MOVL(U32(v), t)
	VMOVD(t, x.AsX())
	VPBROADCASTD(x.AsX(), x)
	return x
}

// nearest returns the integers nearest to x inv, for the wide vector x at from.
func (c coder) nearest(m *mask, from Mem) VecVirtual {
	v := c.wide()
	if m == nil {
		VMULPS(from, c.inv, v)
	} else {
		VMULPS_Z(from, c.inv, m.k, v)
	}
	VADDPS(c.round, v, v)
	VPSUBD(c.round, v, v)
	return v
}

// cut clamps v to [lo, hi].
func cut(v, lo, hi VecVirtual) {
	VPMAXSD(lo, v, v)
	VPMINSD(hi, v, v)
}

// limits returns vectors of -limit and limit.
func (s set) limits() (lo, hi VecVirtual) {
	lo, hi = s.wide(), s.wide()
	VBROADCASTSS(argument("limit"), hi)
	VPSUBD(hi, s.zero(1)[0], lo)
	return lo, hi
}

// quantize emits Quantize. It packs four vectors of integers into one of bytes, with
// saturation, and restores their order; opmasks take the remainder 16 at a time.
func quantize(s set) {
	s.text("quantize", "func(dst []uint8, x []float32, inv float32)", s.rest("Quantize", 32))
	x, dst := param("x", 4), param("dst", 1)
	n := Load(Param("x").Len(), GP64()).(GPVirtual)
	c := s.coder()
	least, bias := s.broadcast(0x81818181), s.broadcast(0x80808080)
	order := s.wide()
	if s.bytes == 64 {
		table := GLOBL("order512", RODATA|NOPTR)
		for i := range 16 {
			DATA(4*i, U32(i%4*4+i/4))
		}
		VMOVDQU32(table, order)
	} else {
		table := GLOBL("order256", RODATA|NOPTR)
		for i := range 8 {
			DATA(4*i, U32(i%2*4+i/2))
		}
		VMOVDQU(table, order)
	}
	loop(n, s.bytes, 1, func(_, _ int) {
		var v [4]VecVirtual
		for i := range v {
			v[i] = c.nearest(nil, x.at(i*s.bytes/4))
		}
		VPACKSSDW(v[1], v[0], v[0])
		VPACKSSDW(v[3], v[2], v[2])
		VPACKSSWB(v[2], v[0], v[0])
		VPERMD(v[0], order, v[0])
		VPMAXSB(least, v[0], v[0])
		if s.bytes == 64 {
			VPXORD(bias, v[0], v[0])
			VMOVDQU32(v[0], dst.at(0))
			return
		}
		VPXOR(bias, v[0], v[0])
		VMOVDQU(v[0], dst.at(0))
	}, nil, x, dst)
	if s.bytes == 64 {
		k := asm.LowBits(n)
		Label("sixteen")
		TESTQ(n, n)
		JLE(LabelRef("end"))
		v, b := c.nearest(&mask{k: k}, x.at(0)), XMM()
		VPMOVSDB(v, b)
		VPMAXSB(least.AsX(), b, b)
		VPXORD(bias.AsX(), b, b)
		VMOVDQU8(b, k, dst.at(0))
		KSHIFTRQ(U8(16), k, k)
		ADDQ(I32(64), x.p)
		ADDQ(I32(16), dst.p)
		SUBQ(I32(16), n)
		JMP(LabelRef("sixteen"))
		Label("end")
	}
	done()
}

// rest states the lengths a kernel of codes takes: any if the set has opmasks.
func (s set) rest(name string, lanes int) string {
	if s.bytes == 64 {
		return "is " + name + "."
	}
	return fmt.Sprintf("is %s of a multiple of %d entries.", name, lanes)
}

// shorts stores a wide vector of integers that fit 16 bits as 16-bit codes.
func (s set) shorts(v VecVirtual, m *mask, to Mem) {
	if s.bytes == 64 {
		y := YMM()
		VPMOVDW(v, y)
		if m == nil {
			VMOVDQU(y, to)
			return
		}
		VMOVDQU16(y, m.k, to)
		return
	}
	x := XMM()
	VEXTRACTI128(U8(1), v, x)
	VPACKSSDW(x, v.AsX(), x)
	VMOVDQU(x, to)
}

// codes emits a loop over wide vectors of floats and, with opmasks, over the remainder.
func (s set) codes(n GPVirtual, many int, step func(k, disp int, m *mask), move ...stream) {
	loop(n, s.bytes/4, many, func(k, disp int) { step(k, disp, nil) }, nil, move...)
	if s.bytes == 64 {
		TESTQ(n, n)
		JZ(LabelRef("end"))
		step(0, 0, &mask{k: asm.LowBits(n)})
		Label("end")
	}
}

// quantizeError emits QuantizeError. It adds codes as float64, where their sums are
// exact, as is the product of step and a code.
func quantizeError(s set) {
	s.text("quantizeError", "func(dst []int16, x []float32, inv float32, limit int32, step float32) (sum int64, err2 float64)",
		s.rest("QuantizeError", 8))
	x, dst := param("x", 4), param("dst", 2)
	n := Load(Param("x").Len(), GP64()).(GPVirtual)
	c := s.coder()
	lo, hi := s.limits()
	width := s.wide()
	VBROADCASTSS(argument("step"), width.AsX())
	VCVTPS2PD(width.AsX(), width.AsY())
	VBROADCASTSD(width.AsX(), width)
	sum, err2 := s.zero(2), s.zero(4)
	s.codes(n, 2, func(k, disp int, m *mask) {
		v := c.nearest(m, x.at(disp))
		cut(v, lo, hi)
		s.shorts(v, m, dst.at(disp))
		upper := s.half()
		if s.bytes == 64 {
			VEXTRACTI64X4(U8(1), v, upper)
		} else {
			VEXTRACTI128(U8(1), v, upper)
		}
		for h, half := range []VecVirtual{s.lower(v), upper} {
			code := s.wide()
			VCVTDQ2PD(half, code)
			VADDPD(code, sum[h], sum[h])
			if m != nil && h == 1 {
				KSHIFTRW(U8(8), m.k, m.k)
			}
			d := s.doubles(m, x.at(disp+h*s.bytes/8))
			VFNMADD231PD(code, width, d)
			VFMADD231PD(d, d, err2[2*k+h])
		}
	}, x, dst)
	total := GP64()
	VCVTTSD2SIQ(s.sum64(sum), total)
	done(total, s.sum64(err2))
}

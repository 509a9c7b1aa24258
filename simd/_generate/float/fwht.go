package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// fwht emits the transform of blocks of n floats: multiply by sign, transform,
// multiply by f. Vectors for half the registers go through all their stages
// between one load and one store; the remaining stages, two at most, take a second pass.
//
// A stage within a vector adds the swapped lanes to the lanes themselves, the
// upper of each pair negated: one shuffle and one fused multiply-add by +-1,
// which rounds as the addition or subtraction does.
func fwht(s set, n int) {
	s.text(fmt.Sprintf("fwht%dx", n), "func(x []float32, sign *float32, f float32)",
		fmt.Sprintf("is FWHTScale of blocks of %d.", n))
	x := param("x", 4)
	left := Load(Param("x").Len(), GP64()).(GPVirtual)
	sign := Load(Param("sign"), GP64())
	f := s.wide()
	VBROADCASTSS(argument("f"), f)
	lanes := s.bytes / 4
	var pm []VecVirtual
	for h := 1; h < lanes; h *= 2 {
		pm = append(pm, s.alternating(h))
	}
	visit := min(n, lanes*16*s.bytes/64)

	Label("block")
	TESTQ(left, left)
	JLE(LabelRef("end"))
	for at := 0; at < n; at += visit {
		v := make([]VecVirtual, visit/lanes)
		for i := range v {
			v[i] = s.wide()
		}
		for i := range v {
			VMOVUPS(x.at(at+i*lanes), v[i])
			VMULPS(Mem{Base: sign, Disp: 4 * (at + i*lanes)}, v[i], v[i])
		}
		for st, p := range pm {
			for i := range v {
				v[i] = s.within(v[i], p, 1<<st)
			}
		}
		across(s, v)
		for i := range v {
			if visit == n {
				VMULPS(f, v[i], v[i])
			}
			VMOVUPS(v[i], x.at(at+i*lanes))
		}
	}
	if visit < n {
		for at := 0; at < visit; at += lanes {
			v := make([]VecVirtual, n/visit)
			for i := range v {
				v[i] = s.wide()
				VMOVUPS(x.at(at+i*visit), v[i])
			}
			across(s, v)
			for i := range v {
				VMULPS(f, v[i], v[i])
				VMOVUPS(v[i], x.at(at+i*visit))
			}
		}
	}
	ADDQ(I32(4*n), x.p)
	ADDQ(I32(4*n), sign)
	SUBQ(I32(n), left)
	JMP(LabelRef("block"))
	Label("end")
	done()
}

// across does the stages between vectors.
func across(s set, v []VecVirtual) {
	for h := 1; h < len(v); h *= 2 {
		for i := range v {
			if i&h != 0 {
				continue
			}
			d := s.wide()
			VSUBPS(v[i+h], v[i], d)
			VADDPS(v[i+h], v[i], v[i])
			v[i+h] = d
		}
	}
}

// within does the stage at distance h within one vector; pm is alternating(h).
func (s set) within(v, pm VecVirtual, h int) VecVirtual {
	d := s.wide()
	switch h {
	case 1:
		VPERMILPS(U8(0xb1), v, d)
	case 2:
		VPERMILPS(U8(0x4e), v, d)
	case 4:
		if s.bytes == 64 {
			VSHUFF32X4(U8(0xb1), v, v, d)
		} else {
			VPERM2F128(U8(1), v, v, d)
		}
	case 8:
		VSHUFF32X4(U8(0x4e), v, v, d)
	}
	VFMADD231PS(v, pm, d)
	return d
}

var signTables = map[int]Mem{}

// alternating returns a vector of h times 1, h times -1 and so on.
func (s set) alternating(h int) VecVirtual {
	if _, ok := signTables[h]; !ok {
		signTables[h] = GLOBL(fmt.Sprintf("signs%d", h), RODATA|NOPTR)
		for i := range 16 {
			one := float32(1)
			if i&h != 0 {
				one = -1
			}
			DATA(4*i, U32(math.Float32bits(one)))
		}
	}
	v := s.wide()
	VMOVUPS(signTables[h], v)
	return v
}

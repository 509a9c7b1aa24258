package main

import (
	"fmt"

	"thresher/simd/_generate/neon"
)

// General registers of a transform.
const (
	data  = "R0"
	left  = "R1" // entries left
	signs = "R2"
	turns = "R3"
	pass  = "R4"
)

// visit is how many floats go through all their stages between a load and a store:
// sixteen registers, the greatest power of two that leaves scratch registers.
const visit = 64

// fwht emits the transform of blocks of n floats: multiply by sign, transform,
// multiply by f. Stages at distances of visit and more take a second pass.
//
// A stage within a vector adds the swapped lanes to the lanes themselves, the upper
// of each pair negated: one permutation and one fused multiply-add by +-1, which
// rounds as the addition or subtraction does.
func fwht(f *neon.File, n int) {
	f.Func(fmt.Sprintf("func fwht%dxNEON(x *float32, n int, sign *float32, f float32)", n),
		fmt.Sprintf("fwht%dxNEON is FWHTScale of n floats, blocks of %d.", n, n))
	f.Args("x "+data, "n "+left, "sign "+signs, "f F31")
	p := newPool(29)
	f.Dup(neon.S4, factor, factor, 0)
	f.Go("MOVD $0xbf8000003f800000, R5") // 1, -1
	f.Go("VDUP R5, V%d.D2", ones[0])
	f.Go("MOVD $0x3f8000003f800000, R5") // 1, 1
	f.Go("MOVD $0xbf800000bf800000, R6") // -1, -1
	f.Go("VMOV R5, V%d.D[0]", ones[1])
	f.Go("VMOV R6, V%d.D[1]", ones[1])

	block, end := f.Label("block"), f.Label("end")
	f.Go("CBZ %s, %s", left, end)
	f.At(block)
	f.Go("MOVD %s, %s", data, pass)
	again := f.Label("visit")
	if n > visit {
		f.Go("MOVD $%d, %s", n/visit, turns)
		f.At(again)
	}
	near(f, p, min(n, visit), n <= visit)
	if n > visit {
		f.Go("SUBS $1, %s, %s", turns, turns)
		f.Go("BNE %s", again)
		far(f, p, n/visit)
	}
	f.Go("SUBS $%d, %s, %s", n, left, left)
	f.Go("BNE %s", block)
	f.At(end)
	f.Return()
}

// Registers that keep their value.
const factor = neon.V(31)

var ones = [2]neon.V{30, 29} // 1, -1, 1, -1 and 1, 1, -1, -1

// pool hands out registers, the longest free first.
type pool struct{ free []neon.V }

func newPool(n int) *pool {
	p := new(pool)
	for v := range neon.V(n) {
		p.put(v)
	}
	return p
}

func (p *pool) take() neon.V {
	v := p.free[0]
	p.free = p.free[1:]
	return v
}

func (p *pool) put(v ...neon.V) { p.free = append(p.free, v...) }

// near takes n floats through their stages and advances data and signs.
func near(f *neon.File, p *pool, n int, scaled bool) {
	v := make([]neon.V, n/4)
	for i := range v {
		v[i] = p.take()
	}
	for i := 0; i < len(v); i += 2 {
		a, b := p.take(), p.take()
		f.Go("FLDPQ %d(%s), (F%d, F%d)", 16*i, data, v[i], v[i+1])
		f.Go("FLDPQ %d(%s), (F%d, F%d)", 16*i, signs, a, b)
		f.Same("fmul", neon.S4, v[i], v[i], a)
		f.Same("fmul", neon.S4, v[i+1], v[i+1], b)
		p.put(a, b)
	}
	f.Go("ADD $%d, %s, %s", 4*n, signs, signs)
	for stage, pm := range ones {
		for i, x := range v {
			v[i] = p.take()
			if stage == 0 {
				f.Misc("rev64", neon.S4, v[i], x)
			} else {
				f.Go("VEXT $8, V%d.B16, V%d.B16, V%d.B16", x, x, v[i])
			}
			f.Same("fmla", neon.S4, v[i], x, pm)
			p.put(x)
		}
	}
	across(f, p, v)
	if scaled {
		scale(f, v)
	}
	for i := 0; i < len(v); i += 2 {
		f.Go("FSTPQ (F%d, F%d), %d(%s)", v[i], v[i+1], 16*i, data)
	}
	f.Go("ADD $%d, %s, %s", 4*n, data, data)
	p.put(v...)
}

// far does the stages at distances of visit and more, in a block of visits * visit
// floats that begins at pass; a round takes eight floats of each visit.
func far(f *neon.File, p *pool, visits int) {
	again := f.Label("pass")
	f.Go("MOVD $%d, %s", visit/8, turns)
	f.At(again)
	v := make([]neon.V, 2*visits)
	for i := range visits {
		v[i], v[visits+i] = p.take(), p.take()
		f.Go("FLDPQ %d(%s), (F%d, F%d)", 4*visit*i, pass, v[i], v[visits+i])
	}
	across(f, p, v[:visits])
	across(f, p, v[visits:])
	scale(f, v)
	for i := range visits {
		f.Go("FSTPQ (F%d, F%d), %d(%s)", v[i], v[visits+i], 4*visit*i, pass)
	}
	f.Go("ADD $32, %s, %s", pass, pass)
	f.Go("SUBS $1, %s, %s", turns, turns)
	f.Go("BNE %s", again)
	p.put(v...)
}

// across does the stages between vectors.
func across(f *neon.File, p *pool, v []neon.V) {
	for h := 1; h < len(v); h *= 2 {
		for i := range v {
			if i&h != 0 {
				continue
			}
			d := p.take()
			f.Same("fsub", neon.S4, d, v[i], v[i+h])
			f.Same("fadd", neon.S4, v[i], v[i], v[i+h])
			p.put(v[i+h])
			v[i+h] = d
		}
	}
}

func scale(f *neon.File, v []neon.V) {
	for _, x := range v {
		f.Same("fmul", neon.S4, x, x, factor)
	}
}

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"thresher/simd/_generate/asm"
)

// set is an instruction set: its widest vectors, vectors half as wide, and the bytes of a wide one.
type set struct {
	name  string
	wide  func() VecVirtual
	half  func() VecVirtual
	bytes int
}

var (
	avx512 = set{"AVX512", ZMM, YMM, 64}
	avx2   = set{"AVX2", YMM, XMM, 32}
)

// text begins the function name+set, whose pointer arguments do not escape.
func (s set) text(name, signature string, doc ...string) {
	TEXT(name+s.name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(append([]string{name + s.name + " " + doc[0]}, doc[1:]...)...)
}

// done stores the results and returns. It clears the upper halves first: results are
// stored by legacy instructions, which those halves would slow down.
func done(results ...Register) {
	VZEROUPPER()
	for i, r := range results {
		Store(r, ReturnIndex(i))
	}
	RET()
}

// zero returns n zeroed wide vectors.
func (s set) zero(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = s.wide()
		x := v[i].AsX()
		VPXOR(x, x, x)
	}
	return v
}

// mask selects the first n lanes: an opmask or, without opmasks, a vector of
// doublewords and one of quadwords.
type mask struct {
	k    OpmaskVirtual
	d, q VecVirtual
}

// first returns the mask of the first n lanes of a wide vector of quadwords; n is below their number.
func (s set) first(n GPVirtual) *mask {
	if s.bytes == 64 {
		return &mask{k: asm.LowBits(n)}
	}
	at, m := GP64(), &mask{d: XMM(), q: YMM()}
	LEAQ(laneMasks(), at)
	SHLQ(U8(2), n)
	SUBQ(n, at)
	VMOVDQU(Mem{Base: at, Disp: 16}, m.d)
	VPMOVSXDQ(m.d, m.q)
	return m
}

var laneTable *Mem

// laneMasks returns a table of four doublewords of ones, then four of zeros.
func laneMasks() Mem {
	if laneTable == nil {
		m := GLOBL("lanes", RODATA|NOPTR)
		for i := range 8 {
			v := U32(0)
			if i < 4 {
				v = 1<<32 - 1
			}
			DATA(4*i, v)
		}
		laneTable = &m
	}
	return *laneTable
}

// doubles converts the floats of half a vector in memory to float64. With a mask m,
// other lanes are zero and not read.
func (s set) doubles(m *mask, from Mem) VecVirtual {
	v := s.wide()
	switch {
	case m == nil:
		VCVTPS2PD(from, v)
	case s.bytes == 64:
		VCVTPS2PD_Z(from, m.k, v)
	default:
		x := XMM()
		VMASKMOVPS(from, m.d, x)
		VCVTPS2PD(x, v)
	}
	return v
}

// load64 returns a wide vector of float64 in memory as an operand, masked like doubles.
func (s set) load64(m *mask, from Mem) Op {
	if m == nil {
		return from
	}
	v := s.wide()
	if s.bytes == 64 {
		VMOVUPD_Z(from, m.k, v)
	} else {
		VMASKMOVPD(from, m.q, v)
	}
	return v
}

// sum64 adds vectors of float64, then the lanes of the result.
func (s set) sum64(v []VecVirtual) Register {
	for len(v) > 1 {
		h := len(v) / 2
		for i := range h {
			VADDPD(v[h+i], v[i], v[i])
		}
		v = v[:h]
	}
	return asm.SumDoubles(v[0], s.bytes)
}

// lower returns the lower half of a wide vector.
func (s set) lower(v VecVirtual) VecVirtual {
	if s.bytes == 64 {
		return v.AsY().(VecVirtual)
	}
	return v.AsX().(VecVirtual)
}

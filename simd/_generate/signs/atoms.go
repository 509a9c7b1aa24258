package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"thresher/simd/_generate/asm"
)

// set is an instruction set: its widest vectors and their bytes.
type set struct {
	name  string
	wide  func() VecVirtual
	bytes int
}

// floats is how many floats the kernels of floats take a round.
const floats = 32

// text begins a kernel of x, whose length is a multiple of floats, and a loop over x,
// floats at a time; done ends the loop.
func (s set) text(name, signature, doc string) (x Register, done func()) {
	TEXT(name+s.name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + s.name + " is " + doc)
	x = Load(Param("x").Base(), GP64())
	n := Load(Param("x").Len(), GP64())
	return x, func() {
		ADDQ(U32(4*floats), x)
		SUBQ(U8(floats), n)
		JNZ(LabelRef("loop"))
	}
}

// packSigns emits PackSigns.
func packSigns(s set) {
	x, done := s.text("packSigns", "func(dst []uint8, x []float32)", "PackSigns of at least 32 entries.")
	dst := Load(Param("dst").Base(), GP64())
	order := s.wide()
	if s.bytes == 32 {
		VMOVDQU(table("order256", 8, func(i int) Constant { return U32(i%2*4 + i/2) }), order)
	}
	Label("loop")
	signs := GP32()
	if s.bytes == 64 {
		var k [2]OpmaskVirtual
		for i := range k {
			v := ZMM()
			k[i] = K()
			VMOVDQU32(Mem{Base: x, Disp: 64 * i}, v)
			VPMOVD2M(v, k[i])
		}
		KUNPCKWD(k[0], k[1], k[0])
		KMOVD(k[0], signs)
	} else {
		// Packed with saturation, which keeps signs, four vectors become one of bytes.
		var v [4]VecVirtual
		for i := range v {
			v[i] = YMM()
			VMOVDQU(Mem{Base: x, Disp: 32 * i}, v[i])
		}
		VPACKSSDW(v[1], v[0], v[0])
		VPACKSSDW(v[3], v[2], v[2])
		VPACKSSWB(v[2], v[0], v[0])
		VPERMD(v[0], order, v[0])
		VPMOVMSKB(v[0], signs)
	}
	NOTL(signs)
	MOVL(signs, Mem{Base: dst})
	ADDQ(U8(floats/8), dst)
	done()
	VZEROUPPER()
	RET()
}

// sumAbs emits SumAbs. Four accumulators hide the latency of additions.
func sumAbs(s set) {
	x, done := s.text("sumAbs", "func(x []float32) float64", "SumAbs of a multiple of 32 entries, and of 32 at least.")
	lanes := s.bytes / 8
	t, unsigned := GP64(), s.wide()
	MOVQ(U64(1<<63-1), t)
	VMOVQ(t, unsigned.AsX())
	VPBROADCASTQ(unsigned.AsX(), unsigned)
	var sums [4]VecVirtual
	for i := range sums {
		sums[i] = s.wide()
		x := sums[i].AsX()
		VPXOR(x, x, x)
	}
	Label("loop")
	for i := range floats / lanes {
		v := s.wide()
		VCVTPS2PD(Mem{Base: x, Disp: 4 * i * lanes}, v)
		VANDPD(unsigned, v, v)
		VADDPD(v, sums[i%len(sums)], sums[i%len(sums)])
	}
	done()
	VADDPD(sums[1], sums[0], sums[0])
	VADDPD(sums[3], sums[2], sums[2])
	VADDPD(sums[2], sums[0], sums[0])
	sum := asm.SumDoubles(sums[0], s.bytes)
	VZEROUPPER()
	Store(sum, ReturnIndex(0))
	RET()
}

// Command convert writes the amd64 kernels of package simd that convert vectors between float32 and
// float64.
//
//	go run ./convert -out ../convert_amd64.s -stubs ../convert_stubs_amd64.go -pkg simd
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64,!noasm,!purego")
	for _, s := range []struct {
		name       string
		wide, half func() VecVirtual
		bytes      int // of a wide vector
	}{{"AVX512", ZMM, YMM, 64}, {"AVX2", YMM, XMM, 32}} {
		TEXT("widen"+s.name, NOSPLIT, "func(dst *float64, src *float32, n int, factor float64)")
		Doc("widen" + s.name + " sets each dst[i] to factor src[i], for n entries, a multiple of 16.")
		loop(s.wide, func(dst, src Mem, factor VecVirtual) {
			x := s.wide()
			VCVTPS2PD(src, x)
			VMULPD(factor, x, x)
			VMOVUPD(x, dst)
		}, s.bytes, s.bytes/2)

		TEXT("narrow"+s.name, NOSPLIT, "func(dst *float32, src *float64, n int, factor float64)")
		Doc("narrow" + s.name + " sets each dst[i] to factor src[i], for n entries, a multiple of 16.")
		loop(s.wide, func(dst, src Mem, factor VecVirtual) {
			x, y := s.wide(), s.half()
			VMULPD(src, factor, x)
			if s.bytes == 64 {
				VCVTPD2PS(x, y)
			} else {
				VCVTPD2PSY(x, y)
			}
			VMOVUPS(y, dst)
		}, s.bytes/2, s.bytes)
	}
	Generate()
}

// loop converts vectors, until n entries are done; to and from are the bytes of one in dst and src.
func loop(vector func() VecVirtual, step func(dst, src Mem, factor VecVirtual), to, from int) {
	Pragma("noescape")
	load := func(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }
	dst, src, n, factor := load("dst"), load("src"), load("n"), vector()
	f, err := Param("factor").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(f.Addr, factor)
	Label("next")
	SUBQ(U8(16), n)
	JLT(LabelRef("done"))
	vectors := 16 * 8 / max(to, from)
	for i := range vectors {
		step(Mem{Base: dst, Disp: to * i}, Mem{Base: src, Disp: from * i}, factor)
	}
	ADDQ(U32(uint32(to*vectors)), dst)
	ADDQ(U32(uint32(from*vectors)), src)
	JMP(LabelRef("next"))
	Label("done")
	VZEROUPPER()
	RET()
}

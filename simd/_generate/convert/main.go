// Command convert writes the amd64 kernels of package simd that convert vectors between float32 and
// float64, and from narrower types to float32.
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

		for _, t := range narrower(s.wide) {
			TEXT(t.name+s.name, NOSPLIT, "func(dst *float32, src *"+t.of+", n int)")
			Doc(t.name + s.name + " sets each dst[i] to src[i], for n entries, a multiple of 16.")
			Pragma("noescape")
			dst, src, n, step := pointer("dst"), pointer("src"), pointer("n"), t.step()
			Label("next")
			SUBQ(U8(16), n)
			JLT(LabelRef("done"))
			for i := range 16 * 4 / s.bytes {
				VMOVUPS(step(Mem{Base: src, Disp: i * s.bytes / 4 * t.bytes}), Mem{Base: dst, Disp: i * s.bytes})
			}
			ADDQ(U8(64), dst)
			ADDQ(U8(uint8(16*t.bytes)), src)
			JMP(LabelRef("next"))
			Label("done")
			VZEROUPPER()
			RET()
		}
	}
	Generate()
}

// narrow is a type that float32 holds: step, made once before the loop, converts a vector of it.
type narrow struct {
	name, of string
	bytes    int
	step     func() func(src Mem) VecVirtual
}

// narrower returns the types, for vectors of float32.
func narrower(vector func() VecVirtual) []narrow {
	simple := func(convert func(src Mem, x VecVirtual)) func() func(Mem) VecVirtual {
		return func() func(Mem) VecVirtual {
			return func(src Mem) VecVirtual {
				x := vector()
				convert(src, x)
				return x
			}
		}
	}
	return []narrow{
		{"halves", "uint16", 2, func() func(Mem) VecVirtual {
			// Exponent and fraction, placed in a float32, are the value times 2^-112, subnormals included.
			sign, factor := vector(), vector()
			broadcast(0x80000000, sign)
			broadcast(0x77800000, factor) // 2^112
			return func(src Mem) VecVirtual {
				x, s := vector(), vector()
				VPMOVZXWD(src, x)
				VPSLLD(U8(16), x, s)
				and(sign, s, s)
				VPSLLD(U8(17), x, x)
				VPSRLD(U8(4), x, x)
				VMULPS(factor, x, x)
				or(s, x, x)
				return x
			}
		}},
		{"upperHalves", "uint16", 2, simple(func(src Mem, x VecVirtual) {
			VPMOVZXWD(src, x)
			VPSLLD(U8(16), x, x)
		})},
		{"signed", "uint8", 1, simple(func(src Mem, x VecVirtual) {
			VPMOVSXBD(src, x)
			VCVTDQ2PS(x, x)
		})},
		{"unsigned", "uint8", 1, simple(func(src Mem, x VecVirtual) {
			VPMOVZXBD(src, x)
			VCVTDQ2PS(x, x)
		})},
	}
}

// broadcast sets all lanes of x to 32 bits.
func broadcast(bits uint32, x VecVirtual) {
	g := GP32()
	MOVL(U32(bits), g)
	low := XMM()
	VMOVD(g, low)
	VPBROADCASTD(low, x)
}

// and and or are of the bits of vectors of either size.
func and(a, b, x VecVirtual) {
	if x.Size() == 64 {
		VPANDD(a, b, x)
	} else {
		VPAND(a, b, x)
	}
}

func or(a, b, x VecVirtual) {
	if x.Size() == 64 {
		VPORD(a, b, x)
	} else {
		VPOR(a, b, x)
	}
}

// pointer loads a parameter.
func pointer(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

// loop converts vectors, until n entries are done; to and from are the bytes of one in dst and src.
func loop(vector func() VecVirtual, step func(dst, src Mem, factor VecVirtual), to, from int) {
	Pragma("noescape")
	dst, src, n, factor := pointer("dst"), pointer("src"), pointer("n"), vector()
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

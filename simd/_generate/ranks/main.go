// Command ranks writes the amd64 kernels of package simd that count the values from several pivots
// on.
//
//	go run ./ranks -out ../ranks_amd64.s -stubs ../ranks_stubs_amd64.go -pkg simd
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"thresher/simd/_generate/asm"
)

const (
	// atLeast is the quiet predicate of VCMPPS for "greater or equal, and no NaN".
	atLeast = 0x1d
	pivots  = 8
)

func main() {
	ConstraintExpr("amd64,!noasm,!purego")
	opmasks()
	vectors()
	Generate()
}

// text begins a function and returns its arguments.
func text(name string, doc ...string) (values, n, least, counts GPVirtual) {
	TEXT(name, NOSPLIT, "func(values *float32, n int, pivots *float32, counts *int32)")
	Doc(doc...)
	Pragma("noescape")
	load := func(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }
	return load("values"), load("n"), load("pivots"), load("counts")
}

// opmasks counts the bits of comparisons.
func opmasks() {
	values, n, least, counts := text("ranksAVX512", "ranksAVX512 sets counts to how many of n values are at least each of 8 pivots.")
	var pivot [pivots]VecVirtual
	var count [pivots]GPVirtual
	for j := range pivots {
		pivot[j], count[j] = ZMM(), GP32()
		VBROADCASTSS(Mem{Base: least, Disp: 4 * j}, pivot[j])
		XORL(count[j], count[j])
	}
	add := func(x VecVirtual, some OpmaskVirtual) {
		for j := range pivots {
			k, bits := K(), GP32()
			if some == nil {
				VCMPPS(U8(atLeast), pivot[j], x, k)
			} else {
				VCMPPS(U8(atLeast), pivot[j], x, some, k)
			}
			KMOVW(k, bits)
			POPCNTL(bits, bits)
			ADDL(bits, count[j])
		}
	}
	Label("many")
	SUBQ(U8(16), n)
	JLT(LabelRef("few"))
	x := ZMM()
	VMOVUPS(Mem{Base: values}, x)
	add(x, nil)
	ADDQ(U8(64), values)
	JMP(LabelRef("many"))
	Label("few")
	ADDQ(U8(16), n)
	JZ(LabelRef("done"))
	some, last := asm.LowBits(n), ZMM()
	VMOVUPS_Z(Mem{Base: values}, some, last)
	add(last, some)
	Label("done")
	for j := range pivots {
		MOVL(count[j], Mem{Base: counts, Disp: 4 * j})
	}
	VZEROUPPER()
	RET()
}

// vectors adds comparisons lane by lane. The pivots are in memory, for want of registers.
func vectors() {
	values, n, least, counts := text("ranksAVX2", "ranksAVX2 sets counts to how many of n values, a multiple of 8, are at least each of 8 pivots.")
	all := AllocLocal(32 * pivots)
	var count [pivots]VecVirtual
	for j := range pivots {
		p := YMM()
		VBROADCASTSS(Mem{Base: least, Disp: 4 * j}, p)
		VMOVUPS(p, all.Offset(32*j))
		count[j] = YMM()
		VPXOR(count[j], count[j], count[j])
	}
	Label("many")
	SUBQ(U8(8), n)
	JLT(LabelRef("done"))
	x := YMM()
	VMOVUPS(Mem{Base: values}, x)
	for j := range pivots {
		is := YMM()
		VCMPPS(U8(atLeast), all.Offset(32*j), x, is)
		VPSUBD(is, count[j], count[j])
	}
	ADDQ(U8(32), values)
	JMP(LabelRef("many"))
	Label("done")
	for j := 0; j < pivots; j += 4 {
		c := count[j : j+4]
		VPHADDD(c[1], c[0], c[0])
		VPHADDD(c[3], c[2], c[2])
		VPHADDD(c[2], c[0], c[0])
		upper := XMM()
		VEXTRACTI128(U8(1), c[0], upper)
		VPADDD(upper, c[0].AsX(), upper)
		VMOVDQU(upper, Mem{Base: counts, Disp: 4 * j})
	}
	VZEROUPPER()
	RET()
}

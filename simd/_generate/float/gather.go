package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Gathers are done by single loads and inserts: half the time of VGATHERDPS on Zen 4
// and no slower elsewhere. One version serves every instruction set. Indices are
// checked before they are followed.

// indices is a list of indices into an array of floats.
type indices struct {
	list  stream
	array GPVirtual
	last  VecVirtual // the greatest valid index, in each lane
}

func newIndices(list, array string) indices {
	last := YMM()
	VBROADCASTSS(argument("last"), last)
	return indices{param(list, 4), Load(Param(array).Base(), GP64()).(GPVirtual), last}
}

// refuse jumps to label unless the next 16 indices are valid.
func (x indices) refuse(label string) {
	v, bits := YMM(), GP32()
	VMOVDQU(x.list.at(0), v)
	VPMAXUD(x.list.at(8), v, v)
	VPMAXUD(x.last, v, v)
	VPCMPEQD(x.last, v, v)
	VPMOVMSKB(v, bits)
	CMPL(bits, I8(-1))
	JNE(LabelRef(label))
}

// four loads the floats at the four indices from the disp-th on.
func (x indices) four(disp int) VecVirtual {
	var pair [2]VecVirtual
	for i := range pair {
		lo, hi := GP64(), GP64()
		MOVQ(x.list.at(disp+2*i), hi)
		MOVL(hi.As32(), lo.As32())
		SHRQ(U8(32), hi)
		pair[i] = XMM()
		VMOVSS(Mem{Base: x.array, Index: lo, Scale: 4}, pair[i])
		VINSERTPS(U8(0x10), Mem{Base: x.array, Index: hi, Scale: 4}, pair[i], pair[i])
	}
	VMOVLHPS(pair[1], pair[0], pair[0])
	return pair[0]
}

// permute emits Permute.
func permute() {
	avx2.text("permute", "func(dst []float32, src []float32, perm []uint32, last uint32) (done int)",
		"is Permute of whole sixteens. It stops before sixteen",
		"indices of which one is beyond last, the greatest valid one, and returns",
		"the number of entries done.")
	x := newIndices("perm", "src")
	dst := param("dst", 4)
	n := Load(Param("dst").Len(), GP64()).(GPVirtual)
	loop(n, 16, 1, func(_, _ int) {
		x.refuse("tail")
		for at := 0; at < 16; at += 8 {
			lo, hi := x.four(at), x.four(at+4)
			v := YMM()
			VINSERTF128(U8(1), hi, lo.AsY(), v)
			VMOVUPS(v, dst.at(at))
		}
	}, nil, x.list, dst)
	did(n, "dst")
}

// did returns the length of a slice less n, the entries left, followed by results.
func did(n GPVirtual, slice string, results ...Register) {
	total := GP64()
	Load(Param(slice).Len(), total)
	SUBQ(n, total)
	done(append([]Register{total}, results...)...)
}

// dotGather emits DotGather.
func dotGather() {
	avx2.text("dotGather", "func(a []float32, perm []uint32, q []float64, last uint32) (done int, sum float64, squares float64)",
		"is DotGather of whole sixteens. It stops before sixteen",
		"indices of which one is beyond last, the greatest valid one, and returns",
		"the number of entries done.")
	x := newIndices("perm", "a")
	q := param("q", 8)
	n := Load(Param("perm").Len(), GP64()).(GPVirtual)
	sum, squares := avx2.zero(unroll), avx2.zero(unroll)
	loop(n, 16, 1, func(_, _ int) {
		x.refuse("tail")
		for k := range unroll {
			v := YMM()
			VCVTPS2PD(x.four(4*k), v)
			VMULPD(q.at(4*k), v, v)
			VADDPD(v, sum[k], sum[k])
			VFMADD231PD(v, v, squares[k])
		}
	}, nil, x.list, q)
	did(n, "perm", avx2.sum64(sum), avx2.sum64(squares))
}

// fetch emits Fetch.
func fetch() {
	TEXT("fetchLines", NOSPLIT, "func(x *float32, bytes int)")
	Doc("fetchLines prefetches the lines of so many bytes from x on to the level-2 cache.")
	Pragma("noescape")
	x, n := Load(Param("x"), GP64()), Load(Param("bytes"), GP64())
	at := GP64()
	XORQ(at, at)
	JMP(LabelRef("next"))
	Label("line")
	PREFETCHT1(Mem{Base: x, Index: at, Scale: 1})
	ADDQ(U8(64), at)
	Label("next")
	CMPQ(at, n)
	JLT(LabelRef("line"))
	RET()
}

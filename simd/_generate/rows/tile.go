package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	// tileQueries is the number of queries whose products with group rows are summed at a time.
	tileQueries = 4
	// panelRows is the number of rows that a call sums, and sumsSize the bytes of their sums with a query.
	panelRows = 64
	sumsSize  = 8 * panelRows
)

// tiles emits the kernel that sums the products of consecutive rows with several queries: 16
// sums of four rows and four queries at a time, which share the loads and the additions across lanes.
func tiles() {
	TEXT("rowTilesAVX512", NOSPLIT, "func(out *int32, rows *uint8, stride int, codes *int8, codeStride, groups, back, head, end, ahead int)")
	Doc("rowTilesAVX512 is Rows8 of 64 consecutive rows, whose rest ends at end, for groups of 4",
		"queries, of which the last begins back queries earlier. Sums of one query are 512 bytes",
		"after those of the one before. Lines ahead bytes later are prefetched. groups >= 1.")
	Pragma("noescape")
	k := &kernel{avx512: true, ends: [2]Mem{argument("head"), argument("end")}}
	k.prepareAVX512("")
	var lines, rest [2]Mem // whole lines of head and of rest, and codes beyond those
	for part, end := range k.ends {
		n, left := GP64(), GP64()
		MOVQ(end, n)
		if part == 1 {
			SUBQ(k.ends[0], n)
		}
		MOVQ(n, left)
		SHRQ(U8(6), n)
		ANDQ(U8(line-1), left)
		lines[part], rest[part] = AllocLocal(8), AllocLocal(8)
		MOVQ(n, lines[part])
		MOVQ(left, rest[part])
	}
	times3 := func(a Register) Register {
		b := GP64()
		LEAQ(Mem{Base: a, Index: a, Scale: 2}, b)
		return b
	}
	stride, step := Load(Param("stride"), GP64()), Load(Param("codeStride"), GP64())
	stride3, step3 := times3(stride), times3(step)
	four := func(base, step, step3 Register) []Mem {
		m := Mem{Base: base}
		return []Mem{m, m.Idx(step, 1), m.Idx(step, 2), m.Idx(step3, 1)}
	}
	at, later, query, out, left := Load(Param("rows"), GP64()), GP64(), GP64(), GP64(), GP64()
	MOVQ(at, later)
	ADDQ(argument("ahead"), later)
	rows, code, fetched := four(at, stride, stride3), four(query, step, step3), four(later, stride, stride3)
	advance := func(by Op) {
		for _, p := range []Op{at, later, query} {
			ADDQ(by, p)
		}
	}
	first, groups, tiles := AllocLocal(8), AllocLocal(8), AllocLocal(8)
	backCodes, backSums := AllocLocal(8), AllocLocal(8)
	back := Load(Param("back"), GP64())
	MOVQ(back, out)
	SHLQ(U8(9), out)
	MOVQ(out, backSums)
	IMULQ(step, back)
	MOVQ(back, backCodes)
	MOVQ(argument("out"), out)
	MOVQ(out, first)
	MOVQ(U32(panelRows/group), tiles)

	Label("rows")
	MOVQ(argument("codes"), query)
	MOVQ(first, out)
	MOVQ(argument("groups"), left)
	MOVQ(left, groups)
	Label("queries")
	var sums [2]VecVirtual
	for part := range k.ends {
		acc := k.zeros(group * tileQueries)
		load := func(from Mem, mask Register) VecVirtual {
			x := ZMM()
			if mask == nil {
				VMOVDQU64(from, x)
			} else {
				VMOVDQU8_Z(from, mask, x)
			}
			return x
		}
		add := func(mask Register) {
			for _, line := range fetched {
				PREFETCHT1(line)
			}
			var q []VecVirtual
			for _, from := range code {
				q = append(q, load(from, mask))
			}
			for r, from := range rows {
				x := load(from, mask)
				for i := range q {
					VPDPBUSD(q[i], x, acc[group*i+r])
				}
			}
		}
		loop, past, next := k.label("line"), k.label("past"), k.label("next")
		MOVQ(lines[part], left)
		TESTQ(left, left)
		JEQ(LabelRef(past))
		Label(loop)
		add(nil)
		advance(I8(line))
		DECQ(left)
		JNE(LabelRef(loop))
		Label(past)
		KTESTQ(k.tails[part], k.tails[part])
		JEQ(LabelRef(next))
		add(k.tails[part])
		MOVQ(rest[part], left)
		advance(left)
		Label(next)
		sums[part] = k.across(acc)
	}
	k.storeTile(sums[0], sums[1], out)
	MOVQ(k.ends[1], left)
	NEGQ(left)
	advance(left)
	LEAQ(Mem{Base: query, Index: step, Scale: tileQueries}, query)
	ADDQ(I32(tileQueries*sumsSize), out)
	DECQ(groups)
	JEQ(LabelRef("next"))
	CMPQ(groups, U8(1))
	JNE(LabelRef("queries"))
	SUBQ(backCodes, query)
	SUBQ(backSums, out)
	JMP(LabelRef("queries"))
	Label("next")
	LEAQ(Mem{Base: at, Index: stride, Scale: group}, at)
	LEAQ(Mem{Base: later, Index: stride, Scale: group}, later)
	ADDQ(I8(8*group), first)
	DECQ(tiles)
	JNE(LabelRef("rows"))
	VZEROUPPER()
	RET()
}

// storeTile stores the sums of head and rest, those of a query's rows in each 128 bits, alternately.
func (k *kernel) storeTile(head, rest VecVirtual, out Register) {
	for half, unpack := range []func(...Op){VPUNPCKLDQ, VPUNPCKHDQ} {
		v := ZMM()
		unpack(rest, head, v)
		for q := range tileQueries {
			to := Mem{Base: out, Disp: sumsSize*q + 16*half}
			if q == 0 {
				VMOVDQU32(v.AsX(), to)
				continue
			}
			VEXTRACTI32X4(U8(uint8(q)), v, to)
		}
	}
}

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// transpose writes sixteen lanes of a panel from sixteen codes of sixteen rows at a
// time: a line of each quad. Registers hold four codes of a row as a doubleword, and four
// rows beside the next four. AVX-512 has no more shuffles a cycle, so there is one
// kernel.
//
// It prefetches one line of each later row while it transposes as many bytes of sixteen
// rows: four lines a step. Each line is prefetched again four steps later, since a
// processor may drop prefetches while many misses are outstanding; rows come from memory
// a fifth faster for it.
func transpose() {
	TEXT("transposeAVX2", NOSPLIT, "func(panel, rows *uint8, stride, width, ahead int)")
	Pragma("noescape")
	Doc("transposeAVX2 is Transpose of 16 rows to 16 lanes, from panel's first on;",
		"the rows ahead bytes later are prefetched. width >= 16.")
	panel := Load(Param("panel"), GP64())
	rows := Load(Param("rows"), GP64())
	stride := Load(Param("stride"), GP64())
	left := Load(Param("width"), GP64())
	stride3 := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	var fours []Register // addresses of rows 0, 4, 8, 12
	for range 4 {
		p := GP64()
		MOVQ(rows, p)
		LEAQ(Mem{Base: rows, Index: stride, Scale: 4}, rows)
		fours = append(fours, p)
	}
	fetched, turn := GP64(), GP64()
	MOVQ(fours[0], fetched)
	ADDQ(Load(Param("ahead"), GP64()), fetched)
	MOVQ(I32(4), turn)
	SUBQ(I8(16), left)
	Label("codes")
	for _, line := range []int{0, -64} {
		m := Mem{Base: fetched, Disp: line}
		for _, row := range []Mem{m, m.Idx(stride, 1), m.Idx(stride, 2), m.Idx(stride3, 1)} {
			PREFETCHT1(row)
		}
	}
	LEAQ(Mem{Base: fetched, Index: stride, Scale: 4}, fetched)
	DECQ(turn)
	JNE(LabelRef("fetched"))
	sixteen := GP64()
	MOVQ(stride, sixteen)
	SHLQ(U8(4), sixteen)
	SUBQ(sixteen, fetched)
	ADDQ(I8(64), fetched)
	MOVQ(I32(4), turn)
	Label("fetched")
	for half := range 2 {
		var rows [4]VecVirtual // i and i+4
		low := Mem{Base: fours[2*half]}
		high := Mem{Base: fours[2*half+1]}
		for i, at := range []func(Mem) Mem{
			func(m Mem) Mem { return m },
			func(m Mem) Mem { return m.Idx(stride, 1) },
			func(m Mem) Mem { return m.Idx(stride, 2) },
			func(m Mem) Mem { return m.Idx(stride3, 1) },
		} {
			rows[i] = YMM()
			VMOVDQU(at(low), rows[i].AsX())
			VINSERTI128(U8(1), at(high), rows[i], rows[i])
		}
		a, b, c, d := YMM(), YMM(), YMM(), YMM()
		VPUNPCKLDQ(rows[1], rows[0], a)
		VPUNPCKHDQ(rows[1], rows[0], b)
		VPUNPCKLDQ(rows[3], rows[2], c)
		VPUNPCKHDQ(rows[3], rows[2], d)
		to := func(k int) Mem { return Mem{Base: panel, Disp: quad*k + 32*half} }
		for k, pair := range [][2]VecVirtual{{a, c}, {b, d}} {
			v := YMM()
			VPUNPCKLQDQ(pair[1], pair[0], v)
			VMOVDQU(v, to(2*k))
			VPUNPCKHQDQ(pair[1], pair[0], v)
			VMOVDQU(v, to(2*k+1))
		}
	}
	// The last step may go back so that it ends where the rows end.
	TESTQ(left, left)
	JEQ(LabelRef("done"))
	step := GP64()
	MOVQ(I32(16), step)
	CMPQ(left, step)
	CMOVQLT(left, step)
	SUBQ(step, left)
	for _, p := range fours {
		ADDQ(step, p)
	}
	SHLQ(U8(6), step)
	ADDQ(step, panel)
	JMP(LabelRef("codes"))
	Label("done")
	VZEROUPPER()
	RET()
}

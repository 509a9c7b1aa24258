package main

import (
	"fmt"
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// dots emits Dots or SquaredDistances. Rows lie anywhere in memory, and hardware
// prefetchers do not cross a page's end, so the first rows are prefetched at once and
// then, while a row is summed, the row ahead places later. They go to the level-2
// cache, which can have more misses outstanding than level 1. The entries of rows have size bytes.
func dots(s set, name, of string, size int, t term) {
	s.text(name, fmt.Sprintf("func(out []float64, rows []float%d, ld int, ids []uint32, q []float64, ahead int)", 8*size),
		"is "+of+"; all ids are valid, neither ids nor q is empty.",
		"The row ahead places later, at least one, is prefetched while one is summed.")
	out, ids := param("out", 8), param("ids", 4)
	rows := Load(Param("rows").Base(), GP64()).(GPVirtual)
	ld := Load(Param("ld"), GP64()).(GPVirtual)
	shift := U8(bits.TrailingZeros(uint(size)))
	SHLQ(shift, ld)
	left := Load(Param("ids").Len(), GP64()).(GPVirtual)
	ahead := Load(Param("ahead"), GP64()).(GPVirtual)
	// row returns the address of the row index places ahead in the list.
	row := func(index GPVirtual) GPVirtual {
		p := GP64()
		MOVL(Mem{Base: ids.p, Index: index, Scale: 4}, p.As32())
		IMULQ(ld, p)
		ADDQ(rows, p)
		return p
	}

	add := t(s)
	first, bytes := GP64(), GP64()
	MOVQ(ahead, first)
	CMPQ(left, first)
	CMOVQLT(left, first)
	Label("early")
	DECQ(first)
	early := row(first)
	Load(Param("q").Len(), bytes)
	SHLQ(shift, bytes)
	Label("line")
	PREFETCHT1(Mem{Base: early})
	ADDQ(I32(64), early)
	SUBQ(I32(64), bytes)
	JGE(LabelRef("line"))
	TESTQ(first, first)
	JNZ(LabelRef("early"))

	Label("row")
	// Advance by ahead, but not beyond the last row.
	n, zero := GP64(), GP64()
	MOVQ(left, n)
	DECQ(n)
	CMPQ(n, ahead)
	CMOVQGT(ahead, n)
	far := row(n)
	XORQ(zero, zero)
	a := stream{row(zero), size}
	q := stream{GP64(), 8}
	Load(Param("q").Base(), q.p)
	Load(Param("q").Len(), n)
	sum := s.canonical(n, add.of(s, a, q), func() {
		for line := 0; line < size*lanes; line += 64 {
			PREFETCHT1(Mem{Base: far, Disp: line})
		}
		ADDQ(I32(size*lanes), far)
	}, a, q)
	PREFETCHT1(Mem{Base: far})
	VMOVSD(sum, out.at(0))
	ADDQ(I8(8), out.p)
	ADDQ(I8(4), ids.p)
	DECQ(left)
	JNZ(LabelRef("row"))
	done()
}

// together is how many rows dotsTogether sums at once.
const together = 4

// dotsTogether emits the loop of dots over groups of rows that are summed at once: they share the
// vectors of the query, and their sums hide each other's latency. It takes two to four registers a
// row, so it needs AVX-512.
func dotsTogether(s set, name, of string, t term) {
	s.text(name, "func(out []float64, rows []float32, ld int, ids []uint32, q []float64, ahead int)",
		"is "+of+" of the first len(ids) &^ 3 rows; all ids are valid, neither ids nor q is empty.",
		"The rows from ahead places later on are prefetched while others are summed; none if ahead is 0.")
	out, ids := param("out", 8), param("ids", 4)
	left := Load(Param("ids").Len(), GP64()).(GPVirtual)

	Label("group")
	SUBQ(U8(together), left)
	JLT(LabelRef("done"))
	rows := Load(Param("rows").Base(), GP64()).(GPVirtual)
	ld := Load(Param("ld"), GP64()).(GPVirtual)
	SHLQ(U8(2), ld)
	row := func(p GPVirtual) {
		IMULQ(ld, p)
		ADDQ(rows, p)
	}
	var a, far [together]GPVirtual
	for r := range a {
		a[r] = GP64()
		MOVL(ids.at(r), a[r].As32())
		row(a[r])
	}
	ahead := Load(Param("ahead"), GP64()).(GPVirtual)
	for r := range far { // not beyond the last row
		far[r] = GP64()
		LEAQ(Mem{Base: left, Disp: together - 1}, far[r])
		CMPQ(far[r], ahead)
		CMOVQGT(ahead, far[r])
		MOVL(Mem{Base: ids.p, Index: far[r], Scale: 4}, far[r].As32())
		row(far[r])
		INCQ(ahead)
	}
	at, n, q := GP64(), GP64(), GP64()
	XORQ(at, at)
	Load(Param("q").Base(), q)
	Load(Param("q").Len(), n)
	width := s.bytes / 8
	acc := make([][]VecVirtual, together)
	for r := range acc {
		acc[r] = s.zero(lanes / width)
	}
	add := t(s)
	step := func(k, disp int, m *mask) {
		entries := s.load64(m, Mem{Base: q, Index: at, Scale: 2, Disp: 8 * disp})
		if m == nil {
			v := s.wide()
			VMOVUPD(entries, v)
			entries = v
		}
		for r := range a {
			add(acc[r][k], entries, s.doubles(m, Mem{Base: a[r], Index: at, Scale: 1, Disp: 4 * disp}))
		}
	}
	fetch := func() {
		for _, f := range far {
			for line := 0; line < 4*lanes; line += 64 {
				PREFETCHT1(Mem{Base: f, Index: at, Scale: 1, Disp: line})
			}
		}
	}
	CMPQ(ahead, U8(together))
	JEQ(LabelRef("near"))
	Label("fetching")
	CMPQ(n, U8(lanes))
	JLT(LabelRef("near"))
	fetch()
	for k := range acc[0] {
		step(k, k*width, nil)
	}
	ADDQ(U8(4*lanes), at)
	SUBQ(U8(lanes), n)
	JMP(LabelRef("fetching"))
	Label("near")
	s.turns("", n, len(acc[0]), step, nil, func() { ADDQ(I32(4*lanes), at) })
	for r := range acc {
		VMOVSD(s.sum64(acc[r]), out.at(r))
	}
	ADDQ(U8(8*together), out.p)
	ADDQ(U8(4*together), ids.p)
	JMP(LabelRef("group"))
	Label("done")
	done()
}

package main

import (
	"fmt"
	"math/bits"

	"thresher/simd/_generate/neon"
)

// Sums that are not canonical take 16 entries a round into eight registers of two. That
// many multiply-adds are in flight with four units of latency four, when every other
// instruction converts. The remainder is taken in eights, fours, twos and ones, each
// into its own accumulators.
const (
	turn = 16
	sums = 8 // registers of a sum
)

// parts loops over n entries and the remainder. step takes count entries, at most
// eight, from entry from on, into the accumulators from acc on.
func parts(f *neon.File, n string, each func(), step func(count, from int, acc neon.V), streams ...stream) {
	loop(f, n, turn, []int{8, 4, 2, 1}, each, func(count int) {
		switch count {
		case turn:
			step(8, 0, 0)
			step(8, 8, 4)
		case 8:
			step(8, 0, 0)
		case 4:
			step(4, 0, 4)
		case 2:
			step(2, 0, 6)
		case 1:
			step(1, 0, 7)
		}
	}, streams...)
}

// doubles converts count floats in registers from v on to float64, into these and
// registers from upper on. It returns the registers in order.
func doubles(f *neon.File, count int, v, upper neon.V) (in []neon.V) {
	for ; count > 0; count, v, upper = count-4, v+1, upper+1 {
		if count > 2 {
			f.Double(neon.S4, upper, v)
		}
		f.Double(neon.S2, v, v)
		in = append(in, v)
		if count > 2 {
			in = append(in, upper)
		}
	}
	return in
}

// total adds the accumulators from acc on; both lanes hold the sum.
func total(f *neon.File, acc neon.V) {
	halve(f, "fadd", neon.D2, acc, sums)
	f.Same("faddp", neon.D2, acc, acc, acc)
}

// A canonical sum (simd/sums.go) has lanes for half the registers, two in each, so a
// round over lanes entries keeps as many additions in flight.
const lanes = 32

// term adds count entries, from entry from on, to the accumulators from acc on.
type term func(count, from int, acc neon.V)

// canonical leaves the canonical sum of n entries in both lanes of register 0. each may
// be nil and is called once a round. The streams advance, and n is destroyed.
func canonical(f *neon.File, n string, each func(), t term, streams ...stream) {
	zero(f, 0, lanes/2)
	many, tail, end := f.Label("turn"), f.Label("tail"), f.Label("end")
	f.Go("SUBS $%d, %s, %s", lanes, n, n)
	f.Go("BLT %s", tail)
	f.At(many)
	if each != nil {
		each()
	}
	for from := 0; from < lanes; from += 8 {
		t(8, from, neon.V(from/2))
	}
	forward(f, lanes, streams)
	f.Go("SUBS $%d, %s, %s", lanes, n, n)
	f.Go("BGE %s", many)
	f.At(tail)
	f.Go("ADDS $%d, %s, %s", lanes, n, n)
	f.Go("BEQ %s", end)
	var rest [lanes / 8]string // labels for fewer than eight entries left
	for k := range rest {
		rest[k] = f.Label("rest")
	}
	for k, label := range rest {
		if k < len(rest)-1 {
			f.Go("SUBS $8, %s, %s", n, n)
			f.Go("BLT %s", label)
			t(8, 8*k, neon.V(4*k))
		}
	}
	for k := len(rest) - 1; k >= 0; k-- {
		f.At(rest[k]) // n is less by eight, but its low bits count the entries left
		fewer(f, n, 4, 8*k, t, end)
	}
	f.At(end)
	halve(f, "fadd", neon.D2, 0, lanes/2)
	f.Same("faddp", neon.D2, 0, 0, 0)
}

// fewer takes the remaining entries, whose number is the bits of n below 2 most and may
// be 0, by t and jumps to end.
func fewer(f *neon.File, n string, most, from int, t term, end string) {
	if most == 0 {
		f.Go("B %s", end)
		return
	}
	none := f.Label("none")
	f.Go("TBZ $%d, %s, %s", bits.TrailingZeros(uint(most)), n, none)
	t(most, from, neon.V(from/2))
	fewer(f, n, most/2, from+most, t, end)
	f.At(none)
	fewer(f, n, most/2, from, t, end)
}

// Registers of terms.
const (
	query = neon.V(16) // four
	row   = neon.V(20) // two, and two more for their float64; or four of float64
)

// termOf returns the term of a row and a query; kind is product or squaredDifference.
func termOf(f *neon.File, kind func(f *neon.File, acc, row, query neon.V), a, q stream) term {
	return func(count, from int, acc neon.V) {
		loadEntries(f, q, from, count, query)
		loadEntries(f, a, from, count, row)
		if a.size == 8 {
			for i := range neon.V((count + 1) / 2) {
				kind(f, acc+i, row+i, query+i)
			}
			return
		}
		for i, v := range doubles(f, count, row, row+2) {
			kind(f, acc+neon.V(i), v, query+neon.V(i))
		}
	}
}

func product(f *neon.File, acc, row, query neon.V) { f.Same("fmla", neon.D2, acc, row, query) }

// roundedProduct rounds the product before it is added.
func roundedProduct(f *neon.File, acc, row, query neon.V) {
	f.Same("fmul", neon.D2, row, row, query)
	f.Same("fadd", neon.D2, acc, acc, row)
}

// squaredDifference rounds the square before it is added.
func squaredDifference(f *neon.File, acc, row, query neon.V) {
	f.Same("fsub", neon.D2, row, query, row)
	f.Same("fmul", neon.D2, row, row, row)
	f.Same("fadd", neon.D2, acc, acc, row)
}

// dot emits Dot or SquaredDistance.
func dot(f *neon.File, name, is string, kind func(f *neon.File, acc, row, query neon.V)) {
	f.Func("func "+name+"NEON(a *float32, q *float64, n int) (sum float64)", name+"NEON is "+is+" of n entries.")
	f.Args("a R0", "q R1", "n R2")
	a, q := stream{"R0", 4}, stream{"R1", 8}
	canonical(f, "R2", nil, termOf(f, kind, a, q), a, q)
	f.Return("sum F0")
}

// dots emits Dots or SquaredDistances. Rows lie anywhere in memory, and hardware
// prefetchers do not cross a page's end, so the first rows are prefetched at once and
// then, while a row is summed, the row ahead places later. They go to the level-2
// cache, which can have more misses outstanding than level 1. The entries of rows have size bytes.
func dots(f *neon.File, name, is string, size int, kind func(f *neon.File, acc, row, query neon.V)) {
	const (
		out, rows, ld, ids = "R0", "R1", "R2", "R3"
		left, ahead        = "R4", "R5"
		a, far             = "R6", "R8"
		q, n, at           = "R10", "R11", "R12"
		line               = 64
	)
	f.Func(fmt.Sprintf("func %sNEON(out *float64, rows *float%d, ld int, ids *uint32, count int, q *float64, n, ahead int)", name, 8*size),
		name+"NEON is "+is+" of count rows of n floats, neither 0; all ids are valid.\n"+
			"The row ahead places later, at least one, is prefetched while one is summed.")
	f.Args("out "+out, "rows "+rows, "ld "+ld, "ids "+ids, "count "+left, "ahead "+ahead)
	shift := bits.TrailingZeros(uint(size))
	f.Go("LSL $%d, %s, %s", shift, ld, ld)
	// address loads the address of the row at place at of the list.
	address := func(to string) {
		f.Go("MOVWU (%s)(%s<<2), %s", ids, at, to)
		f.Go("MADD %s, %s, %s, %s", ld, rows, to, to)
	}

	early, lines, next := f.Label("early"), f.Label("line"), f.Label("row")
	f.Go("CMP %s, %s", ahead, left)
	f.Go("CSEL LT, %s, %s, %s", left, ahead, at)
	f.At(early)
	f.Go("SUB $1, %s, %s", at, at)
	address(far)
	f.Args("n " + n)
	f.Go("LSL $%d, %s, %s", shift, n, n)
	f.At(lines)
	f.Go("PRFM (%s), PLDL2KEEP", far)
	f.Go("ADD $%d, %s, %s", line, far, far)
	f.Go("SUBS $%d, %s, %s", line, n, n)
	f.Go("BGE %s", lines)
	f.Go("CBNZ %s, %s", at, early)

	f.At(next)
	// Advance by ahead, but not beyond the last row.
	f.Go("SUB $1, %s, %s", left, n)
	f.Go("CMP %s, %s", ahead, n)
	f.Go("CSEL LT, %s, %s, %s", n, ahead, at)
	address(far)
	f.Go("MOVWU.P 4(%s), %s", ids, a)
	f.Go("MADD %s, %s, %s, %s", ld, rows, a, a)
	f.Args("q "+q, "n "+n)
	from, queries := stream{a, size}, stream{q, 8}
	canonical(f, n, func() {
		for at := 0; at < size*lanes; at += line {
			f.Go("PRFM %d(%s), PLDL2KEEP", at, far)
		}
		f.Go("ADD $%d, %s, %s", size*lanes, far, far)
	}, termOf(f, kind, from, queries), from, queries)
	f.Go("PRFM (%s), PLDL2KEEP", far)
	f.Go("FMOVD.P F0, 8(%s)", out)
	f.Go("SUBS $1, %s, %s", left, left)
	f.Go("BNE %s", next)
	f.Return()
}

func sumSquares(f *neon.File) {
	f.Func("func sumSquaresNEON(x *float32, n int) (sum float64)", "sumSquaresNEON is SumSquares of n entries.")
	f.Args("x R0", "n R1")
	x := stream{"R0", 4}
	canonical(f, "R1", nil, func(count, from int, acc neon.V) {
		loadEntries(f, x, from, count, row)
		for i, v := range doubles(f, count, row, row+2) {
			f.Same("fmla", neon.D2, acc+neon.V(i), v, v)
		}
	}, x)
	f.Return("sum F0")
}

func dotSquares(f *neon.File) {
	f.Func("func dotSquaresNEON(a, q *float32, n int) (sum, squares float64)", "dotSquaresNEON is DotSquares of n entries.")
	f.Args("a R0", "q R1", "n R2")
	zero(f, 0, 2*sums)
	a, q := stream{"R0", 4}, stream{"R1", 4}
	parts(f, "R2", nil, func(count, from int, acc neon.V) {
		loadEntries(f, a, from, count, 16)
		loadEntries(f, q, from, count, 20)
		with := doubles(f, count, 20, 22)
		for i, v := range doubles(f, count, 16, 18) {
			f.Same("fmla", neon.D2, acc+neon.V(i), v, with[i])
			f.Same("fmla", neon.D2, sums+acc+neon.V(i), v, v)
		}
	}, a, q)
	total(f, 0)
	total(f, sums)
	f.Return("sum F0", "squares F8")
}

// codeMoments emits CodeMoments. All products are exact; squares are summed as 64-bit
// integers.
func codeMoments(f *neon.File) {
	const (
		squares = neon.V(8)
		bias    = neon.V(9)
		codes   = neon.V(16)
		short   = neon.V(17)
		code, o = neon.V(18), neon.V(22) // with their float64 in the two registers after each
	)
	f.Func("func codeMomentsNEON(code *uint8, o *float32, n int) (co, cc float64)",
		"codeMomentsNEON is CodeMoments of n entries, a multiple of 8.")
	f.Args("code R0", "o R1", "n R2")
	zero(f, 0, sums+1)
	f.Go("VMOVI $128, V%d.B16", bias)
	from, values := stream{"R0", 1}, stream{"R1", 4}
	loop(f, "R2", turn, []int{8}, nil, func(count int) {
		loadEntries(f, from, 0, count, codes)
		f.Go("VEOR V%d.B%d, V%d.B%d, V%d.B%d", bias, count, codes, count, codes, count) // eight leave zeros above
		zero(f, short, 1)
		f.Dot("sdot", short, codes, codes)
		f.Pairwise("uadalp", neon.S4, squares, short)
		for half := range count / 8 {
			f.Shift("sshll", []neon.Arrangement{neon.B8, neon.B16}[half], short, codes, 0)
			f.Shift("sshll", neon.H4, code, short, 0)
			f.Shift("sshll", neon.H8, code+1, short, 0)
			f.Misc("scvtf", neon.S4, code, code)
			f.Misc("scvtf", neon.S4, code+1, code+1)
			loadEntries(f, values, 8*half, 8, o)
			c := doubles(f, 8, code, code+2)
			for i, v := range doubles(f, 8, o, o+2) {
				f.Same("fmla", neon.D2, neon.V(4*half+i), v, c[i])
			}
		}
	}, from, values)
	total(f, 0)
	f.Same("addp", neon.D2, squares, squares, squares)
	f.Misc("scvtf", neon.D2, squares, squares)
	f.Return("co F0", "cc F8")
}

// maxAbs emits MaxAbs. Without its sign a float orders like its bits as an unsigned
// integer, and every NaN is above infinity.
func maxAbs(f *neon.File) {
	const v = neon.V(16)
	f.Func("func maxAbsNEON(x *float32, n int) (m float32)", "maxAbsNEON is MaxAbs of n entries.")
	f.Args("x R0", "n R1")
	zero(f, 0, sums)
	x := stream{"R0", 4}
	loop(f, "R1", 4*sums, []int{16, 8, 4, 2, 1}, nil, func(count int) {
		loadEntries(f, x, 0, count, v)
		for i := range neon.V((count + 3) / 4) {
			f.Misc("fabs", neon.S4, v+i, v+i)
			f.Same("umax", neon.S4, i, i, v+i)
		}
	}, x)
	halve(f, "umax", neon.S4, 0, sums)
	f.Across("umaxv", neon.S4, 0, 0)
	f.Return("m F0")
}

package main

import "thresher/cpu/_generate/neon"

// Sums of float64 go 16 entries a turn into eight registers of two, so that as many
// multiply-adds are under way as four units of a latency of four ask for when every
// other instruction of theirs converts. What is left of the entries goes in eights,
// fours, twos and ones, each into sums of its own.
const (
	turn = 16
	sums = 8 // registers of a sum
)

// parts is a loop of turns over n entries with its rest, of step over at most eight
// of them, the first of them from on, whose sums are from acc on.
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

// doubles makes float64 of count floats in registers from v on, in these and others
// from upper on, and tells where they are, in order.
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

// total adds up the sums from acc on, which leaves one number in both lanes.
func total(f *neon.File, acc neon.V) {
	halve(f, "fadd", neon.D2, acc, sums)
	f.Same("faddp", neon.D2, acc, acc, acc)
}

// scores adds to sums, which are sums apart, what rows with the query give.
func scores(f *neon.File, n string, each func(), query stream, rows ...stream) {
	const q, row, upper = neon.V(16), neon.V(20), neon.V(24)
	zero(f, 0, sums*len(rows))
	parts(f, n, each, func(count, from int, acc neon.V) {
		load(f, query, from, count, q)
		for r, x := range rows {
			d := neon.V(2 * r)
			load(f, x, from, count, row+d)
			for i, v := range doubles(f, count, row+d, upper+d) {
				f.Same("fmla", neon.D2, neon.V(sums*r)+acc+neon.V(i), v, q+neon.V(i))
			}
		}
	}, append(rows, query)...)
}

func dot(f *neon.File) {
	f.Func("func dotNEON(a *float32, q *float64, n int) (sum float64)", "dotNEON is Dot of n entries.")
	f.Args("a R0", "q R1", "n R2")
	scores(f, "R2", nil, stream{"R1", 8}, stream{"R0", 4})
	total(f, 0)
	f.Return("sum F0")
}

// dots: Dot of rows found by their number, two at once, which share the query's
// loads; the sums of each are those of dot, in its order. Rows lie anywhere in
// memory, and the processor by itself follows a run of addresses no further than the
// page's end, so the first rows are asked for at once and, while two are summed,
// the two ahead places later. They are asked into the second cache: more lines can
// be on their way there than to the first.
func dots(f *neon.File) {
	const (
		out, rows, ld, ids = "R0", "R1", "R2", "R3"
		left, ahead        = "R4", "R5"
		first, second      = "R6", "R7"
		far, further       = "R8", "R9"
		q, n, at           = "R10", "R11", "R12"
		line               = 64
	)
	f.Func("func dotsNEON(out *float64, rows *float32, ld int, ids *uint32, count int, q *float64, n, ahead int)",
		"dotsNEON is Dots of count rows of n floats, which are all inside rows; neither is 0.\n"+
			"The rows ahead places later, at least two, are fetched while two are summed.")
	f.Args("out "+out, "rows "+rows, "ld "+ld, "ids "+ids, "count "+left, "ahead "+ahead)
	f.Go("LSL $2, %s, %s", ld, ld)
	// row is the address of the row whose place in the list is in at
	row := func(to string) {
		f.Go("MOVWU (%s)(%s<<2), %s", ids, at, to)
		f.Go("MADD %s, %s, %s, %s", ld, rows, to, to)
	}

	early, lines, pair, one, end := f.Label("early"), f.Label("line"), f.Label("pair"), f.Label("one"), f.Label("end")
	f.Go("CMP %s, %s", ahead, left)
	f.Go("CSEL LT, %s, %s, %s", left, ahead, at)
	f.At(early)
	f.Go("SUB $1, %s, %s", at, at)
	row(far)
	f.Args("n " + n)
	f.Go("LSL $2, %s, %s", n, n)
	f.At(lines)
	f.Go("PRFM (%s), PLDL2KEEP", far)
	f.Go("ADD $%d, %s, %s", line, far, far)
	f.Go("SUBS $%d, %s, %s", line, n, n)
	f.Go("BGE %s", lines)
	f.Go("CBNZ %s, %s", at, early)

	f.At(pair)
	f.Go("CMP $2, %s", left)
	f.Go("BLT %s", one)
	// ahead on and the next, but not beyond the last
	f.Go("SUB $1, %s, %s", left, n)
	f.Go("CMP %s, %s", ahead, n)
	f.Go("CSEL LT, %s, %s, %s", n, ahead, at)
	row(far)
	f.Go("ADD $1, %s, %s", at, at)
	f.Go("CMP %s, %s", at, n)
	f.Go("CSEL LT, %s, %s, %s", n, at, at)
	row(further)
	f.Go("LDPW (%s), (%s, %s)", ids, first, second)
	f.Go("MADD %s, %s, %s, %s", ld, rows, first, first)
	f.Go("MADD %s, %s, %s, %s", ld, rows, second, second)
	f.Args("q "+q, "n "+n)
	scores(f, n, func() {
		for _, x := range []string{far, further} {
			f.Go("PRFM (%s), PLDL2KEEP", x)
			f.Go("ADD $%d, %s, %s", 4*turn, x, x) // a line
		}
	}, stream{q, 8}, stream{first, 4}, stream{second, 4})
	f.Go("PRFM (%s), PLDL2KEEP", far)
	f.Go("PRFM (%s), PLDL2KEEP", further)
	halve(f, "fadd", neon.D2, 0, sums)
	halve(f, "fadd", neon.D2, sums, sums)
	f.Same("faddp", neon.D2, 0, 0, sums)
	f.Go("FMOVQ F0, (%s)", out)
	f.Go("ADD $16, %s, %s", out, out)
	f.Go("ADD $8, %s, %s", ids, ids)
	f.Go("SUB $2, %s, %s", left, left)
	f.Go("B %s", pair)

	f.At(one)
	f.Go("CBZ %s, %s", left, end)
	f.Go("MOVWU (%s), %s", ids, first)
	f.Go("MADD %s, %s, %s, %s", ld, rows, first, first)
	f.Args("q "+q, "n "+n)
	scores(f, n, nil, stream{q, 8}, stream{first, 4})
	total(f, 0)
	f.Go("FMOVD F0, (%s)", out)
	f.At(end)
	f.Return()
}

func sumSquares(f *neon.File) {
	f.Func("func sumSquaresNEON(x *float32, n int) (sum float64)", "sumSquaresNEON is SumSquares of n entries.")
	f.Args("x R0", "n R1")
	zero(f, 0, sums)
	x := stream{"R0", 4}
	parts(f, "R1", nil, func(count, from int, acc neon.V) {
		load(f, x, from, count, 16)
		for i, v := range doubles(f, count, 16, 18) {
			f.Same("fmla", neon.D2, acc+neon.V(i), v, v)
		}
	}, x)
	total(f, 0)
	f.Return("sum F0")
}

func dotSquares(f *neon.File) {
	f.Func("func dotSquaresNEON(a, q *float32, n int) (sum, squares float64)", "dotSquaresNEON is DotSquares of n entries.")
	f.Args("a R0", "q R1", "n R2")
	zero(f, 0, 2*sums)
	a, q := stream{"R0", 4}, stream{"R1", 4}
	parts(f, "R2", nil, func(count, from int, acc neon.V) {
		load(f, a, from, count, 16)
		load(f, q, from, count, 20)
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

// codeMoments: CodeMoments. Both sums are of exact products; that of squares is of
// whole numbers, in 64 bits.
func codeMoments(f *neon.File) {
	const (
		squares = neon.V(8)
		bias    = neon.V(9)
		codes   = neon.V(16)
		short   = neon.V(17)
		code, o = neon.V(18), neon.V(22) // with their uppers two registers on
	)
	f.Func("func codeMomentsNEON(code *uint8, o *float32, n int) (co, cc float64)",
		"codeMomentsNEON is CodeMoments of n entries, a multiple of 8.")
	f.Args("code R0", "o R1", "n R2")
	zero(f, 0, sums+1)
	f.Go("VMOVI $128, V%d.B16", bias)
	from, values := stream{"R0", 1}, stream{"R1", 4}
	loop(f, "R2", turn, []int{8}, nil, func(count int) {
		load(f, from, 0, count, codes)
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
			load(f, values, 8*half, 8, o)
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

// maxAbs: MaxAbs. Without its sign a float orders like the unsigned integer of its
// bits, and every NaN is above infinity.
func maxAbs(f *neon.File) {
	const v = neon.V(16)
	f.Func("func maxAbsNEON(x *float32, n int) (m float32)", "maxAbsNEON is MaxAbs of n entries.")
	f.Args("x R0", "n R1")
	zero(f, 0, sums)
	x := stream{"R0", 4}
	loop(f, "R1", 4*sums, []int{16, 8, 4, 2, 1}, nil, func(count int) {
		load(f, x, 0, count, v)
		for i := range neon.V((count + 3) / 4) {
			f.Misc("fabs", neon.S4, v+i, v+i)
			f.Same("umax", neon.S4, i, i, v+i)
		}
	}, x)
	halve(f, "umax", neon.S4, 0, sums)
	f.Across("umaxv", neon.S4, 0, 0)
	f.Return("m F0")
}

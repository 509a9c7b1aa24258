package main

import "thresher/simd/_generate/neon"

// Gathers are single loads put together into vectors. Sixteen indices at a time are
// checked before they are followed.

// indices is a list of indices into an array of floats; last is the greatest valid one.
// It uses registers from V16 and R10 on.
type indices struct {
	list        stream
	array, last string
}

// refuse jumps to label unless the next 16 indices are valid.
func (x indices) refuse(f *neon.File, label string) {
	loadEntries(f, x.list, 0, 16, 16)
	halve(f, "umax", neon.S4, 16, 4)
	f.Across("umaxv", neon.S4, 16, 16)
	f.Go("FMOVS F16, R10")
	f.Go("CMPW %s, R10", x.last)
	f.Go("BHI %s", label)
}

// pairs loads the floats at the four indices from the from-th on, two each into the
// lower halves of v and of the register after it.
func (x indices) pairs(f *neon.File, from int, v neon.V) {
	f.Go("LDP %d(%s), (R10, R11)", 4*from, x.list.p)
	for i, two := range []string{"R10", "R11"} {
		d, upper := v+neon.V(i), neon.V(16+i)
		f.Go("LSR $32, %s, R12", two)
		f.Go("FMOVS (%s)(%s.UXTW<<2), F%d", x.array, two, d)
		f.Go("FMOVS (%s)(R12<<2), F%d", x.array, upper)
		f.Zip("zip1", neon.S4, d, d, upper)
	}
}

// sixteens loops over n entries, 16 at a time. It ends when fewer are left or refuse
// finds an invalid index, with n entries left.
func (x indices) sixteens(f *neon.File, n string, step func(), streams ...stream) {
	many, end := f.Label("many"), f.Label("end")
	f.At(many)
	f.Go("CMP $16, %s", n)
	f.Go("BLT %s", end)
	x.refuse(f, end)
	step()
	forward(f, 16, append(streams, x.list))
	f.Go("SUB $16, %s, %s", n, n)
	f.Go("B %s", many)
	f.At(end)
}

// permute emits Permute.
func permute(f *neon.File) {
	dst, x := stream{"R0", 4}, indices{stream{"R2", 4}, "R1", "R5"}
	f.Func("func permuteNEON(dst, src *float32, perm *uint32, n int, last uint32) (left int)",
		"permuteNEON is Permute of whole sixteens of n entries. It stops before sixteen\n"+
			"indices of which one is beyond last, the greatest valid one, and returns the number\n"+
			"of entries left.")
	f.Args("dst R0", "src R1", "perm R2", "n R4", "last R5")
	x.sixteens(f, "R4", func() {
		for v := range neon.V(4) {
			x.pairs(f, 4*int(v), 2*v)
			f.Zip("zip1", neon.D2, v, 2*v, 2*v+1)
		}
		f.Go("FSTPQ (F0, F1), (%s)", dst.p)
		f.Go("FSTPQ (F2, F3), 32(%s)", dst.p)
	}, dst)
	f.Return("left R4")
}

// dotGather emits DotGather.
func dotGather(f *neon.File) {
	const q, sum, squares = neon.V(8), neon.V(20), neon.V(24) // four registers each
	f.Func("func dotGatherNEON(a *float32, perm *uint32, q *float64, n int, last uint32) (left int, sum, squares float64)",
		"dotGatherNEON is DotGather of whole sixteens of n entries. It stops before sixteen\n"+
			"indices of which one is beyond last, the greatest valid one, and returns the number\n"+
			"of entries left.")
	f.Args("a R0", "perm R1", "q R2", "n R4", "last R5")
	zero(f, sum, 8)
	x, queries := indices{stream{"R1", 4}, "R0", "R5"}, stream{"R2", 8}
	x.sixteens(f, "R4", func() {
		for four := range 4 {
			v := neon.V(2 * four)
			x.pairs(f, 4*four, v)
			loadEntries(f, queries, 4*four, 4, q)
			for i := range neon.V(2) {
				acc := neon.V(2*(four&1)) + i
				f.Double(neon.S2, v+i, v+i)
				f.Same("fmul", neon.D2, v+i, v+i, q+i)
				f.Same("fadd", neon.D2, sum+acc, sum+acc, v+i)
				f.Same("fmla", neon.D2, squares+acc, v+i, v+i)
			}
		}
	}, queries)
	for _, acc := range []neon.V{sum, squares} {
		halve(f, "fadd", neon.D2, acc, 4)
		f.Same("faddp", neon.D2, acc, acc, acc)
	}
	f.Return("left R4", "sum F20", "squares F24")
}

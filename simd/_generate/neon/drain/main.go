// Command drain writes the arm64 kernel of package simd that lists a scan's selected
// lanes for all queries at once.
//
//	go run ./neon/drain -out ../drain_arm64.s -stubs ../drain_stubs_arm64.go
//
// Most queries select nothing of a panel, or an entry or two, and a branch on how many
// would be mispredicted. So the queries that select something are listed first, without
// a branch; then each stores four entries whether it has as many or not.
package main

import "thresher/simd/_generate/neon"

const (
	block = 256 // most queries of a call: their numbers are bytes
	lanes = 64  // most entries of a mask
	few   = 16  // entries up to which one at a time takes fewer instructions than four lanes at a time
)

// General registers.
const (
	ids      = "R0"
	bounds   = "R1"
	stride   = "R2" // in bytes
	counts   = "R3"
	masks    = "R4"
	values   = "R5"
	adds     = "R6"
	base     = "R7"
	active   = "R8" // numbers of the queries that select something
	at       = "R9" // how many of them are left
	places   = "R10"
	howMany  = "R11"
	query    = "R12" // the current query:
	mask     = "R13" // its remaining mask,
	left     = "R14" // its remaining count,
	of       = "R15" // its values
	toIDs    = "R19" // and its lists
	toBounds = "R20"
	n        = "R21"
	room     = "R22"
	full     = "R23"
	some     = "R24" // scratch
	other    = "R25"
	third    = "R26"
)

// Vector registers.
const (
	add   neon.V = 16 // add of the current query in every lane
	first neon.V = 17 // ids of the first four atoms
	four  neon.V = 18 // the step to the next four
)

func main() {
	neon.Write(func(f *neon.File) {
		f.Places()
		drain(f)
	})
}

func drain(f *neon.File) {
	f.Framed(block+16, "func drainNEON(ids *uint32, bounds *float32, stride int, counts *int32, room int32, "+
		"masks *uint64, values *float32, base uint32, add *float32, n int) (ok bool)",
		"drainNEON is Drain for 1 to 256 queries. It does nothing and returns false when a\ncount is negative or beyond room.")
	queries, fours, another, many := f.Label("query"), f.Label("four"), f.Label("another"), f.Label("many")
	none, refused := f.Label("none"), f.Label("refused")
	list(f, none, refused)
	f.Args("ids "+ids, "bounds "+bounds, "stride "+stride, "counts "+counts, "masks "+masks, "values "+values, "base "+base, "add "+adds)
	f.Go("LSL $2, %s", stride)
	f.Go("MOVD $places<>(SB), %s", places)
	f.Go("ADD $%d, %s, %s", neon.HowMany, places, howMany)
	f.Go("VDUP %s, V%d.S4", base, first)
	for half, word := range []string{"0x0000000100000000", "0x0000000300000002"} {
		f.Go("MOVD $%s, %s", word, some)
		f.Go("VMOV %s, V%d.D[%d]", some, four, half)
	}
	f.Same("add", neon.S4, first, first, four)
	f.Go("MOVD $4, %s", some)
	f.Go("VDUP %s, V%d.S4", some, four)

	f.At(queries)
	nextQuery(f)
	f.Go("CMP $%d, %s", few, left)
	f.Go("BHI %s", many)
	f.At(fours)
	takeFour(f)
	f.Go("SUBS $4, %s", left)
	f.Go("BGT %s", fours)
	f.At(another)
	f.Go("CBNZ %s, %s", at, queries)
	f.At(none)
	f.Go("MOVD $1, %s", some)
	f.Return("ok " + some)
	f.At(many)
	takeLanes(f)
	f.Go("JMP %s", another)
	f.At(refused)
	f.Return("ok ZR")
}

// list lists the active queries, the last one first, and jumps to refused if a list lacks
// room.
func list(f *neon.File, none, refused string) {
	loop := f.Label("list")
	f.Args("counts "+counts, "room "+room, "masks "+masks, "n "+n)
	f.Go("ADD $8, RSP, %s", active)
	for _, zero := range []string{query, at, full} {
		f.Go("MOVD $0, %s", zero)
	}
	f.At(loop)
	f.Go("MOVB %s, (%s)(%s)", query, active, at)
	f.Go("MOVD.P 8(%s), %s", masks, mask)
	f.Go("MOVWU.P 4(%s), %s", counts, left)
	f.Go("CMP $0, %s", mask)
	f.Go("CINC NE, %s, %s", at, at)
	f.Go("CMPW %s, %s", room, left)
	f.Go("CINC HI, %s, %s", full, full) // negative counts too
	f.Go("ADD $1, %s", query)
	f.Go("CMP %s, %s", n, query)
	f.Go("BNE %s", loop)
	f.Go("CBNZ %s, %s", full, refused)
	f.Go("CBZ %s, %s", at, none)
}

// nextQuery moves to the next active query and counts its entries.
func nextQuery(f *neon.File) {
	const bits neon.V = 0
	f.Go("SUB $1, %s", at)
	f.Go("MOVBU (%s)(%s), %s", active, at, query)
	f.Go("MOVD (%s)(%s<<3), %s", masks, query, mask)
	f.Go("FMOVS (%s)(%s<<2), F%d", adds, query, add)
	f.Dup(neon.S4, add, add, 0)
	f.Go("FMOVD %s, F%d", mask, bits)
	f.Misc("cnt", neon.B8, bits, bits)
	f.Across("addv", neon.B8, bits, bits)
	f.Go("FMOVD F%d, %s", bits, left)
	f.Go("MOVW (%s)(%s<<2), %s", counts, query, some)
	f.Go("MADD %s, %s, %s, %s", query, ids, stride, toIDs)
	f.Go("MADD %s, %s, %s, %s", query, bounds, stride, toBounds)
	f.Go("ADD %s<<2, %s", some, toIDs)
	f.Go("ADD %s<<2, %s", some, toBounds)
	f.Go("ADD %s, %s", left, some)
	f.Go("MOVW %s, (%s)(%s<<2)", some, counts, query)
	f.Go("ADD %s<<8, %s, %s", query, values, of) // 64 values, 4 bytes each
}

// takeFour stores the entries of the mask's lowest four bits. If there are fewer, the
// rest are of lane 0.
func takeFour(f *neon.File) {
	for j := range 4 {
		i := []string{some, other}[j%2]
		f.Go("RBIT %s, %s", mask, i)
		f.Go("CLZ %s, %s", i, i)
		f.Go("SUB $1, %s, %s", mask, third)
		f.Go("AND %s, %s", third, mask)
		f.Go("AND $%d, %s", lanes-1, i)
		f.Go("FMOVS (%s)(%s<<2), F%d", of, i, j%2)
		f.Go("ADD %s, %s", base, i)
		f.Go("FADDS F%d, F%d, F%d", add, j%2, j%2)
		if j%2 == 1 {
			f.Go("STPW.P (%s, %s), 8(%s)", some, other, toIDs)
			f.Go("FSTPS.P (F0, F1), 8(%s)", toBounds)
		}
	}
}

// takeLanes stores four entries for each four bits of the mask, each group where the
// previous one's entries end.
func takeLanes(f *neon.File) {
	const number, order, id, bound neon.V = 0, 1, 2, 3
	f.Move(number, first)
	for g := range lanes / 4 {
		f.Go("UBFX $%d, %s, $4, %s", 4*g, mask, some)
		f.Go("ADD %s<<4, %s, %s", some, places, other)
		f.Go("FMOVQ (%s), F%d", other, order)
		f.Go("FMOVQ %d(%s), F%d", 16*g, of, bound)
		f.Same("fadd", neon.S4, bound, bound, add)
		f.Table(id, number, 1, order)
		f.Table(bound, bound, 1, order)
		f.Go("FMOVQ F%d, (%s)", id, toIDs)
		f.Go("FMOVQ F%d, (%s)", bound, toBounds)
		if g == lanes/4-1 {
			break
		}
		f.Go("MOVBU (%s)(%s), %s", howMany, some, some)
		f.Go("ADD %s<<2, %s", some, toIDs)
		f.Go("ADD %s<<2, %s", some, toBounds)
		f.Same("add", neon.S4, number, number, four)
	}
}

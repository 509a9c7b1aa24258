// Command signs writes the NEON kernels for rows of one bit a coordinate:
//
//	go run ./neon/signs -out ../signs_arm64.s -stubs ../signs_stubs_arm64.go
//
// A coordinate's bit says whether its code of the query counts. Bits are not expanded to
// bytes in order: a test of 16 bytes of a row for one bit each gives 16 masks in place,
// 0 or -1, which a product of bytes takes as they are. That is one test and one product
// for 16 coordinates, and all sums have the same weight. The query's codes are reordered
// to match once for all rows.
package main

import (
	"fmt"

	"thresher/simd/_generate/neon"
	"thresher/simd/_generate/neon/group"
)

const (
	span  = 4096 // most bits of a row: signSpan of the package
	chunk = 16   // bytes of bits taken at a time
)

// Vector registers. V16 to V23 are reused while codes are summed.
const (
	sums  neon.V = 0  // two for each row
	codes neon.V = 8  // four
	heads neon.V = 12 // sums of the heads: both halves of one row, then of the next
	short neon.V = 14 // the bias to add: -128 times the sums of the query's codes
	bits  neon.V = 16 // one for each row
	masks neon.V = 20 // one for each row
	bit   neon.V = 24 // eight: one bit in all bytes, the last one's is Flip
)

func main() {
	neon.Write(func(f *neon.File) {
		signSums(f)
		packSigns(f)
		sumAbs(f)
	})
}

// kernel emits Signs for whole groups.
type kernel struct{ *group.Kernel }

func signSums(f *neon.File) {
	k := kernel{&group.Kernel{File: f}}
	f.Framed(span+group.Line, "func signSumsNEON(out *int32, codes *uint8, stride int, ids *uint32, n int, hi, lo *int8, head, end, near, far int)",
		"signSumsNEON is Signs of n >= 4 rows; the last n%4 are only prefetched.\n"+
			fmt.Sprintf("The bits of a row, %d at most, begin at head and end at end. The rows near places\n", span)+
			"ahead are prefetched to level 1, those far ahead to level 2 unless far is 0.")
	k.Load()
	k.Prepare()
	for i := range group.Flip - bit {
		f.Go("VMOVI $%d, V%d.B16", 1<<i, bit+i)
	}
	both := k.head()
	f.Same("addp", neon.S4, short, both[0], both[1])
	f.Same("addp", neon.S4, short, short, short)
	k.order()
	k.Walk(k.store)
	f.Return()
}

// ordered points at to the reordered codes of the query: for every chunk of a row, 16
// codes of the lowest bit of each byte, then of the next bit and so on.
func (k kernel) ordered(at group.R) {
	k.Go("ADD $%d, RSP, %v", 8+group.Line-1, at)
	k.Go("AND $~%d, %v", group.Line-1, at)
}

// order reorders the query's codes, starting where those of the head end. Places without
// a code are multiplied by bits that are clear.
func (k kernel) order() {
	const to, left = group.Low, group.U
	four, past := k.Label("four"), k.Label("ordered")
	k.ordered(to)
	k.Go("MOVD %v, %v", group.Head, group.At)
	k.Steps(chunk, group.End, func() {
		// Codes of bits b and b+4 of bytes alternate at first, and are then separated.
		for i := range neon.V(2) {
			k.Go("VLD4.P 64(%v), [V%d.B16, V%d.B16, V%d.B16, V%d.B16]", group.High, 4*i, 4*i+1, 4*i+2, 4*i+3)
		}
		for b := range neon.V(4) {
			k.Zip("uzp1", neon.B16, 16+b, b, b+4)
			k.Zip("uzp2", neon.B16, 20+b, b, b+4)
		}
		for b := neon.V(0); b < 8; b += 2 {
			k.Go("FSTPQ (F%d, F%d), %d(%v)", 16+b, 17+b, 16*b, to)
		}
		k.Go("ADD $%d, %v", 8*chunk, to)
	})
	k.Go("SUB %v, %v, %v", group.At, group.End, left)
	k.At(four)
	k.Go("CBZ %v, %s", left, past)
	k.Go("VLD4.P 32(%v), [V0.B8, V1.B8, V2.B8, V3.B8]", group.High)
	for b := range neon.V(4) {
		k.Zip("uzp1", neon.B8, 16+b, b, b)
		k.Zip("uzp2", neon.B8, 20+b, b, b)
	}
	for b := range neon.V(8) {
		k.Go("FMOVS F%d, %d(%v)", 16+b, 16*b, to)
	}
	k.Go("ADD $4, %v", to)
	k.Go("SUB $4, %v", left)
	k.Go("JMP %s", four)
	k.At(past)
}

// head sums the head with both halves of the query's codes.
func (k kernel) head() []neon.V {
	k.Args("hi "+group.High.String(), "lo "+group.Low.String())
	k.Go("MOVD ZR, %v", group.At)
	return k.Codes(group.Head, 2, sums)
}

// store stores the sums of a group.
func (k kernel) store() {
	both := k.head()
	for r := range neon.V(group.Size) {
		k.Same("addp", neon.S4, both[2*r], both[2*r], both[2*r+1])
	}
	for i := range neon.V(2) {
		k.Same("addp", neon.S4, heads+i, both[4*i], both[4*i+2])
		k.Same("sub", neon.S4, heads+i, heads+i, short)
	}
	k.rest()
	for r := range group.Size {
		k.Go("VST1.P V%d.D[%d], 8(%v)", heads+neon.V(r/2), r%2, group.Out)
		k.Go("VST1.P V%d.S[%d], 4(%v)", sums, r, group.Out)
	}
}

// rest sums the codes whose bits are set; the sums of the rows share one vector.
func (k kernel) rest() {
	const left = group.U
	for i := range neon.V(2 * group.Size) {
		k.Go("VMOVI $0, V%d.B16", sums+i)
	}
	k.ordered(group.High)
	k.lines()
	four, add, past := k.Label("four"), k.Label("add"), k.Label("added")
	k.Go("SUB %v, %v, %v", group.At, group.End, left)
	k.Go("CBZ %v, %s", left, past)
	k.FetchLast(group.End)
	k.Go("TBZ $3, %v, %s", left, four)
	for r, at := range k.Rows {
		k.Go("FMOVD.P 8(%v), F%d", at, bits+neon.V(r))
	}
	k.Go("TBZ $2, %v, %s", left, add)
	for r, at := range k.Rows {
		k.Go("VLD1 (%v), V%d.S[2]", at, bits+neon.V(r))
	}
	k.Go("JMP %s", add)
	k.At(four)
	for r, at := range k.Rows {
		k.Go("FMOVS (%v), F%d", at, bits+neon.V(r))
	}
	k.At(add)
	k.add()
	k.At(past)
	for r := range neon.V(group.Size) {
		k.Same("add", neon.S4, sums+2*r, sums+2*r, sums+2*r+1)
	}
	k.Same("addp", neon.S4, sums, sums, sums+2)
	k.Same("addp", neon.S4, sums+4, sums+4, sums+6)
	k.Same("addp", neon.S4, sums, sums, sums+4)
	k.Misc("neg", neon.S4, sums, sums)
}

// lines takes whole chunks of bits and prefetches one line for each line of them.
func (k kernel) lines() {
	const full, stop = group.T, group.U
	line, inner, past := k.Label("line"), k.Label("chunk"), k.Label("past")
	k.At(line)
	k.Go("SUB $%d, %v, %v", chunk, group.End, full)
	k.Go("CMP %v, %v", full, group.At)
	k.Go("BGT %s", past)
	k.Go("ADD $%d, %v, %v", group.Line-chunk, group.At, stop)
	k.Go("CMP %v, %v", full, stop)
	k.Go("CSEL GT, %v, %v, %v", full, stop, stop)
	k.Go("SUB $%d, %v, %v", group.Line-chunk, stop, full) // the line ends where the last of these chunks does
	k.Fetch(full)
	k.At(inner)
	for r, at := range k.Rows {
		k.Go("FMOVQ.P %d(%v), F%d", chunk, at, bits+neon.V(r))
	}
	k.add()
	k.Go("ADD $%d, %v", chunk, group.At)
	k.Go("CMP %v, %v", stop, group.At)
	k.Go("BLE %s", inner)
	k.Go("JMP %s", line)
	k.At(past)
}

// add subtracts from the sums the masked codes of a chunk. Each row has two sums, one for
// even bits and one for odd.
func (k kernel) add() {
	for b := range neon.V(8) {
		if b%2 == 0 {
			k.Go("FLDPQ.P 32(%v), (F%d, F%d)", group.High, codes+b%4, codes+b%4+1)
		}
		for r := range neon.V(group.Size) {
			k.Same("cmtst", neon.B16, masks+r, bits+r, bit+b)
		}
		for r := range neon.V(group.Size) {
			k.Dot("sdot", sums+2*r+b%2, masks+r, codes+b%4)
		}
	}
}

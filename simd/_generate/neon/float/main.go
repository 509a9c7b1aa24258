// Command float writes the NEON kernels of package simd for floats: sums, codes, the
// Walsh-Hadamard transform and gathers.
//
//	go run ./neon/float -out ../float_arm64.s -stubs ../float_stubs_arm64.go
package main

import (
	"math/bits"

	"thresher/simd/_generate/neon"
)

func main() {
	neon.Write(func(f *neon.File) {
		dot(f, "dot", "Dot", product)
		dots(f, "dots", "Dots", 4, product)
		dots(f, "dots64", "Dots64", 8, roundedProduct)
		dot(f, "squaredDistance", "SquaredDistance", squaredDifference)
		dots(f, "squaredDistances", "SquaredDistances", 4, squaredDifference)
		dots(f, "squaredDistances64", "SquaredDistances64", 8, squaredDifference)
		sumSquares(f)
		dotSquares(f)
		codeMoments(f)
		maxAbs(f)
		quantize(f)
		quantizeError(f)
		for n := 16; n <= 256; n *= 2 {
			fwht(f, n)
		}
		permute(f)
		dotGather(f)
	})
}

// stream is a register that points to entries of size bytes.
type stream struct {
	p    string
	size int
}

// loadEntries fills registers from v on with count entries, from entry from on. The unfilled
// part of a register is zero.
func loadEntries(f *neon.File, x stream, from, count int, v neon.V) {
	for at, end := from*x.size, (from+count)*x.size; at < end; {
		switch left := end - at; {
		case left >= 32:
			f.Go("FLDPQ %d(%s), (F%d, F%d)", at, x.p, v, v+1)
			at, v = at+32, v+2
		case left >= 16:
			f.Go("FMOVQ %d(%s), F%d", at, x.p, v)
			at, v = at+16, v+1
		case left >= 8:
			f.Go("FMOVD %d(%s), F%d", at, x.p, v)
			at += 8
		default:
			f.Go("FMOVS %d(%s), F%d", at, x.p, v)
			at += 4
		}
	}
}

// loop runs step over n entries: turn at a time, then the remainder in the falling
// powers of two rests. rests and each may be nil; each is called once a round. The
// streams advance, and n is destroyed.
func loop(f *neon.File, n string, turn int, rests []int, each func(), step func(count int), streams ...stream) {
	many, rest := f.Label("many"), f.Label("rest")
	f.Go("SUBS $%d, %s, %s", turn, n, n)
	f.Go("BLT %s", rest)
	f.At(many)
	if each != nil {
		each()
	}
	step(turn)
	forward(f, turn, streams)
	f.Go("SUBS $%d, %s, %s", turn, n, n)
	f.Go("BGE %s", many)
	f.At(rest)
	for _, count := range rests { // n is negative, but its low bits count the entries left
		none := f.Label("none")
		f.Go("TBZ $%d, %s, %s", bits.TrailingZeros(uint(count)), n, none)
		step(count)
		forward(f, count, streams)
		f.At(none)
	}
}

func forward(f *neon.File, count int, streams []stream) {
	for _, x := range streams {
		f.Go("ADD $%d, %s, %s", count*x.size, x.p, x.p)
	}
}

// zero clears count registers from v on, by an instruction that does not depend on
// their old values.
func zero(f *neon.File, v neon.V, count int) {
	for i := range neon.V(count) {
		f.Go("VMOVI $0, V%d.B16", v+i)
	}
}

// halve combines (op) count registers from v on in halves until one is left.
func halve(f *neon.File, op string, a neon.Arrangement, v neon.V, count int) {
	for h := neon.V(count / 2); h >= 1; h /= 2 {
		for i := range h {
			f.Same(op, a, v+i, v+i, v+i+h)
		}
	}
}

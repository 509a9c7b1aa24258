// Package group holds what the kernels that sum rows at given ids share. They take a
// group of rows at a time, so that one load of the query's codes serves all of them.
// Later rows are prefetched twice: from far to the level-2 cache, which can have more
// misses outstanding, and from near to the level-1 cache.
package group

import (
	"fmt"

	"thresher/simd/_generate/neon"
)

const (
	Size = 4  // rows of a group
	Line = 64 // bytes prefetched at once; cache lines may be longer
)

// R is the number of a general register.
type R uint32

// String returns the register's name in Go's assembly.
func (r R) String() string { return fmt.Sprintf("R%d", uint32(r)) }

// General registers.
const (
	IDs    R = 0  // place in the ids: the current group
	Last   R = 1  // where the last whole group of ids begins
	Out    R = 2  // where the next sums are stored
	Head   R = 3  // bytes of a row's head
	End    R = 4  // bytes of a row
	At     R = 5  // place in the current rows
	High   R = 6  // place in the query's codes, or in their high halves
	Low    R = 7  // place in their low halves
	row    R = 8  // Size of them: place in each current row
	near   R = 12 // Size of them: rows to prefetch to level 1, less ahead bytes
	far    R = 19 // Size of them: rows to prefetch to level 2, less ahead bytes
	codes  R = 23 // the first row
	stride R = 24 // bytes from row to row
	T      R = 25 // scratch
	U      R = 26 // scratch
)

// ahead is the offset, within a row to prefetch, of the line that a step at its start
// prefetches: the line in which the step ends. The row's first line was prefetched before.
const ahead = Line - 4

// Kernel is the kernel being written.
type Kernel struct {
	*neon.File
	Rows    []R // places in the rows being summed
	fetched []fetched
}

// fetched are the rows being prefetched to one cache.
type fetched struct {
	cache uint32
	first R
}

// Load loads the arguments that all groups need; "end" is the bytes of a row, "n" the
// number of ids.
func (k *Kernel) Load() {
	k.Args("out "+Out.String(), "codes "+codes.String(), "stride "+stride.String(), "ids "+IDs.String(),
		"n "+T.String(), "head "+Head.String(), "end "+End.String())
	k.Go("ADD %v<<2, %v, %v", T, IDs, Last)
	k.Go("SUB $%d, %v, %v", 4*Size, Last, Last)
}

// Walk emits the loop over whole groups, first those with far rows to prefetch, then the
// others; sum emits the storing of a group's sums. At its end IDs points at the ids left.
func (k *Kernel) Walk(sum func()) {
	afar, group, left := k.Label("afar"), k.Label("group"), k.Label("left")
	k.Args("far " + T.String())
	k.Go("CBZ %v, %s", T, group)
	k.fetchFirst()

	k.At(afar)
	k.Args("far " + T.String())
	k.Go("ADD %v<<2, %v, %v", T, IDs, T)
	k.Go("CMP %v, %v", Last, T)
	k.Go("BHI %s", group)
	k.fetched = nil
	k.begin(2, far, T)
	k.group(sum)
	k.Go("JMP %s", afar)

	k.At(group)
	k.Go("CMP %v, %v", Last, IDs)
	k.Go("BHI %s", left)
	k.fetched = nil
	k.group(sum)
	k.Go("JMP %s", group)
	k.At(left)
}

// group sums the group at IDs and prefetches the one near places ahead to level 1, or
// itself if ids end before that.
func (k *Kernel) group(sum func()) {
	k.Args("near " + T.String())
	k.Go("ADD %v<<2, %v, %v", T, IDs, T)
	k.Go("CMP %v, %v", Last, T)
	k.Go("CSEL HI, %v, %v, %v", IDs, T, T)
	k.begin(1, near, T)
	k.take(Size)
	sum()
	k.Go("ADD $%d, %v", 4*Size, IDs)
}

// Singles emits the loop over the ids left, one by one.
func (k *Kernel) Singles(sum func()) {
	single, done := k.Label("single"), k.Label("done")
	k.Go("ADD $%d, %v", 4*Size, Last)
	k.At(single)
	k.Go("CMP %v, %v", Last, IDs)
	k.Go("BHS %s", done)
	k.fetched = nil
	k.take(1)
	sum()
	k.Go("ADD $4, %v", IDs)
	k.Go("JMP %s", single)
	k.At(done)
}

// take addresses the next n rows to be summed.
func (k *Kernel) take(n int) {
	k.Rows = nil
	for i := range n {
		r := row + R(i)
		k.address(IDs, i, r)
		k.Rows = append(k.Rows, r)
	}
}

// begin prefetches the first lines of the group at a place in the ids.
func (k *Kernel) begin(cache uint32, first, ids R) {
	for i := range Size {
		r := first + R(i)
		k.address(ids, i, r)
		k.Go("PRFM (%v), PLDL%dKEEP", r, cache)
		k.Go("ADD $%d, %v", ahead, r)
	}
	k.fetched = append(k.fetched, fetched{cache, first})
}

// address loads the address of the row of the i-th id from a place on.
func (k *Kernel) address(ids R, i int, to R) {
	k.Go("MOVWU %d(%v), %v", 4*i, ids, to)
	k.Go("MADD %v, %v, %v, %v", stride, codes, to, to)
}

// fetchFirst prefetches the first far rows to level 2.
func (k *Kernel) fetchFirst() {
	const next, stop, at, last = U, T, row, row + 1
	first, line, past := k.Label("first"), k.Label("line"), k.Label("past")
	k.Go("ADD %v<<2, %v, %v", T, IDs, stop)
	k.Go("ADD $%d, %v, %v", 4*Size, Last, at)
	k.Go("CMP %v, %v", at, stop)
	k.Go("CSEL HI, %v, %v, %v", at, stop, stop)
	k.Go("MOVD %v, %v", IDs, next)
	k.At(first)
	k.Go("CMP %v, %v", stop, next)
	k.Go("BHS %s", past)
	k.address(next, 0, at)
	k.Go("ADD $4, %v", next)
	k.Go("ADD %v, %v, %v", End, at, last)
	k.Go("SUB $1, %v", last)
	k.At(line)
	k.Go("PRFM (%v), PLDL2KEEP", at)
	k.Go("ADD $%d, %v", Line, at)
	k.Go("CMP %v, %v", last, at)
	k.Go("BLS %s", line)
	k.Go("PRFM (%v), PLDL2KEEP", last)
	k.Go("JMP %s", first)
	k.At(past)
}

// Fetch prefetches the line of the later rows that belongs to the step at a place.
func (k *Kernel) Fetch(at R) {
	for _, f := range k.fetched {
		for i := range R(Size) {
			k.Prefetch(f.cache, uint32(f.first+i), uint32(at))
		}
	}
}

// FetchLast prefetches the line of the later rows in which a part ends.
func (k *Kernel) FetchLast(end R) {
	if len(k.fetched) > 0 {
		k.Go("SUB $%d, %v, %v", Line, end, T)
		k.Fetch(T)
	}
}

// Steps emits a loop of body over steps of so many bytes from At to end, as long as a
// whole step is left. Body preserves T.
func (k *Kernel) Steps(bytes int, end R, body func()) {
	loop, past := k.Label("loop"), k.Label("past")
	k.Go("SUB $%d, %v, %v", bytes, end, T)
	k.Go("CMP %v, %v", T, At)
	k.Go("BGT %s", past)
	k.At(loop)
	body()
	k.Go("ADD $%d, %v", bytes, At)
	k.Go("CMP %v, %v", T, At)
	k.Go("BLE %s", loop)
	k.At(past)
}

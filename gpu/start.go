//go:build cuda && cgo

package gpu

import (
	"context"

	"thresher/gpu/device"
)

// A first look starts with its first atoms: tf32 products of their rows, whose errors are bounded, rule out all but
// a few, and the best of these are scored. So the scan of codes begins with the threshold of 4,096 atoms, and lists few of
// those that follow. docs/gpu.md has the counts.
const (
	// startAtoms is the number of atoms of a start, whole strips.
	startAtoms = 4096
	// startLeast is the least number of atoms of a collection for a start: one of which at least half are left after the
	// chunk that follows it, where look.MaxSurvivors is first tested on lists of a scan.
	startLeast = 2 * scanGrowth * startAtoms
	// startMost is the greatest k for a start: kRankedMost of dense.cu. For a greater one the products would list all atoms.
	startMost = 32
)

// startRows are the rows of the first atoms, in their order, with the terms of the dense path. They are on the device wherever
// the other rows are, because every search reads them.
type startRows struct {
	denseTerms
	rows  *device.Buffer[float32] // [atoms][Dim]
	atoms int
}

// copyStart copies the rows of a start, if searches of c have one.
func (r *resident) copyStart(ctx context.Context, t *device.Thread) error {
	c := r.c
	if c.N < r.m.startLeast {
		return nil
	}
	n := min(r.m.startAtoms, c.N)
	s, rows, terms := &startRows{atoms: n}, make([]float32, 0, n*c.Dim), newRowTerms(n)
	for i, row := range c.Order[:n] {
		rows = append(rows, c.Row(int(row))...)
		terms.set(c, i, uint32(i), row)
	}
	var err error
	if s.rows, err = copyToDevice(ctx, t, &r.stores, "rows of a start", rows); err != nil {
		return err
	}
	if err = terms.upload(ctx, t, &r.stores, &s.denseTerms); err != nil {
		return err
	}
	r.start = s
	return nil
}

// startsEarly reports whether a query's first look may begin with a start: its scan begins at the first atom, and its k
// is small. It depends on nothing but the query's goal and the collection.
func (x *run) startsEarly(a *hostQuery) bool {
	return x.r.start != nil && a.scanFrom == 0 && a.goal.K > 0 && a.goal.K <= startMost
}

// lookStarts reports whether a first look begins with a start, for the queries that may have one: not if the plan wants more
// atoms read before the first threshold.
func (x *run) lookStarts(l *look) bool { return x.r.start != nil && l.FirstChunk <= x.r.m.startAtoms }

// takeStart takes the start of a first look for a chunk's queries, all of which may have one, in the ranges of filter's strips.
func (x *run) takeStart(q *queue, qs *queryChunk, l *look, filter []uint64, ending selector) {
	x.loadStart(q, qs)
	for _, s := range allowedRanges(filter, 0, x.r.start.atoms) {
		x.multiplyStart(q, qs, s.lo, s.hi)
	}
	qs.nextAtom = x.r.start.atoms
	qs.tighten(q, ending, rankByBound, l.MaxSurvivors, x.normBeyond(qs))
	for p := qs.lo; p < qs.hi; p++ {
		x.queries[p].started = true
	}
}

// scanEnd returns the end of the chunk that contains atom at, in a scan for the query that begins at its strip. A
// start is the first chunk of its scan.
func (x *run) scanEnd(a *hostQuery, at int, l *look) int {
	if !x.startsEarly(a) || !x.lookStarts(l) {
		return chunkEnd(a.scanFrom, at, l.FirstChunk, x.r.c.N)
	}
	if at < x.r.start.atoms {
		return x.r.start.atoms
	}
	return chunkEnd(0, at, x.r.start.atoms, x.r.c.N)
}

// countStart corrects the figures of a query whose first look has a start: of the start's atoms it has read rows, not codes.
func (x *run) countStart(a *hostQuery, l *look) {
	var filter []uint64
	if a.goal.Filter != nil {
		filter = a.goal.Filter.Bits()
	}
	for _, s := range allowedRanges(filter, 0, x.r.start.atoms) {
		n := int64(s.hi - s.lo)
		a.pulls += n * int64(x.r.c.Dim-l.AtomBytes)
		a.bytes += n * int64(4*x.r.c.Dim-l.AtomBytes-termBytes)
	}
}

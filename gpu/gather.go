//go:build cuda && cgo

package gpu

import (
	"context"
	"math/bits"
	"slices"

	"thresher/backend/looks"
	"thresher/gpu/device"
)

// gathers reports whether a dense scan for the query reads only the rows that its filter allows.
func (a *hostQuery) gathers() bool { return a.goal.Gather && a.goal.Filter != nil }

// gatherRows scores the rows that the queries' filters allow, in float64, as many of each query at a
// time as there is room for. It stores the answers in the run or, if ctx interrupts it, the best
// found so far.
func (d *denseScan) gatherRows(ctx context.Context, q *queue) (err error) {
	most := 0
	for _, p := range d.slots {
		most = max(most, d.x.queries[p].goal.Filter.Len())
	}
	n := d.m() * (d.b.candidateRoom + 1)
	pin, err := q.machine.pool.TakePinned(q.t, "rows that are gathered", 4*n)
	if err != nil {
		return err
	}
	defer func() { err = q.machine.pool.ReturnAfter(q.t, pin, err) }()
	atoms := viewPinned(pin, array[uint32](0), 0, n)
	var stopped error
	for from := 0; from < most && stopped == nil; from += d.b.candidateRoom {
		d.writeCandidates(q, atoms, from)
		q.enqueue(func(t *device.Thread, s *device.Stream) error {
			return d.b.mem.UploadAsync(t, s, int(d.b.at.candidate), pin, 0, 4*d.m()*d.b.candidateRoom)
		})
		q.enqueue(func(t *device.Thread, s *device.Stream) error {
			return d.b.mem.UploadAsync(t, s, int(d.b.at.candidateCount), pin, 4*d.m()*d.b.candidateRoom, 4*d.m())
		})
		d.scoreSelected(q)
		if d.collects {
			err = d.downloadScores(q, d.keepScores)
		} else {
			err = q.sync() // the next iteration overwrites pin
		}
		if err != nil {
			return err
		}
		stopped = ctx.Err()
	}
	if err := d.b.syncStates(q); err != nil {
		return err
	}
	d.x.b.statesCurrent = true
	if err := d.storeAnswers(q, stopped == nil); err != nil {
		return err
	}
	return stopped
}

// writeCandidates writes the atoms that each query is to score, from the from-th on, followed by their
// number for each query.
func (d *denseScan) writeCandidates(q *queue, atoms []uint32, from int) {
	room := d.b.candidateRoom
	count := atoms[d.m()*room:]
	for i, p := range d.slots {
		a := &d.x.queries[p]
		all := a.goal.Filter.Atoms()
		n := 0
		for _, atom := range all[min(from, len(all)):min(from+room, len(all))] {
			d.rowsRead[i]++
			if _, hidden := slices.BinarySearch(a.hidden, atom); !hidden && int(atom) >= a.goal.From {
				atoms[i*room+n] = atom
				n++
			}
		}
		count[i] = uint32(n)
	}
}

// mergedStrips is the number of strips without an allowed atom up to which scanning them costs less
// than another launch.
const mergedStrips = 64

// atomRange is atoms lo to hi-1; lo is the first atom of a strip.
type atomRange struct{ lo, hi int }

// allowedRanges returns the ranges of atoms lo to hi-1 whose strips hold a set bit of filter; with a
// nil filter, everything. lo is the first atom of a strip.
func allowedRanges(filter []uint64, lo, hi int) []atomRange {
	if filter == nil {
		return []atomRange{{lo, hi}}
	}
	var all []atomRange
	for ; lo < hi; lo += looks.StripAtoms {
		end := min(lo+looks.StripAtoms, hi)
		if countBits(filter, lo, end) == 0 {
			continue
		}
		if n := len(all); n > 0 && lo-all[n-1].hi <= mergedStrips*looks.StripAtoms {
			all[n-1].hi = end
		} else {
			all = append(all, atomRange{lo, end})
		}
	}
	return all
}

// countBits counts the set bits of atoms lo to hi-1, or all these atoms if filter is nil. lo is
// the first atom of a strip, and no bit is set beyond the last atom.
func countBits(filter []uint64, lo, hi int) int {
	if filter == nil {
		return hi - lo
	}
	n := 0
	for _, w := range filter[lo/64 : (hi+63)/64] {
		n += bits.OnesCount64(w)
	}
	return n
}

// unionFilter returns a bit for each atom that any of the chunk's queries may return; nil allows all.
func (x *run) unionFilter(qs *queryChunk) []uint64 {
	first := x.queries[qs.lo].goal.Filter
	var union []uint64
	for p := qs.lo; p < qs.hi; p++ {
		f := x.queries[p].goal.Filter
		switch {
		case f == nil:
			return nil
		case f == first && union == nil:
			continue
		case union == nil:
			union = append(union, first.Bits()...)
		}
		for i, w := range f.Bits() {
			union[i] |= w
		}
	}
	if union == nil {
		return first.Bits()
	}
	return union
}

// scannedUnseen returns how many atoms a first look would read for this query alone that it does not see
// (hostQuery.shown), given that it has seen so many.
func (x *run) scannedUnseen(a *hostQuery, l *look, seen int) int {
	var filter []uint64
	switch {
	case a.goal.Filter != nil:
		filter = a.goal.Filter.Bits()
	case len(a.hidden) == 0 && a.goal.From == 0:
		return 0
	}
	n := x.r.c.N
	read, met := 0, 0
	for at := a.scanFrom; at < n && met < seen; {
		end := x.scanEnd(a, at, l)
		for _, s := range allowedRanges(filter, at, end) {
			read += s.hi - s.lo
		}
		met += a.shown(at, end)
		at = end
	}
	return max(0, read-seen)
}

//go:build cuda && cgo

package gpu

import (
	"context"
	"math/bits"

	"thresher/backend"
	"thresher/backend/looks"
)

// gathers reports whether a dense scan for the query reads the rows of its filter
// alone.
func (a *asked) gathers() bool { return a.goal.Gather && a.goal.Filter != nil }

// gather scores the rows that the queries' filters allow, in float64, as many of each query at a
// time as there is room for. It gives the run its answers or, if ctx ends it, what it found so
// far.
func (d *denseScan) gather(ctx context.Context, q *queue) (err error) {
	most := 0
	for _, p := range d.places {
		most = max(most, d.x.asked[p].goal.Filter.Len())
	}
	n := d.m() * (d.b.leadRoom + 1)
	pin, err := q.p.pool.takePinned(q.t, "rows that are gathered", 4*n)
	if err != nil {
		return err
	}
	defer func() { err = q.p.pool.back(q.t, pin, err) }()
	atoms := view[uint32](pin, 0, n)
	var stopped error
	for from := 0; from < most && stopped == nil; from += d.b.leadRoom {
		d.piece(q, atoms, from)
		q.do(func(t *Thread, s *Stream) error {
			return d.b.mem.UploadAsync(t, s, d.b.at.lead, pin, 0, 4*d.m()*d.b.leadRoom)
		})
		q.do(func(t *Thread, s *Stream) error {
			return d.b.mem.UploadAsync(t, s, d.b.at.led, pin, 4*d.m()*d.b.leadRoom, 4*d.m())
		})
		d.scoreLed(q)
		if d.collects {
			err = d.take(q, d.collected)
		} else {
			err = q.sync() // pin is overwritten next
		}
		if err != nil {
			return err
		}
		stopped = ctx.Err()
	}
	if err := d.b.settle(q); err != nil {
		return err
	}
	d.x.b.seen = true
	if err := d.answer(q, stopped == nil); err != nil {
		return err
	}
	return stopped
}

// piece writes the atoms from the from-th on that each query is to score, followed by their
// numbers for all queries.
func (d *denseScan) piece(q *queue, atoms []uint32, from int) {
	room := d.b.leadRoom
	count := atoms[d.m()*room:]
	for i, p := range d.places {
		g := d.x.asked[p].goal
		all := g.Filter.Atoms()
		n := 0
		for _, atom := range all[min(from, len(all)):min(from+room, len(all))] {
			d.read[i]++
			if int(atom) != g.Skip {
				atoms[i*room+n] = atom
				n++
			}
		}
		count[i] = uint32(n)
	}
}

// mergedStrips is the number of strips without an allowed atom up to which scanning them costs
// less than another launch.
const mergedStrips = 64

// span is atoms lo to hi-1; lo is the first atom of a strip.
type span struct{ lo, hi int }

// spans returns the parts of atoms lo to hi-1 whose strips hold a set bit of filter; with a nil
// filter, everything. lo is the first atom of a strip.
func spans(filter []uint64, lo, hi int) []span {
	if filter == nil {
		return []span{{lo, hi}}
	}
	var all []span
	for ; lo < hi; lo += looks.StripAtoms {
		end := min(lo+looks.StripAtoms, hi)
		if countBits(filter, lo, end) == 0 {
			continue
		}
		if n := len(all); n > 0 && lo-all[n-1].hi <= mergedStrips*looks.StripAtoms {
			all[n-1].hi = end
		} else {
			all = append(all, span{lo, end})
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

// filter returns a bit for each atom that one of the group's queries may return; nil allows all.
func (x *run) filter(g *group) []uint64 {
	first := x.asked[g.lo].goal.Filter
	var union []uint64
	for p := g.lo; p < g.hi; p++ {
		f := x.asked[p].goal.Filter
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

// scannedBeside is how many atoms a first look has read beside the seen ones that the
// goal allows, had it been for the query alone.
func (x *run) scannedBeside(g *backend.Goal, l *look, seen int) int {
	var filter []uint64
	switch {
	case g.Filter != nil:
		filter = g.Filter.Bits()
	case g.Skip < 0:
		return 0
	}
	n := x.r.c.N
	read, met := 0, 0
	for at := 0; at < n && met < seen; {
		end := chunkEnd(at, l.FirstChunk, n)
		for _, s := range spans(filter, at, end) {
			read += s.hi - s.lo
		}
		met += countBits(filter, at, end)
		if g.Skip >= at && g.Skip < end && (g.Filter == nil || g.Filter.Has(g.Skip)) {
			met--
		}
		at = end
	}
	return max(0, read-seen)
}

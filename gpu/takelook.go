//go:build cuda && cgo

package gpu

import (
	"context"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
)

const (
	// scanFirst is the least number of atoms in the first chunk of a scan, after which thresholds are
	// first tightened; the end of each further chunk is scanGrowth times that of the one before.
	scanFirst, scanGrowth = 1024, 8
	// scanPairs is the most pairs of an atom and a query in one launch of the scan: a cancelled look ends
	// at most two later.
	scanPairs = 1 << 33
	// scanTile is the most queries of a block of the scan.
	scanTile = 256
	// maxListed is the most entries of a list after a first look, unless the first chunk or k needs more: a
	// query whose list is longer is answered by a dense scan.
	maxListed = 1 << 16
	// minLists is the number of queries whose lists the device must have room for at once.
	minLists = 16
	// termBytes is the number of bytes of its terms that are read of an atom besides its codes (lists.cu).
	termBytes = 12
)

// takeLook takes a look for the chunk's queries and records its reports. When ctx ends it stops after
// a chunk of the scan.
func (x *run) takeLook(ctx context.Context, q *queue, qs *queryChunk, l *look) error {
	if qs.interrupted != nil && qs.interrupted.Look != l.Look { // another look was interrupted, which this one ends
		if err := x.endInterrupted(q, qs, unanswered, backend.QueryIndexes(qs.lo, qs.hi)); err != nil {
			return err
		}
	}
	if stopped := x.enqueueLook(ctx, q, qs, l); stopped != nil {
		if err := x.b.syncStates(q); err != nil {
			return err
		}
		return stopped
	}
	qs.lookTaken = true
	return x.recordReports(q, l, backend.QueryIndexes(qs.lo, qs.hi))
}

// enqueueLook enqueues a look, or the rest of an interrupted one, and its report. The error is ctx's;
// the figures of a look that it interrupts stay in the states.
func (x *run) enqueueLook(ctx context.Context, q *queue, qs *queryChunk, l *look) error {
	if qs.interrupted == nil {
		if !l.Rep.ForFirstLook() {
			if err := x.listAllAtoms(ctx, q, qs); err != nil {
				return err
			}
		}
		qs.beginLook(q)
	}
	if !l.Rep.ForFirstLook() {
		x.revisit(q, qs, l)
	} else if err := x.scan(ctx, q, qs, l); err != nil {
		qs.interrupted = l
		return err
	}
	qs.interrupted = nil
	qs.endLook(q, l)
	return nil
}

// recordReports downloads the states and records the reports of a look for slots.
func (x *run) recordReports(q *queue, l *look, slots []int) error {
	if err := x.b.syncStates(q); err != nil {
		return err
	}
	q.machine.beginPhase(phaseAnswers)
	defer q.machine.beginPhase(phaseEnqueue)
	reports := viewPinned(x.b.pinned, x.b.at.reports, 0, x.b.m)
	t := x.takenLook(l)
	for _, p := range slots {
		r, a := &reports[p], &x.queries[p]
		if r.seen == 0 || a.departed {
			continue
		}
		disallowed := 0
		if l.Rep.ForFirstLook() {
			disallowed = x.scannedUnseen(a, l, int(r.seen))
		}
		bytes := l.AtomBytes + termBytes
		if l.mixed != nil && x.b.states[p].flags&flagMixed != 0 {
			bytes = l.mixed.stride()
		}
		a.pulls, a.bytes = a.pulls+int64(l.AtomBytes*disallowed), a.bytes+int64(bytes*disallowed)
		if a.started && !a.startCounted {
			x.countStart(a, l)
			a.startCounted = true
		}
		if t.figures[p].seen > 0 { // it has taken the same look before
			x.looks = append(x.looks, newTakenLook(l, len(x.queries)))
			t = &x.looks[len(x.looks)-1]
		}
		t.figures[p] = lookFigures{r.seen, r.kept, uint32(disallowed)}
	}
	return nil
}

// takenLook is a look that queries of a run have taken, with its figures for each slot; those of queries
// that have not taken it are zero.
type takenLook struct {
	look    backend.Look
	figures []lookFigures
}

// lookFigures are the figures of a backend.LookReport.
type lookFigures struct{ seen, kept, disallowed uint32 }

func newTakenLook(l *look, m int) takenLook { return takenLook{l.Look, make([]lookFigures, m)} }

// takenLook returns the last look of the run if it is l; otherwise it adds l.
func (x *run) takenLook(l *look) *takenLook {
	if n := len(x.looks); n == 0 || x.looks[n-1].look != l.Look {
		x.looks = append(x.looks, newTakenLook(l, len(x.queries)))
	}
	return &x.looks[len(x.looks)-1]
}

// countLooks returns how many looks the query in slot p has taken.
func (x *run) countLooks(p int) (n int) {
	for i := range x.looks {
		n += flag(x.looks[i].figures[p].seen > 0)
	}
	return n
}

// setReports sets reports to those of the looks that the query in slot p has taken.
func (x *run) setReports(reports []backend.LookReport, p int) {
	n := 0
	for i := range x.looks {
		if f := x.looks[i].figures[p]; f.seen > 0 {
			reports[n] = backend.LookReport{Look: x.looks[i].look, Seen: int(f.seen), Disallowed: int(f.disallowed), Survivors: int(f.kept)}
			n++
		}
	}
}

// listAllAtoms lists all atoms that no look has seen; it is used if a look at rows comes first.
func (x *run) listAllAtoms(ctx context.Context, q *queue, qs *queryChunk) error {
	for qs.nextAtom < x.r.c.N {
		lo := qs.nextAtom
		qs.nextAtom = min(x.r.c.N, lo+qs.launchAtoms())
		x.listNorms(q, qs, lo, qs.nextAtom)
		x.markWaiting(q, qs, x.r.c.N, 0) // no query waits any more
		qs.markFinished(q, 0, x.normBeyond(qs))
		if err := q.paceChunk(ctx, (qs.nextAtom-lo)*qs.m()); err != nil && qs.nextAtom < x.r.c.N {
			return err
		}
	}
	return nil
}

// scan takes a first look at all atoms, in chunks after each of which thresholds are tightened. The
// ends of a query's chunks depend only on the plan and on where its scan begins; queries that begin
// elsewhere wait until their own chunks end.
func (x *run) scan(ctx context.Context, q *queue, qs *queryChunk, l *look) error {
	n := x.r.c.N
	if qs.nextAtom >= n {
		return nil
	}
	x.encodeQueries8(q, qs, l)
	x.computeFactors(q, qs, l)
	x.mixQueries(q, qs, l)
	x.encodeMixed(q, qs, l)
	filter, ending := x.unionFilter(qs), toScan
	if !qs.together {
		ending.mask |= flagWaiting
	}
	if qs.nextAtom == 0 && qs.starts && x.lookStarts(l) {
		x.takeStart(q, qs, l, filter, ending)
		x.encodeMixed(q, qs, l)
		if err := q.paceChunk(ctx, qs.nextAtom*qs.m()); err != nil && qs.nextAtom < n {
			return err
		}
	}
	for end := x.chunkEndAfter(qs, qs.nextAtom, l); qs.nextAtom < n; {
		lo := qs.nextAtom
		qs.nextAtom = min(end, lo+qs.launchAtoms())
		for _, s := range allowedRanges(filter, lo, qs.nextAtom) {
			x.scanAtoms(q, qs, l, s.lo, s.hi)
		}
		if qs.nextAtom == end {
			x.markWaiting(q, qs, end, l.FirstChunk)
			qs.tighten(q, ending, rankByBound, l.MaxSurvivors, x.normBeyond(qs))
			end = x.chunkEndAfter(qs, end, l)
			if qs.nextAtom < n {
				x.encodeMixed(q, qs, l)
			}
		}
		if err := q.paceChunk(ctx, (qs.nextAtom-lo)*qs.m()); err != nil && qs.nextAtom < n { // lists are not pruned here: whether one overflows must not depend on where a scan is interrupted
			return err
		}
	}
	return nil
}

// firstChunk returns the length of the first chunk of a scan by a plan that asks for so many atoms.
func firstChunk(first int) int {
	return (max(scanFirst, first) + looks.StripAtoms - 1) / looks.StripAtoms * looks.StripAtoms
}

// chunkEnd returns the end of the chunk that contains atom at, of n, in a scan that begins at atom
// start, the first of a strip; of its first chunk for atoms before start. The first chunk ends
// firstChunk(first) atoms after start, each later one at a multiple of scanGrowth times as many, so
// that the later chunks of scans that begin elsewhere end together. kernels/lists.cu has the same.
func chunkEnd(start, at, first, n int) int {
	size := firstChunk(first)
	end := start + size
	for end <= at {
		size *= scanGrowth
		end = (start + 2*size - 1) / size * size
	}
	return min(end, n)
}

// normBeyond returns an upper bound of the norms of the atoms that a chunk's queries have not been
// scanned for, negative if there are none.
func (x *run) normBeyond(qs *queryChunk) float32 {
	if qs.nextAtom >= x.r.c.N {
		return -1
	}
	return x.r.c.NormCaps[qs.nextAtom/collection.PanelAtoms]
}

// revisit takes a later look at the survivors, by rows of codes or signs.
func (x *run) revisit(q *queue, qs *queryChunk, l *look) {
	x.computeFactors(q, qs, l)
	x.lookAtRows(q, qs, l)
	qs.tighten(q, live, rankByEstimate, 0, -1)
}

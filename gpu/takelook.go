//go:build cuda && cgo

package gpu

import (
	"context"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/device"
)

const (
	// scanFirst is the least number of atoms in the first chunk of a scan, after which thresholds are
	// first tightened; the end of each further chunk is scanGrowth times that of the one before.
	scanFirst, scanGrowth = 1024, 8
	// scanPairs is the most pairs of an atom and a query in one launch of the scan: some milliseconds.
	scanPairs = 1 << 33
	// scanTile is the most queries of a block of the scan.
	scanTile = 256
	// leastLists is the number of queries whose lists the device must have room for at once.
	leastLists = 16
	// maxScanLook and maxRowLook are the greatest numbers of codes of a first look and of a
	// later one.
	maxScanLook, maxRowLook = 1 << 16, 1 << 20
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
		q.launch("look_begin", qs.threadAQuery(), qs.statesArg(), device.U32(uint32(qs.m())))
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

// endLook enqueues the end of a look and its report.
func (qs *queryChunk) endLook(q *queue, l *look) {
	q.launch("look_end", qs.threadAQuery(), qs.statesArg(), device.U32(uint32(qs.m())), device.I32(l.AtomBytes), boolean(l.Random()), boolean(l.Rep.ForFirstLook()), qs.arrayArg(qs.b.at.reports, 8))
}

// recordReports downloads the states and records the reports of a look for slots.
func (x *run) recordReports(q *queue, l *look, slots []int) error {
	if err := x.b.syncStates(q); err != nil {
		return err
	}
	reports := viewPinned[report](x.b.pinned, x.b.at.reports, x.b.m)
	for _, p := range slots {
		r := reports[p]
		if r.seen == 0 {
			continue
		}
		a := &x.queries[p]
		disallowed := 0
		if l.Rep.ForFirstLook() {
			disallowed = x.scannedUnseen(a, l, int(r.seen))
		}
		a.pulls, a.bytes = a.pulls+int64(l.AtomBytes*disallowed), a.bytes+int64((l.AtomBytes+12)*disallowed)
		a.looks = append(a.looks, backend.LookReport{Look: l.Look, Seen: int(r.seen), Disallowed: disallowed, Survivors: int(r.kept)})
	}
	return nil
}

// listNorms enqueues the listing of atoms lo to hi-1 by their norms.
func (x *run) listNorms(q *queue, qs *queryChunk, lo, hi int) {
	q.launch("list_norms", qs.blocksAQuery(q, 256), qs.statesArg(), device.U32(toScan.mask), device.U32(toScan.value), device.U32(uint32(lo)), device.U32(uint32(hi)),
		device.Ptr(x.r.norm), orNull(x.r.offset), qs.lists.tableArg())
}

// listAllAtoms lists all atoms that no look has seen; it is used if a look at rows comes first.
func (x *run) listAllAtoms(ctx context.Context, q *queue, qs *queryChunk) error {
	for qs.nextAtom < x.r.c.N {
		lo := qs.nextAtom
		qs.nextAtom = min(x.r.c.N, lo+qs.launchAtoms())
		x.listNorms(q, qs, lo, qs.nextAtom)
		x.markWaiting(q, qs, x.r.c.N, 0) // no query waits any more
		q.launch("mark_finished", qs.threadAQuery(), qs.statesArg(), device.U32(uint32(qs.m())), device.F64(0), device.F32(x.normBeyond(qs)))
		if err := q.paceChunk(ctx, (qs.nextAtom-lo)*qs.m()); err != nil && qs.nextAtom < x.r.c.N {
			return err
		}
	}
	return nil
}

// launchAtoms returns the number of atoms of one launch, in whole strips.
func (qs *queryChunk) launchAtoms() int {
	return max(1, qs.b.r.m.maxPairs/qs.m()/looks.StripAtoms) * looks.StripAtoms
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
	filter, ending := x.unionFilter(qs), toScan
	if !qs.together {
		ending.mask |= flagWaiting
	}
	for end := x.chunkEndAfter(qs, qs.nextAtom, l.FirstChunk); qs.nextAtom < n; {
		lo := qs.nextAtom
		qs.nextAtom = min(end, lo+qs.launchAtoms())
		for _, s := range allowedRanges(filter, lo, qs.nextAtom) {
			x.scanAtoms(q, qs, l, s.lo, s.hi)
		}
		if qs.nextAtom == end {
			x.markWaiting(q, qs, end, l.FirstChunk)
			qs.tighten(q, ending, rankByBound, l.MaxSurvivors, x.normBeyond(qs))
			end = x.chunkEndAfter(qs, end, l.FirstChunk)
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

// encodeQueries8 rounds the queries to the 8-bit codes of a first look.
func (x *run) encodeQueries8(q *queue, qs *queryChunk, l *look) {
	c, b := x.r.c, x.b
	q.launch("query_codes", device.Shape{Grid: device.Dim{X: qs.m()}, Block: threadsFor(b.pitch() / 4)}, qs.arrayArg(b.at.head, 4*c.R), qs.arrayArg(b.at.rest, 4*c.D), qs.arrayArg(b.at.codes8, b.pitch()), device.Null(), device.Null(),
		qs.statesArg(), device.I32(qs.m()), device.I32(c.R), device.I32(c.D), device.I32(l.To), device.I32(b.pitch()), device.I32(b.pitch()))
}

// computeFactors computes the factors of a look's bound for each query.
func (x *run) computeFactors(q *queue, qs *queryChunk, l *look) {
	c := x.r.c
	q.launch("look_factors", device.Shape{Grid: device.Dim{X: blocks(qs.m(), 8)}, Block: device.Dim{X: 256}}, qs.statesArg(), qs.arrayArg(x.b.at.rest, 4*c.D),
		device.I32(qs.m()), device.I32(c.D), device.I32(l.To), device.I32(int(l.Kind)), device.I32(int(l.QueryCodes)), device.F64(l.Reach), device.F64(l.Slack), device.F64(l.CodeSlack))
}

// scanAtoms enqueues the scan of atoms lo to hi-1.
func (x *run) scanAtoms(q *queue, qs *queryChunk, l *look, lo, hi int) {
	c := x.r.c
	q.launch("scan_seen", device.Shape{Grid: device.Dim{X: blocks(qs.m(), 8)}, Block: device.Dim{X: 256}},
		qs.statesArg(), device.I32(qs.m()), device.U32(toScan.mask), device.U32(toScan.value), device.U32(uint32(lo)), device.U32(uint32(hi)))
	name, codes, stride := "scan_s8", device.Ptr(x.r.slab), x.r.stride
	if l.To > c.PanelWidth {
		name, codes, stride = "scan_rows_s8", device.Ptr(x.r.codes.kernelArg()), c.R+c.D
	}
	tile, shared := scanShape(q, c, qs.m(), l.To)
	if l.To > c.PanelWidth {
		tile, shared = scanRowsShape(qs.m())
	}
	y := blocks(qs.m(), tile)
	grid := min(blocks(hi-lo, 256), max(1, 2*q.t.Device().Info().Multiprocessors/y))
	q.launch(name, device.Shape{Grid: device.Dim{X: grid, Y: y}, Block: device.Dim{X: 256}, Shared: shared},
		codes, device.I64(int64(stride)), device.I32(c.R), device.I32(l.To), device.U32(uint32(lo)), device.U32(uint32(hi)), qs.arrayArg(x.b.at.codes8, x.b.pitch()), device.I32(x.b.pitch()),
		qs.statesArg(), device.I32(qs.m()), device.I32(tile), device.U32(toScan.mask), device.U32(toScan.value), device.Ptr(l.table), qs.lists.tableArg())
}

// scanShape returns how many of m queries a block of the scan processes, and its bytes of shared
// memory, by the formulas of scan.cu and scan_rows.cu.
func scanShape(q *queue, c *collection.Collection, m, width int) (tile, shared int) {
	if width > c.PanelWidth { // blocks process 32 queries or 128
		if tile = min(128, (m+7)&^7); tile <= 32 {
			return tile, 320*32 + 42560
		}
		return tile, 320*128 + 42560
	}
	wide := 32*((c.R+31)/32+(width+31)/32) + 16
	fixed, all, info := 256*wide+12288, min(scanTile, (m+7)&^7), q.t.Device().Info()
	fitting := func(most int) int {
		n := all
		for n > 8 && n*(wide+80)+fixed > most {
			n = (n/2 + 7) &^ 7
		}
		return n
	}
	// Two blocks on a multiprocessor, which reserves a KB for each, hide more latency than one; each
	// should have 64 queries, though.
	if tile = fitting(info.SharedPerSM/2 - 1024); tile < min(64, all) {
		tile = fitting(info.SharedPerBlock)
	}
	tile = (blocks(m, blocks(m, tile)) + 7) &^ 7 // tiles of nearly equal size
	return tile, tile*(wide+80) + fixed
}

// scanRowsShape is scanShape for scan_rows.cu.
func scanRowsShape(m int) (tile, shared int) {
	tile, wide := min(128, (m+7)&^7), 32
	if tile > 32 {
		wide = 128
	}
	return tile, 320*wide + 42560
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
	c, b := x.r.c, x.b
	x.computeFactors(q, qs, l)
	name, codes := "look_rows", x.r.codes
	if l.QueryCodes == looks.CodesHigh {
		name, codes = "look_signs", x.r.own[l.Rep]
	}
	_, stride := l.Rep.Codes(c)
	q.launch(name, qs.blocksAQuery(q, 128), qs.statesArg(), qs.lists.tableArg(), device.Ptr(l.table), device.Ptr(codes.kernelArg()), device.I64(int64(stride)), device.I32(c.R), device.I32(l.To),
		qs.arrayArg(b.at.hi, b.pitch()), qs.arrayArg(b.at.lo, b.pitch()), device.I32(b.pitch()))
	qs.tighten(q, live, rankByEstimate, 0, -1)
}

//go:build cuda && cgo

package gpu

import (
	"context"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
)

const (
	// scanFirst is how many atoms a first look sees, at least, before it lifts the
	// thresholds; scanGrowth is how many times as many it has seen at the end of
	// each further chunk.
	scanFirst, scanGrowth = 1024, 8
	// scanPairs is how many pairs of an atom and a query one launch of the scan
	// takes: some milliseconds.
	scanPairs = 1 << 33
	// scanTile is how many queries a block of the scan takes at most.
	scanTile = 256
	// leastLists is how many queries' lists there must be room for at once.
	leastLists = 16
	// maxScanLook and maxRowLook are the greatest numbers of codes of a first look and of a
	// later one.
	maxScanLook, maxRowLook = 1 << 16, 1 << 20
)

// climb has the group take a look and notes what the device tells of it. When ctx ends
// it stops after a chunk.
func (x *run) climb(ctx context.Context, q *queue, g *group, l *look) error {
	if g.under != nil && g.under.Look != l.Look { // it does not go on
		if err := x.conclude(q, g, unanswered, backend.QueryIndexes(g.lo, g.hi)); err != nil {
			return err
		}
	}
	if stopped := x.take(ctx, q, g, l); stopped != nil {
		if err := x.b.settle(q); err != nil {
			return err
		}
		return stopped
	}
	g.taken = true
	return x.note(q, l, backend.QueryIndexes(g.lo, g.hi))
}

// take enqueues a look, or what is left of it, and the report on it; the error is that
// of ctx. Figures of a look that it stops stay in the states.
func (x *run) take(ctx context.Context, q *queue, g *group, l *look) error {
	if g.under == nil {
		if !l.Rep.ForFirstLook() {
			if err := x.everybody(ctx, q, g); err != nil {
				return err
			}
		}
		q.launch("look_begin", g.threads(), g.states(), U32(uint32(g.m())))
	}
	if !l.Rep.ForFirstLook() {
		x.revisit(q, g, l)
	} else if err := x.scan(ctx, q, g, l); err != nil {
		g.under = l
		return err
	}
	g.under = nil
	g.end(q, l)
	return nil
}

// end enqueues the end of a look and the report on it.
func (g *group) end(q *queue, l *look) {
	q.launch("look_end", g.threads(), g.states(), U32(uint32(g.m())), I32(l.AtomBytes), boolean(l.Random()), boolean(l.Rep.ForFirstLook()), g.array(g.b.at.reports, 8))
}

// note brings the states to the host, and the reports on a look for places.
func (x *run) note(q *queue, l *look, places []int) error {
	if err := x.b.settle(q); err != nil {
		return err
	}
	reports := view[report](x.b.pin, x.b.at.reports, x.b.m)
	for _, p := range places {
		r := reports[p]
		if r.seen == 0 {
			continue
		}
		a := &x.asked[p]
		beside := 0
		if l.Rep.ForFirstLook() {
			beside = x.scannedBeside(a.goal, l, int(r.seen))
		}
		a.pulls, a.bytes = a.pulls+int64(l.AtomBytes*beside), a.bytes+int64((l.AtomBytes+12)*beside)
		a.looks = append(a.looks, backend.LookReport{Look: l.Look, Seen: int(r.seen), Disallowed: beside, Survivors: int(r.kept)})
	}
	return nil
}

func (x *run) listNorms(q *queue, g *group, lo, hi int) {
	q.launch("list_norms", g.shared(q, 256), g.states(), U32(scanned.mask), U32(scanned.value), U32(uint32(lo)), U32(uint32(hi)),
		Ptr(x.r.norm), orNull(x.r.offset), g.lists.table())
}

// everybody lists all atoms that no look has seen, when a look at rows comes first.
func (x *run) everybody(ctx context.Context, q *queue, g *group) error {
	for g.next < x.r.c.N {
		lo := g.next
		g.next = min(x.r.c.N, lo+g.launchAtoms())
		x.listNorms(q, g, lo, g.next)
		q.launch("survey", g.threads(), g.states(), U32(uint32(g.m())), F64(0), F32(x.beyond(g)))
		if err := q.pace(ctx, (g.next-lo)*g.m()); err != nil && g.next < x.r.c.N {
			return err
		}
	}
	return nil
}

// launchAtoms is how many atoms one launch takes, in whole strips.
func (g *group) launchAtoms() int {
	return max(1, g.b.r.m.pairsMost/g.m()/looks.StripAtoms) * looks.StripAtoms
}

// scan is the first look at everybody, in chunks between which thresholds are
// lifted. Their ends depend on the plan alone.
func (x *run) scan(ctx context.Context, q *queue, g *group, l *look) error {
	n := x.r.c.N
	if g.next >= n {
		return nil
	}
	x.codes8(q, g, l)
	x.factors(q, g, l)
	filter := x.filter(g)
	for end := chunkEnd(g.next, l.FirstChunk, n); g.next < n; {
		lo := g.next
		g.next = min(end, lo+g.launchAtoms())
		for _, s := range spans(filter, lo, g.next) {
			x.scanAtoms(q, g, l, s.lo, s.hi)
		}
		if g.next == end {
			g.lift(q, scanned, byBound, l.MaxSurvivors, x.beyond(g))
			end = chunkEnd(end, l.FirstChunk, n)
		}
		if err := q.pace(ctx, (g.next-lo)*g.m()); err != nil && g.next < n { // nothing is pruned: whose list has room must not depend on where it stops
			return err
		}
	}
	return nil
}

// chunkEnd is where the chunk ends that holds atom at of n.
func chunkEnd(at, first, n int) int {
	end := (max(scanFirst, first) + looks.StripAtoms - 1) / looks.StripAtoms * looks.StripAtoms
	for end <= at {
		end *= scanGrowth
	}
	return min(end, n)
}

// codes8 rounds the queries to the 8-bit codes of a first look.
func (x *run) codes8(q *queue, g *group, l *look) {
	c, b := x.r.c, x.b
	q.launch("query_codes", Shape{Grid: Dim{X: g.m()}, Block: threads(b.pitch() / 4)}, g.array(b.at.head, 4*c.R), g.array(b.at.rest, 4*c.D), g.array(b.at.codes8, b.pitch()), Null(), Null(),
		g.states(), I32(g.m()), I32(c.R), I32(c.D), I32(l.To), I32(b.pitch()), I32(b.pitch()))
}

// factors makes a look's bound ready for each query.
func (x *run) factors(q *queue, g *group, l *look) {
	c := x.r.c
	q.launch("look_factors", Shape{Grid: Dim{X: blocks(g.m(), 8)}, Block: Dim{X: 256}}, g.states(), g.array(x.b.at.rest, 4*c.D),
		I32(g.m()), I32(c.D), I32(l.To), I32(int(l.Kind)), I32(int(l.QueryCodes)), F64(l.Reach), F64(l.Slack), F64(l.CodeSlack))
}

// scanAtoms enqueues the scan of atoms lo..hi-1.
func (x *run) scanAtoms(q *queue, g *group, l *look, lo, hi int) {
	c := x.r.c
	q.launch("scan_seen", Shape{Grid: Dim{X: blocks(g.m(), 8)}, Block: Dim{X: 256}},
		g.states(), Null(), I32(g.m()), U32(scanned.mask), U32(scanned.value), U32(uint32(lo)), U32(uint32(hi)))
	name, codes, stride := "scan_s8", Ptr(x.r.slab), x.r.stride
	if l.To > c.PanelWidth {
		name, codes, stride = "scan_rows_s8", Ptr(x.r.codes.memory()), c.R+c.D
	}
	tile, shared := scanShape(q, c, g.m(), l.To)
	if l.To > c.PanelWidth {
		tile, shared = scanRowsShape(g.m())
	}
	y := blocks(g.m(), tile)
	grid := min(blocks(hi-lo, 256), max(1, 2*q.t.d.info.Multiprocessors/y))
	q.launch(name, Shape{Grid: Dim{X: grid, Y: y}, Block: Dim{X: 256}, Shared: shared},
		codes, I64(int64(stride)), I32(c.R), I32(l.To), U32(uint32(lo)), U32(uint32(hi)), g.array(x.b.at.codes8, x.b.pitch()), I32(x.b.pitch()),
		g.states(), Null(), I32(g.m()), I32(tile), U32(scanned.mask), U32(scanned.value), Ptr(l.table), g.lists.table())
}

// scanShape is how many of m queries a block of the scan takes, and how much
// shared memory for it; scan.cu and scan_rows.cu have the formulas.
func scanShape(q *queue, c *collection.Collection, m, width int) (tile, shared int) {
	if width > c.PanelWidth { // 32 at a time or 128
		if tile = min(128, (m+7)&^7); tile <= 32 {
			return tile, 320*32 + 42560
		}
		return tile, 320*128 + 42560
	}
	wide := 32*((c.R+31)/32+(width+31)/32) + 16
	fixed, all, info := 256*wide+12288, min(scanTile, (m+7)&^7), &q.t.d.info
	fitting := func(most int) int {
		n := all
		for n > 8 && n*(wide+80)+fixed > most {
			n = (n/2 + 7) &^ 7
		}
		return n
	}
	// Two blocks on a multiprocessor, which keeps a KB for either, hide waits that one
	// cannot; but they are to have 64 queries each.
	if tile = fitting(info.SharedPerSM/2 - 1024); tile < min(64, all) {
		tile = fitting(info.SharedPerBlock)
	}
	tile = (blocks(m, blocks(m, tile)) + 7) &^ 7 // none much smaller than the others
	return tile, tile*(wide+80) + fixed
}

// scanRowsShape is the same by scan_rows.cu.
func scanRowsShape(m int) (tile, shared int) {
	tile, wide := min(128, (m+7)&^7), 32
	if tile > 32 {
		wide = 128
	}
	return tile, 320*wide + 42560
}

// beyond is the greatest norm of the atoms that a group has not been scanned for,
// negative if there are none.
func (x *run) beyond(g *group) float32 {
	if g.next >= x.r.c.N {
		return -1
	}
	return x.r.c.NormCaps[g.next/collection.PanelAtoms]
}

// revisit is a later look, by rows of codes or signs, at the survivors.
func (x *run) revisit(q *queue, g *group, l *look) {
	c, b := x.r.c, x.b
	x.factors(q, g, l)
	name, codes := "look_rows", x.r.codes
	if l.QueryCodes == looks.CodesHigh {
		name, codes = "look_signs", x.r.own[l.Rep]
	}
	_, stride := l.Rep.Codes(c)
	q.launch(name, g.shared(q, 128), g.states(), g.lists.table(), Ptr(l.table), Ptr(codes.memory()), I64(int64(stride)), I32(c.R), I32(l.To),
		g.array(b.at.hi, b.pitch()), g.array(b.at.lo, b.pitch()), I32(b.pitch()))
	g.lift(q, live, byEstimate, 0, -1)
}

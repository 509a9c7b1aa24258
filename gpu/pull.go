//go:build cuda && cgo

package gpu

import (
	"thresher/backend/looks"
	"thresher/gpu/device"
)

// This file enqueues the kernels of a run, in their order:
//
//	queries      query_load  head_project  rotate | rotate_haar  query_codes
//	candidates   take_given  share_candidates  score  merge
//	first look   query_codes  look_factors  look_begin
//	             (mix_queries  mixed_codes, at mixed codes; mixed_codes again after each tighten but the last)
//	             (dense_load  scan_seen  dense_tf32  tighten_short  tighten, if it has a start)
//	             for each chunk of atoms: scan_seen  (scan_mixed)  scan_s8 | scan_rows_s8  mark_waiting  tighten_short  tighten
//	             look_end
//	later look   look_factors  look_begin  look_rows | look_signs  tighten_short  tighten  look_end
//	             (if it is the first: list_norms  mark_waiting  mark_finished)
//	finish       select_candidates  share_candidates  score  merge  prune
//	swap         share_lists  move_lists
//	dense scan   seed_best  dense_load  dense_tf32  tighten_short  tighten
//
// takelook.go, start.go, dense.go and querychunk.go decide which of them a query needs.

// prepare prepares the queries, which have been loaded.
func (b *queryBatch) prepare(q *queue) {
	c, m := b.r.c, b.m
	// As many threads with codes as without, for the same norm, bit for bit: a dense scan takes scores of the run.
	q.queryLoad(device.Shape{Grid: device.Dim{X: m}, Block: threadsFor(c.Dim)}, queryLoadArgs{
		q: b.given(), scaled: arrayOf(b, b.at.scaled), x: arrayOf(b, b.at.x), queries: arrayOf(b, b.at.states),
		m: m, dim: c.Dim, P: b.xWidth(), metric: int(looks.ScoringOf(c.Metric)), centre: orNull(b.r.centre),
	})
	if !b.codes {
		return
	}
	if c.R > 0 {
		q.headProject(warpEach(m), headProjectArgs{
			x: arrayOf(b, b.at.x), U: device.Ptr(b.r.rotation.head), head: arrayOf(b, b.at.head), rest: arrayOf(b, b.at.x), m: m, R: c.R, D: c.D,
		})
	}
	b.rotate(q)
	q.queryCodes(device.Shape{Grid: device.Dim{X: m}, Block: threadsFor(b.pitch() / 4)}, queryCodesArgs{
		head: arrayOf(b, b.at.head), rest: arrayOf(b, b.at.rest), codes8: device.Pointer[int8]{}, hi: arrayOf(b, b.at.hi), lo: arrayOf(b, b.at.lo),
		queries: arrayOf(b, b.at.states), m: m, R: c.R, D: c.D, To: c.D, S: 0, P: b.pitch(),
	})
}

// rotate rotates the rests.
func (b *queryBatch) rotate(q *queue) {
	c, m, rot := b.r.c, b.m, b.r.rotation
	if rot.haar != nil {
		q.rotateHaar(device.Shape{Grid: device.Dim{X: blocks(m, 8), Y: blocks(c.D, 32)}, Block: device.Dim{X: 256}}, rotateHaarArgs{
			x: arrayOf(b, b.at.x), haar: device.Ptr(rot.haar), rest: arrayOf(b, b.at.rest), m: m, D: c.D,
		})
		return
	}
	shape, work := device.Shape{Grid: device.Dim{X: m}, Block: threadsFor(c.D / 8), Shared: b.rotationShared(q.t)}, device.Pointer[float32]{}
	if shape.Shared == 0 {
		work = arrayOf(b, b.at.work)
	}
	q.rotate(shape, rotateArgs{
		x: arrayOf(b, b.at.x), sign: device.Ptr(rot.sign), perm: device.Ptr(rot.perm), rest: arrayOf(b, b.at.rest), work: work,
		m: m, D: c.D, rounds: rot.rounds,
	})
}

// scoreGiven scores the next of the candidates that goals name, as many as there is room for.
func (qs *queryChunk) scoreGiven(q *queue) {
	b := qs.b
	q.takeGiven(qs.blockAQuery(), takeGivenArgs{
		queries: qs.states(), candidate: partOf(qs, b.at.candidate, b.candidateRoom), selected: partOf(qs, b.at.candidateCount, 1), room: uint32(b.candidateRoom),
	})
	qs.scoreSelected(q)
}

// encodeQueries8 rounds the queries to the 8-bit codes of a first look.
func (x *run) encodeQueries8(q *queue, qs *queryChunk, l *look) {
	c, b := x.r.c, x.b
	q.queryCodes(device.Shape{Grid: device.Dim{X: qs.m()}, Block: threadsFor(b.pitch() / 4)}, queryCodesArgs{
		head: partOf(qs, b.at.head, c.R), rest: partOf(qs, b.at.rest, c.D), codes8: partOf(qs, b.at.codes8, b.pitch()),
		hi: device.Pointer[int8]{}, lo: device.Pointer[int8]{}, queries: qs.states(), m: qs.m(), R: c.R, D: c.D, To: l.To, S: b.pitch(), P: b.pitch(),
	})
}

// computeFactors computes the factors of a look's bound for each query.
func (x *run) computeFactors(q *queue, qs *queryChunk, l *look) {
	q.lookFactors(warpEach(qs.m()), lookFactorsArgs{
		queries: qs.states(), rest: partOf(qs, x.b.at.rest, x.r.c.D), m: qs.m(), D: x.r.c.D, To: l.To,
		rule: int(l.Kind), codes: int(l.QueryCodes), reach: l.Reach, slack: l.Slack, codeSlack: l.CodeSlack,
	})
}

// beginLook clears the figures of a look, and divides the lists into shares.
func (qs *queryChunk) beginLook(q *queue) {
	q.lookBegin(oneBlock(), lookBeginArgs{
		queries: qs.states(), m: uint32(qs.m()), cap: uint32(qs.lists.room), want: uint32(wantedShares(q)), begins: qs.begins(),
	})
}

// scanAtoms enqueues the scan of atoms lo to hi-1: at mixed codes for queries that have them, at panels or rows for the others.
func (x *run) scanAtoms(q *queue, qs *queryChunk, l *look, lo, hi int) {
	w, more := toScan, 0
	if l.mixed != nil {
		w.mask |= flagMixed
		more = l.mixed.stride() - l.AtomBytes - termBytes
	}
	q.scanSeen(warpEach(qs.m()), scanSeenArgs{
		queries: qs.states(), m: qs.m(), mask: toScan.mask, value: toScan.value, lo: uint32(lo), hi: uint32(hi), more: more,
	})
	if l.mixed != nil {
		x.scanMixedCodes(q, qs, l, selector{w.mask, w.value | flagMixed}, lo, hi)
	}
	if l.To <= x.r.c.PanelWidth {
		tile, shared := scanShape(q, x.r.c, qs.m(), l.To)
		x.scanPanels(q, qs, l, w, lo, hi, tile, scanGrid(q, qs.m(), lo, hi, tile, shared))
		return
	}
	c := x.r.c
	tile, shared := scanRowsShape(qs.m())
	q.scanRowsS8(scanGrid(q, qs.m(), lo, hi, tile, shared), scanRowsS8Args{
		codes: x.r.codes.pointer(), stride: int64(c.R + c.D), R: c.R, To: l.To, lo: uint32(lo), hi: uint32(hi), codes8: partOf(qs, x.b.at.codes8, x.b.pitch()), pitch: x.b.pitch(),
		queries: qs.states(), m: qs.m(), tile: tile, mask: w.mask, value: w.value, terms: l.terms, lists: qs.lists.table(),
	})
}

// scanPanels enqueues the scan of the slab's atoms lo to hi-1 for the queries that w selects, in tiles of so many queries.
func (x *run) scanPanels(q *queue, qs *queryChunk, l *look, w selector, lo, hi, tile int, shape device.Shape) {
	q.scanS8(shape, scanS8Args{
		slab: device.Ptr(x.r.slab), stride: int64(x.r.stride), R: x.r.c.R, To: l.To, lo: uint32(lo), hi: uint32(hi), codes8: partOf(qs, x.b.at.codes8, x.b.pitch()), pitch: x.b.pitch(),
		queries: qs.states(), m: qs.m(), tile: tile, mask: w.mask, value: w.value, terms: l.terms, lists: qs.lists.table(),
	})
}

// markWaiting marks the queries of qs that have no chunk that ends at end, if their chunks differ.
func (x *run) markWaiting(q *queue, qs *queryChunk, end, first int) {
	if !qs.together {
		q.markWaiting(qs.threadAQuery(), markWaitingArgs{queries: qs.states(), m: uint32(qs.m()), end: uint32(end), first: uint32(firstChunk(first)), n: uint32(x.r.c.N)})
	}
}

// tighten scores k candidates of each query, then k more by the new threshold, and removes entries
// below it. It marks the queries that need no further scan: those whose threshold no atom of norm
// at most beyond reaches (a negative beyond: no atoms are left), and those that kept more than a
// share of the atoms.
func (qs *queryChunk) tighten(q *queue, w selector, by int, share float64, beyond float32) {
	b, r := qs.b, qs.b.r
	if !qs.collects && b.bestRoom <= tightenMost {
		short := b.bestRoom <= shortMost && qs.m() > tightenAtOnce*q.t.Device().Info().Multiprocessors
		if short {
			q.tightenShort(warpEach(qs.m()), tightenShortArgs{
				queries: qs.states(), m: uint32(qs.m()), lists: qs.lists.table(), mask: w.mask, value: w.value, by: by, rounds: tightenRounds,
				rows: r.rows.pointer(), dim: r.c.Dim, order: device.Ptr(r.order), scaled: partOf(qs, b.at.scaled, r.c.Dim), rowSquare: orNull(r.rowSquare), metric: int(looks.ScoringOf(r.c.Metric)),
				bestScore: partOf(qs, b.at.bestScore, b.bestRoom), bestRow: partOf(qs, b.at.bestRow, b.bestRoom), bestRoom: uint32(b.bestRoom), share: share, beyond: beyond,
			})
		}
		q.tighten(qs.blockAQuery(), tightenArgs{
			queries: qs.states(), lists: qs.lists.table(), mask: w.mask, value: w.value, without: flag(short), by: by, rounds: tightenRounds, ceilingRounds: ceilingRounds,
			rows: r.rows.pointer(), dim: r.c.Dim, order: device.Ptr(r.order), scaled: partOf(qs, b.at.scaled, r.c.Dim), rowSquare: orNull(r.rowSquare), metric: int(looks.ScoringOf(r.c.Metric)),
			bestScore: partOf(qs, b.at.bestScore, b.bestRoom), bestRow: partOf(qs, b.at.bestRow, b.bestRoom), bestRoom: uint32(b.bestRoom), share: share, beyond: beyond,
		})
		return
	}
	rounds := tightenRounds
	if qs.ceilings {
		rounds = ceilingRounds
	}
	for round := range rounds {
		if !qs.collects {
			qs.scoreCandidates(q, w, by, 0, round >= tightenRounds)
		}
	}
	qs.pruneLists(q, w)
	qs.markFinished(q, share, beyond)
}

// markFinished marks the queries that need no further scan, as tighten does.
func (qs *queryChunk) markFinished(q *queue, share float64, beyond float32) {
	q.markFinished(qs.threadAQuery(), markFinishedArgs{queries: qs.states(), m: uint32(qs.m()), share: share, beyond: beyond})
}

// listNorms enqueues the listing of atoms lo to hi-1 by their norms.
func (x *run) listNorms(q *queue, qs *queryChunk, lo, hi int) {
	q.listNorms(qs.blocksAQuery(q, 256), listNormsArgs{
		queries: qs.states(), mask: toScan.mask, value: toScan.value, lo: uint32(lo), hi: uint32(hi), norm: device.Ptr(x.r.norm), offset: orNull(x.r.offset), lists: qs.lists.table(),
	})
}

// lookAtRows looks at the survivors' rows of codes or signs, by the shares of beginLook.
func (x *run) lookAtRows(q *queue, qs *queryChunk, l *look) {
	c, b := x.r.c, x.b
	_, stride := l.Rep.Codes(c)
	shape := qs.warpAShare(q)
	if l.QueryCodes == looks.CodesHigh {
		q.lookSigns(shape, lookSignsArgs{
			queries: qs.states(), m: uint32(qs.m()), begins: qs.begins(), lists: qs.lists.table(), terms: l.terms, signs: x.r.own[l.Rep].pointer(), stride: int64(stride), head: c.R, width: l.To,
			hi: partOf(qs, b.at.hi, b.pitch()), lo: partOf(qs, b.at.lo, b.pitch()), pitch: b.pitch(),
		})
		return
	}
	q.lookRows(shape, lookRowsArgs{
		queries: qs.states(), m: uint32(qs.m()), begins: qs.begins(), lists: qs.lists.table(), terms: l.terms, codes: x.r.codes.pointer(), stride: int64(stride), head: c.R, width: l.To,
		hi: partOf(qs, b.at.hi, b.pitch()), lo: partOf(qs, b.at.lo, b.pitch()), pitch: b.pitch(),
	})
}

// endLook enqueues the end of a look and its report.
func (qs *queryChunk) endLook(q *queue, l *look) {
	q.lookEnd(qs.threadAQuery(), lookEndArgs{
		queries: qs.states(), m: uint32(qs.m()), width: l.AtomBytes, random: flag(l.Random()), scan: flag(l.Rep.ForFirstLook()), reports: partOf(qs, qs.b.at.reports, 1),
	})
}

// scoreCandidates moves at most most candidates of each query (0 for its k) from its list and scores
// them; with ceilings only for queries with a ceiling that hold fewer than k. If the device keeps the
// best, that may tighten the threshold.
func (qs *queryChunk) scoreCandidates(q *queue, w selector, by, most int, ceilings bool) {
	b := qs.b
	q.selectCandidates(qs.blockAQuery(), selectCandidatesArgs{
		queries: qs.states(), lists: qs.lists.table(), mask: w.mask, value: w.value, by: by, most: uint32(most), ceiling: flag(ceilings),
		candidate: partOf(qs, b.at.candidate, b.candidateRoom), selected: partOf(qs, b.at.candidateCount, 1), room: uint32(b.candidateRoom),
	})
	qs.scoreSelected(q)
}

// scoreSelected scores the candidates already selected.
func (qs *queryChunk) scoreSelected(q *queue) {
	b, r := qs.b, qs.b.r
	selected, room := partOf(qs, b.at.candidateCount, 1), uint32(b.candidateRoom)
	scores, rows := partOf(qs, b.at.candidateScore, b.candidateRoom), partOf(qs, b.at.candidateRow, b.candidateRoom)
	q.shareCandidates(oneBlock(), shareCandidatesArgs{selected: selected, m: uint32(qs.m()), want: uint32(wantedShares(q)), begins: qs.begins()})
	q.score(qs.warpAShare(q), scoreArgs{
		queries: qs.states(), m: uint32(qs.m()), begins: qs.begins(), candidate: partOf(qs, b.at.candidate, b.candidateRoom), selected: selected, room: room, rows: r.rows.pointer(), dim: r.c.Dim, order: device.Ptr(r.order),
		scaled: partOf(qs, b.at.scaled, r.c.Dim), rowSquare: orNull(r.rowSquare), metric: int(looks.ScoringOf(r.c.Metric)), scores: scores, of: rows,
	})
	if !qs.collects {
		q.merge(qs.blockAQuery(), mergeArgs{
			queries: qs.states(), selected: selected, scores: scores, of: rows, room: room, dim: r.c.Dim,
			bestScore: partOf(qs, b.at.bestScore, b.bestRoom), bestRow: partOf(qs, b.at.bestRow, b.bestRoom), bestRoom: uint32(b.bestRoom),
		})
	}
}

// pruneLists removes the entries whose bounds are below the threshold; estimates are lost.
func (qs *queryChunk) pruneLists(q *queue, w selector) {
	q.prune(qs.blockAQuery(), pruneArgs{queries: qs.states(), lists: qs.lists.table(), mask: w.mask, value: w.value})
}

// moveLists copies the lists between two arenas.
func (qs *queryChunk) moveLists(q *queue, from, to *arena) {
	q.shareLists(oneBlock(), shareListsArgs{
		queries: qs.states(), m: uint32(qs.m()), cap: uint32(min(from.room, to.room)), want: uint32(wantedShares(q)), begins: qs.begins(),
	})
	q.moveLists(qs.warpAShare(q), moveListsArgs{queries: qs.states(), m: uint32(qs.m()), begins: qs.begins(), from: from.table(), to: to.table()})
}

// seedBest begins the best of the scan's queries with those of the run.
func (d *denseScan) seedBest(q *queue) {
	run := d.x.b
	q.seedBest(d.blockAQuery(), seedBestArgs{
		run: arrayOf(run, run.at.states), runScore: arrayOf(run, run.at.bestScore), runRow: arrayOf(run, run.at.bestRow), runRoom: uint32(run.bestRoom),
		queries: d.states(), bestScore: partOf(&d.queryChunk, d.b.at.bestScore, d.b.bestRoom), bestRow: partOf(&d.queryChunk, d.b.at.bestRow, d.b.bestRoom), bestRoom: uint32(d.b.bestRoom),
	})
}

// loadQueries rounds the queries to tf32.
func (d *denseScan) loadQueries(q *queue) {
	c := d.x.r.c
	q.denseLoad(d.blockAQuery(), denseLoadArgs{
		scaled: partOf(&d.queryChunk, d.b.at.scaled, c.Dim), dim: c.Dim, queries: d.states(), m: d.hi, x: d.vectors(), ld: d.width, margin: d.margins(), centre: orNull(d.x.r.centre),
	})
}

// loadStart rounds the queries to tf32, for a start.
func (x *run) loadStart(q *queue, qs *queryChunk) {
	c, b := x.r.c, x.b
	q.denseLoad(qs.blockAQuery(), denseLoadArgs{
		scaled: partOf(qs, b.at.scaled, c.Dim), dim: c.Dim, queries: qs.states(), m: qs.m(), x: partOf(qs, b.at.rounded, productWidth(x.r.c)), ld: productWidth(x.r.c),
		margin: partOf(qs, b.at.margin, 1), centre: orNull(x.r.centre),
	})
}

// multiplyStart enqueues the products with the rows of atoms lo to hi-1 of a start.
func (x *run) multiplyStart(q *queue, qs *queryChunk, lo, hi int) {
	q.scanSeen(warpEach(qs.m()), scanSeenArgs{
		queries: qs.states(), m: qs.m(), mask: toScan.mask, value: toScan.value, lo: uint32(lo), hi: uint32(hi), more: 0,
	})
	r, b, s := x.r, x.b, x.r.start
	q.denseTf32(denseShape(qs.m(), lo, hi), denseTf32Args{
		rows: device.Ptr(s.rows), dim: r.c.Dim, lo: uint32(lo), hi: uint32(hi),
		inverse: device.Ptr(s.inverse), scale: device.Ptr(s.scale), size: device.Ptr(s.size), offset: device.Ptr(s.offset), centre: orNull(r.centre),
		x: partOf(qs, b.at.rounded, productWidth(r.c)), ld: productWidth(r.c), margin: partOf(qs, b.at.margin, 1), queries: qs.states(), m: qs.m(), mask: toScan.mask, value: toScan.value, lists: qs.lists.table(),
	})
}

// enqueueRows enqueues the products with rows lo to hi-1.
func (d *denseScan) enqueueRows(q *queue, lo, hi int) {
	r := d.x.r
	q.denseTf32(denseShape(d.hi, lo, hi), denseTf32Args{
		rows: r.rows.pointer(), dim: r.c.Dim, lo: uint32(lo), hi: uint32(hi),
		inverse: device.Ptr(d.terms.inverse), scale: device.Ptr(d.terms.scale), size: device.Ptr(d.terms.size), offset: device.Ptr(d.terms.offset), centre: orNull(r.centre),
		x: d.vectors(), ld: d.width, margin: d.margins(), queries: d.states(), m: d.hi, mask: unanswered.mask, value: unanswered.value, lists: d.lists.table(),
	})
}

//go:build cuda && cgo

package gpu

import (
	"context"
	"slices"
	"unsafe"

	"thresher/device"
)

// selector selects the queries that a kernel processes: those whose flags, masked with mask, equal
// value.
type selector struct{ mask, value uint32 }

var (
	// toScan selects queries under elimination that have atoms no look has read.
	toScan = selector{flagDone | flagDense | flagScanned | flagOverflow, 0}
	// live selects queries under elimination.
	live = selector{flagDone | flagDense | flagOverflow, 0}
	// unanswered selects all queries without an answer.
	unanswered = selector{flagDone, 0}
)

// The order in which candidates are selected.
const (
	rankByBound = iota
	rankByEstimate
)

const (
	// drainChunk is the number of arms of a query scored between updates of the threshold, once all
	// remaining arms are to be scored.
	drainChunk = 256
	// drainRounds is the most such chunks enqueued before the host checks how many arms remain.
	drainRounds = 8
	// tightenRounds is the number of rounds of scoring after a chunk of a scan or a later look;
	// tightenMost is the greatest k for the kernel that does them in one launch.
	tightenRounds, tightenMost = 2, 256
	// ceilingRounds is the number of rounds for a query with a ceiling that holds fewer than k.
	ceilingRounds = 8
	// partialRows is the most rows a query scores after its deadline, so that a partial answer is
	// the best of what was scored.
	partialRows = 256
)

// queryChunk is queries lo to hi-1 of a batch, whose lists are in the device's arena at the same time.
type queryChunk struct {
	b      *queryBatch
	lists  *arena
	lo, hi int
	// collects is set if the host collects the scores; otherwise the device keeps the best, which
	// tighten the threshold.
	collects    bool
	nextAtom    int    // first atom that no look has read
	together    bool   // the scans of all queries begin at the same strip, so their chunks end together
	lookTaken   bool   // this was the run's last look
	ceilings    bool   // some query has a ceiling
	interrupted *look  // a look that a context interrupted during its scan, or nil
	swapped     *arena // the lists while other chunks use the arena; nil if they are in it
}

// m returns the number of queries.
func (qs *queryChunk) m() int { return qs.hi - qs.lo }

// answered reports whether all queries are answered, by the states last downloaded.
func (qs *queryChunk) answered() bool {
	for _, s := range qs.b.states[qs.lo:qs.hi] {
		if s.flags&flagDone == 0 {
			return false
		}
	}
	return true
}

// selectSlots returns those of slots, which are ascending, that are in the chunk.
func (qs *queryChunk) selectSlots(slots []int) []int {
	lo, _ := slices.BinarySearch(slots, qs.lo)
	hi, _ := slices.BinarySearch(slots, qs.hi)
	return slots[lo:hi]
}

// arrayArg returns the address of the chunk's part of one of the batch's arrays; bytes is the size of
// a query's part.
func (qs *queryChunk) arrayArg(at, bytes int) device.Arg {
	return device.PtrAt(qs.b.mem, at+qs.lo*bytes)
}

func (qs *queryChunk) statesArg() device.Arg {
	return qs.arrayArg(qs.b.at.states, int(unsafe.Sizeof(query{})))
}

// threadAQuery is the shape of a kernel with one thread for each query.
func (qs *queryChunk) threadAQuery() device.Shape {
	return device.Shape{Grid: device.Dim{X: blocks(qs.m(), 256)}, Block: device.Dim{X: 256}}
}

// blockAQuery is the shape of a kernel with one block for each query.
func (qs *queryChunk) blockAQuery() device.Shape {
	return device.Shape{Grid: device.Dim{X: qs.m()}, Block: device.Dim{X: 256}}
}

// blocksAQuery is the shape of a kernel with several blocks, of so many threads, for each query's
// list: four for each multiprocessor in all, and at most two for each multiprocessor for one query.
func (qs *queryChunk) blocksAQuery(q *queue, threads int) device.Shape {
	n := q.t.Device().Info().Multiprocessors
	y := max(1, min(2*n, 4*n/qs.m()))
	return device.Shape{Grid: device.Dim{X: qs.m(), Y: y}, Block: device.Dim{X: threads}}
}

// pruneLists removes the entries whose bounds are below the threshold; estimates are lost.
func (qs *queryChunk) pruneLists(q *queue, w selector) {
	q.launch("prune", qs.blockAQuery(), qs.statesArg(), qs.lists.tableArg(), device.U32(w.mask), device.U32(w.value))
}

// scoreCandidates moves at most most candidates of each query (0 for its k) from its list and scores
// them; with ceilings only for queries with a ceiling that hold fewer than k. If the device keeps the
// best, that may tighten the threshold.
func (qs *queryChunk) scoreCandidates(q *queue, w selector, by, most int, ceilings bool) {
	b := qs.b
	q.launch("select_candidates", qs.blockAQuery(), qs.statesArg(), qs.lists.tableArg(), device.U32(w.mask), device.U32(w.value), device.I32(by), device.U32(uint32(most)), boolean(ceilings),
		qs.arrayArg(b.at.candidate, 4*b.candidateRoom), qs.arrayArg(b.at.candidateCount, 4), device.U32(uint32(b.candidateRoom)))
	qs.scoreSelected(q)
}

// scoreSelected scores the candidates already selected.
func (qs *queryChunk) scoreSelected(q *queue) {
	b, r := qs.b, qs.b.r
	room := device.U32(uint32(b.candidateRoom))
	lead, led := qs.arrayArg(b.at.candidate, 4*b.candidateRoom), qs.arrayArg(b.at.candidateCount, 4)
	scores, rows := qs.arrayArg(b.at.candidateScore, 8*b.candidateRoom), qs.arrayArg(b.at.candidateRow, 4*b.candidateRoom)
	q.launch("score", qs.blocksAQuery(q, 128), qs.statesArg(), lead, led, room, device.Ptr(r.rows.kernelArg()), device.I32(r.c.Dim), device.Ptr(r.order),
		qs.arrayArg(b.at.scaled, 8*r.c.Dim), orNull(r.rowSquare), scoringOf(r.c), scores, rows)
	if !qs.collects {
		q.launch("merge", qs.blockAQuery(), qs.statesArg(), led, scores, rows, room, device.I32(r.c.Dim),
			qs.arrayArg(b.at.bestScore, 8*b.bestRoom), qs.arrayArg(b.at.bestRow, 4*b.bestRoom), device.U32(uint32(b.bestRoom)))
	}
}

// tighten scores k candidates of each query, then k more by the new threshold, and removes entries
// below it. It marks the queries that need no further scan: those whose threshold no atom of norm
// at most beyond reaches (a negative beyond: no atoms are left), and those that kept more than a
// share of the atoms.
func (qs *queryChunk) tighten(q *queue, w selector, by int, share float64, beyond float32) {
	b, r := qs.b, qs.b.r
	if !qs.collects && b.bestRoom <= tightenMost {
		q.launch("tighten", qs.blockAQuery(), qs.statesArg(), qs.lists.tableArg(), device.U32(w.mask), device.U32(w.value), device.I32(by), device.I32(tightenRounds), device.I32(ceilingRounds),
			device.Ptr(r.rows.kernelArg()), device.I32(r.c.Dim), device.Ptr(r.order), qs.arrayArg(b.at.scaled, 8*r.c.Dim), orNull(r.rowSquare), scoringOf(r.c),
			qs.arrayArg(b.at.bestScore, 8*b.bestRoom), qs.arrayArg(b.at.bestRow, 4*b.bestRoom), device.U32(uint32(b.bestRoom)), device.F64(share), device.F32(beyond))
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
	q.launch("mark_finished", qs.threadAQuery(), qs.statesArg(), device.U32(uint32(qs.m())), device.F64(share), device.F32(beyond))
}

// longestList returns the length of the longest list of the queries selected by w, by the states
// last downloaded.
func (qs *queryChunk) longestList(w selector) int {
	n := 0
	for _, s := range qs.b.states[qs.lo:qs.hi] {
		if s.flags&w.mask == w.value {
			n = max(n, min(int(s.listed), qs.lists.room))
		}
	}
	return n
}

// drainLists scores the remaining lists of the queries selected by w, greatest bounds first, until
// no bound reaches the threshold; it passes scores that the host collects to found. If ctx has
// ended it scores one round of candidates and leaves the rest in the lists.
func (qs *queryChunk) drainLists(ctx context.Context, q *queue, w selector, found func(j int, s []scoredRow)) error {
	if qs.collects {
		return qs.collectScores(ctx, q, w, found)
	}
	most, rounds := 0, 1 // the k best first
	if ctx.Err() != nil && qs.b.bestRoom > partialRows {
		most = partialRows
	}
	for {
		for range rounds {
			qs.scoreCandidates(q, w, rankByBound, most, false)
		}
		qs.pruneLists(q, w)
		if err := qs.b.syncStates(q); err != nil {
			return err
		}
		left := qs.longestList(w)
		if left == 0 || ctx.Err() != nil {
			return nil
		}
		most, rounds = drainChunk, min(drainRounds, blocks(left, drainChunk))
	}
}

// collectScores is drainLists for queries whose scores go to the host.
func (qs *queryChunk) collectScores(ctx context.Context, q *queue, w selector, found func(j int, s []scoredRow)) error {
	for {
		qs.scoreCandidates(q, w, rankByBound, qs.b.candidateRoom, false)
		if err := qs.downloadScores(q, found); err != nil {
			return err
		}
		if qs.longestList(w) == 0 || ctx.Err() != nil {
			return nil
		}
	}
}

// downloadScores downloads the scores of the last candidates, and the states.
func (qs *queryChunk) downloadScores(q *queue, found func(j int, s []scoredRow)) (err error) {
	b := qs.b
	n := qs.m() * b.candidateRoom
	pin, err := q.machine.pool.TakePinned(q.t, "scores", 12*n+4*qs.m())
	if err != nil {
		return err
	}
	defer func() { err = q.machine.pool.ReturnAfter(q.t, pin, err) }()
	down := func(to, at, bytes int) {
		q.enqueue(func(t *device.Thread, s *device.Stream) error {
			return b.mem.DownloadAsync(t, s, pin, to, at+qs.lo*bytes, qs.m()*bytes)
		})
	}
	scores, rows, led := viewPinned[float64](pin, 0, n), viewPinned[uint32](pin, 8*n, n), viewPinned[uint32](pin, 12*n, qs.m())
	down(0, b.at.candidateScore, 8*b.candidateRoom)
	down(8*n, b.at.candidateRow, 4*b.candidateRoom)
	down(12*n, b.at.candidateCount, 4)
	if err := qs.b.syncStates(q); err != nil {
		return err
	}
	for j, k := range led {
		all := make([]scoredRow, k)
		for e := range all {
			all[e] = scoredRow{scores[j*b.candidateRoom+e], rows[j*b.candidateRoom+e]}
		}
		found(qs.lo+j, all)
	}
	return nil
}

// swapOut moves the lists to host memory, so that other chunks can use the arena. The states must be
// current on the host, for the lists' lengths.
func (qs *queryChunk) swapOut(q *queue) (err error) {
	if qs.swapped, err = newHostArena(q.t, &q.machine.pool, qs.m(), max(1, qs.longestList(unanswered))); err != nil {
		return err
	}
	qs.moveLists(q, qs.lists, qs.swapped)
	return q.sync()
}

// swapIn moves the lists back to the arena.
func (qs *queryChunk) swapIn(q *queue) error {
	if qs.swapped == nil {
		return nil
	}
	qs.moveLists(q, qs.swapped, qs.lists)
	if err := q.sync(); err != nil {
		return err
	}
	err := qs.swapped.freeMemory(q.t)
	qs.swapped = nil
	return err
}

func (qs *queryChunk) moveLists(q *queue, from, to *arena) {
	q.launch("move_lists", qs.blocksAQuery(q, 256), qs.statesArg(), from.tableArg(), to.tableArg())
}

func boolean(b bool) device.Arg {
	if b {
		return device.I32(1)
	}
	return device.I32(0)
}

// orNull passes a buffer, or a null pointer if it is nil.
func orNull[T any](b *device.Buffer[T]) device.Arg {
	if b == nil {
		return device.Null()
	}
	return device.Ptr(b)
}

//go:build cuda && cgo

package gpu

import (
	"context"
	"slices"

	"thresher/gpu/device"
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
	// tightenAtOnce is the number of queries that a multiprocessor tightens at once, by a block for each. If
	// there are more, and none wants more than shortMost atoms, those with short lists get a warp each.
	tightenAtOnce, shortMost = 4, 32
	// ceilingRounds is the number of rounds for a query with a ceiling that holds fewer than k.
	ceilingRounds = 8
	// partialRows is the most rows a query scores after its deadline, so that a partial answer is
	// the best of what was scored.
	partialRows = 256
)

// queryChunk is queries lo to hi-1 of a batch, of one kind, whose lists are in the device's arena at the same time.
type queryChunk struct {
	b      *queryBatch
	lists  *arena
	lo, hi int
	// collects is set if the host collects the scores; otherwise the device keeps the best, which
	// tighten the threshold.
	collects    bool
	nextAtom    int    // first atom that no look has read
	together    bool   // the scans of all queries begin at the same strip, so their chunks end together
	starts      bool   // the first looks of all queries may begin with a start
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
	down := func(to, from, end int) {
		q.enqueue(func(t *device.Thread, s *device.Stream) error {
			return b.mem.DownloadAsync(t, s, pin, to, from, end-from)
		})
	}
	scoresAt, rowsAt, countsAt := array[float64](0), array[uint32](8*n), array[uint32](12*n)
	scores, rows, led := viewPinned(pin, scoresAt, 0, n), viewPinned(pin, rowsAt, 0, n), viewPinned(pin, countsAt, 0, qs.m())
	down(int(scoresAt), b.at.candidateScore.at(qs.lo*b.candidateRoom), b.at.candidateScore.at(qs.hi*b.candidateRoom))
	down(int(rowsAt), b.at.candidateRow.at(qs.lo*b.candidateRoom), b.at.candidateRow.at(qs.hi*b.candidateRoom))
	down(int(countsAt), b.at.candidateCount.at(qs.lo), b.at.candidateCount.at(qs.hi))
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

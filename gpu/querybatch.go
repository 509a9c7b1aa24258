//go:build cuda && cgo

package gpu

import (
	"math"
	"runtime"
	"slices"
	"unsafe"

	"thresher/backend"
	"thresher/collection"
	"thresher/gpu/device"
)

// minCandidates is the least number of candidates of a query that there is room for.
const minCandidates = 1024

// bestOnDevice is the greatest k for which the device keeps the best atoms; for greater k, and for
// searches by least score, the host collects the scores.
const bestOnDevice = 1 << 14

// queryBatch is a batch of queries prepared on a device, without their lists of survivors. It must be
// used within Do.
type queryBatch struct {
	r             *resident
	m             int
	codes         bool // heads, rests and codes are prepared; looks need them, the dense path does not
	candidateRoom int
	bestRoom      int

	staged *stagedQueries // holds the queries as given; nil: they are in mem
	mem    *device.Buffer[uint8]
	// pinned is the host's copy of mem's first arrays, at the same offsets.
	pinned *device.Pinned[uint8]
	// states is the result of the last download; it aliases pin.
	states        []query
	statesCurrent bool // states, and what is downloaded with them, are current
	// Offsets of arrays in mem, of m queries each:
	at struct {
		// These five are contiguous: reports and states are downloaded together, with the best if it is
		// small; states and the queries as given, if they are not staged, are uploaded together.
		bestScore array[float64]
		bestRow   array[uint32]
		reports   array[report]
		states    array[query]
		given     array[float32]

		scaled                                  array[float64]
		x, head, rest, work                     array[float32]
		hi, lo, codes8                          array[int8] // codes8 are those of the current first look
		candidate, candidateCount, candidateRow array[uint32]
		candidateScore                          array[float64]
		begins                                  array[uint32] // [m+2], kernels/shares.cuh
		// The queries rounded to tf32, [m][productWidth], and their margins, if looks have a start.
		rounded, margin array[float32]
		z               array[float32] // [m][MixedMost], packed; kernels/mixed.cu
		mixed           array[int8]    // mixed codes, [m][MixedMost+MixedTerms], packed
	}
}

// smallBest is the most bytes of a batch's best that are always downloaded with the states, which costs
// less than another wait.
const smallBest = 1 << 20

// newQueryBatch allocates memory for m queries; most is the greatest k among those whose best the
// device keeps. The states have undefined content. staged may hold the queries as given; its owner frees it after the batch.
func newQueryBatch(t *device.Thread, r *resident, m, most int, codes bool, staged *stagedQueries) (*queryBatch, error) {
	b := &queryBatch{r: r, m: m, codes: codes, staged: staged, candidateRoom: max(minCandidates, (most+3)&^3), bestRoom: max(1, most)}
	c, a := r.c, &b.at
	var mem arrayLayout
	a.bestScore, a.bestRow = place[float64](&mem, m*b.bestRoom), place[uint32](&mem, m*b.bestRoom)
	a.reports = place[report](&mem, m)
	a.states = place[query](&mem, m)
	if staged == nil {
		a.given = place[float32](&mem, m*c.Dim)
	}
	pin := int(mem)
	a.scaled, a.x = place[float64](&mem, m*c.Dim), place[float32](&mem, m*b.xWidth())
	if codes {
		a.head, a.rest = place[float32](&mem, m*c.R), place[float32](&mem, m*c.D)
		a.hi, a.lo, a.codes8 = place[int8](&mem, m*b.pitch()), place[int8](&mem, m*b.pitch()), place[int8](&mem, m*b.pitch())
		if b.rotationShared(t) == 0 {
			a.work = place[float32](&mem, 2*m*c.D)
		}
	}
	a.candidate, a.candidateCount = place[uint32](&mem, m*b.candidateRoom), place[uint32](&mem, m)
	a.candidateScore, a.candidateRow = place[float64](&mem, m*b.candidateRoom), place[uint32](&mem, m*b.candidateRoom)

	a.begins = place[uint32](&mem, m+2)
	if codes && r.start != nil {
		a.rounded, a.margin = place[float32](&mem, m*productWidth(r.c)), place[float32](&mem, m)
	}
	if codes && mayMix(r.c) {
		a.z, a.mixed = place[float32](&mem, m*backend.MixedMost), place[int8](&mem, m*(backend.MixedMost+backend.MixedTerms))
	}

	var err error
	if b.mem, err = r.m.pool.TakeDevice(t, "queries", int(mem)); err != nil {
		return nil, err
	}
	if b.pinned, err = r.m.pool.TakePinned(t, "queries", pin); err != nil {
		r.m.pool.ReturnDevice(t, b.mem)
		return nil, err
	}
	b.states = viewPinned(b.pinned, b.at.states, 0, m)
	return b, nil
}

// viewPinned returns n elements, from the from-th on, of an array in pinned memory.
func viewPinned[T any](p *device.Pinned[uint8], a array[T], from, n int) []T {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&p.Slice()[a.at(from)])), n)
}

// freeMemory releases the memory; no enqueued work may use it.
func (b *queryBatch) freeMemory(t *device.Thread) error {
	if b == nil || b.mem == nil {
		return nil
	}
	err := b.r.m.pool.ReturnDevice(t, b.mem)
	if e := b.r.m.pool.ReturnPinned(t, b.pinned); err == nil {
		err = e
	}
	b.mem, b.pinned, b.states = nil, nil, nil
	return err
}

// xWidth returns the number of float32 coordinates of a query before it is split.
func (b *queryBatch) xWidth() int {
	if b.codes {
		return b.r.c.D
	}
	return (b.r.c.Dim + 3) &^ 3
}

// pitch returns the number of 8-bit codes of a query, or of either half of its 16-bit codes, with
// padding.
func (b *queryBatch) pitch() int { return (b.r.c.R + b.r.c.D + 63) &^ 63 }

// rotationShared returns the bytes of shared memory of a rotation by rounds, 0 if a block cannot have
// that much.
func (b *queryBatch) rotationShared(t *device.Thread) int {
	if n := 8 * b.r.c.D; n <= t.Device().Info().SharedPerBlock {
		return n
	}
	return 0
}

// loadQueries has all queries set by set, on all cores, and enqueues their upload, in pieces while others
// are still being set.
func (b *queryBatch) loadQueries(q *queue, set func(j int)) {
	q.machine.beginPhase(phaseCopy)
	defer q.machine.beginPhase(phaseEnqueue)
	dim, threads, sent := b.r.c.Dim, 1, 0
	if b.staged == nil && b.m*dim >= 2*q.machine.pieceValues {
		threads = runtime.GOMAXPROCS(0)
	}
	setAll := func(lo, hi int) error {
		for j := lo; j < hi; j++ {
			set(j)
		}
		return nil
	}
	// It returns no error: setAll has none.
	_ = backend.EachPiece(threads, b.m, max(1, q.machine.pieceValues/dim), setAll, func(hi int) {
		if b.staged == nil && (sent > 0 || hi < b.m) {
			b.upload(q, b.at.given.at(sent*dim), b.at.given.at(hi*dim))
		}
		if hi < b.m {
			sent = hi
			return
		}
		if b.staged == nil && sent == 0 {
			b.uploadQueries(q)
		} else {
			b.uploadStates(q)
		}
	})
}

// uploadQueries enqueues the upload of states and queries, which must not be staged.
func (b *queryBatch) uploadQueries(q *queue) {
	b.upload(q, int(b.at.states), b.at.given.at(b.m*b.r.c.Dim))
}

// given points to the queries as given.
func (b *queryBatch) given() device.Pointer[float32] {
	if b.staged != nil {
		return device.View[float32](b.staged.mem, 0)
	}
	return arrayOf(b, b.at.given)
}

// setQuery sets the state of query j in pinned memory, and its coordinates there unless they are staged, for
// loadQueries.
func (b *queryBatch) setQuery(j int, row []float32, g *backend.Goal, k int, lists goalLists) {
	s := &b.states[j]
	*s = query{epsilon: g.Epsilon, floor: g.Floor, ceiling: g.Ceiling, k: uint32(k), allowed: uint32(g.Allowed), open: math.Inf(-1), from: uint32(g.From),
		filter: lists.filter, excluded: lists.excluded, excludes: lists.excludes, given: lists.given, givens: lists.givens}
	if b.staged == nil {
		copy(viewPinned(b.pinned, b.at.given, j*len(row), len(row)), row)
	}
}

// upload enqueues the upload of bytes lo to hi-1.
func (b *queryBatch) upload(q *queue, lo, hi int) {
	q.enqueue(func(t *device.Thread, s *device.Stream) error {
		return b.mem.UploadAsync(t, s, lo, b.pinned, lo, hi-lo)
	})
}

// download enqueues the download of bytes lo to hi-1.
func (b *queryBatch) download(q *queue, lo, hi int) {
	q.enqueue(func(t *device.Thread, s *device.Stream) error {
		return b.mem.DownloadAsync(t, s, b.pinned, lo, lo, hi-lo)
	})
}

// uploadStates enqueues the upload of the host's states.
func (b *queryBatch) uploadStates(q *queue) {
	b.upload(q, int(b.at.states), b.at.states.at(b.m))
}

// downloadStates enqueues the download of reports and states, and of the best if it is small.
func (b *queryBatch) downloadStates(q *queue) {
	from := int(b.at.reports)
	if b.bestIsSmall() {
		from = 0
	}
	b.download(q, from, b.at.states.at(b.m))
}

// bestIsSmall reports whether the best is downloaded with the states.
func (b *queryBatch) bestIsSmall() bool { return b.m*b.bestRoom*12 <= smallBest }

// syncStates downloads the states, as downloadStates does, and waits for all enqueued work.
func (b *queryBatch) syncStates(q *queue) error {
	b.downloadStates(q)
	if err := q.sync(); err != nil {
		return err
	}
	b.statesCurrent = true
	return nil
}

// fetchBest makes the best of queries lo to hi-1 current, as of the last download of the states.
func (b *queryBatch) fetchBest(q *queue, lo, hi int) error {
	if b.bestIsSmall() || lo >= hi {
		return q.err
	}
	b.download(q, b.at.bestScore.at(lo*b.bestRoom), b.at.bestScore.at(hi*b.bestRoom))
	b.download(q, b.at.bestRow.at(lo*b.bestRoom), b.at.bestRow.at(hi*b.bestRoom))
	return q.sync()
}

// held returns the best of query j, sorted, as last downloaded; the slices alias pinned memory.
func (b *queryBatch) held(j int) (scores []float64, rows []uint32) {
	n := int(b.states[j].best)
	return viewPinned(b.pinned, b.at.bestScore, j*b.bestRoom, n), viewPinned(b.pinned, b.at.bestRow, j*b.bestRoom, n)
}

// appendHeld appends the best of query j to all.
func (b *queryBatch) appendHeld(all []scoredRow, j int) []scoredRow {
	scores, rows := b.held(j)
	all = slices.Grow(all, len(scores))
	for i, s := range scores {
		all = append(all, scoredRow{s, rows[i]})
	}
	return all
}

// rotation is the device's data for splitting queries into head and rotated rest.
type rotation struct {
	head   *device.Buffer[float32] // [R][D]
	haar   *device.Buffer[float32] // [D][D]; nil if sign and perm are used
	sign   *device.Buffer[float32] // [rounds][D]
	perm   *device.Buffer[uint32]  // [rounds][D]
	rounds int
}

// uploadRotation uploads c's head directions and rotation.
func uploadRotation(t *device.Thread, h *stores, c *collection.Collection) (*rotation, error) {
	of := c.Rotation()
	out := &rotation{rounds: len(of.Sign)}
	put := func(to **device.Buffer[float32], src ...[]float32) (err error) {
		n := 0
		for _, part := range src {
			n += len(part)
		}
		if n == 0 {
			return nil
		}
		if *to, err = allocOnDevice[float32](t, h, "rotation", n); err != nil {
			return err
		}
		at := 0
		for _, part := range src {
			if err := (*to).Upload(t, at, part); err != nil {
				return err
			}
			at += len(part)
		}
		return nil
	}
	if err := put(&out.head, of.Head); err != nil {
		return nil, err
	}
	if err := put(&out.haar, of.Haar); err != nil {
		return nil, err
	}
	if err := put(&out.sign, of.Sign...); err != nil || out.rounds == 0 {
		return out, err
	}
	var err error
	if out.perm, err = allocOnDevice[uint32](t, h, "rotation", out.rounds*c.D); err != nil {
		return nil, err
	}
	for k, perm := range of.Perm {
		if err := out.perm.Upload(t, k*c.D, perm); err != nil {
			return nil, err
		}
	}
	return out, nil
}

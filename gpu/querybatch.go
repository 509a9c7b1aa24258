//go:build cuda && cgo

package gpu

import (
	"math"
	"slices"
	"unsafe"

	"thresher/backend"
	"thresher/collection"
	"thresher/device"
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

	mem *device.Buffer[uint8]
	// pinned is the host's copy of mem's first arrays, at the same offsets.
	pinned *device.Pinned[uint8]
	// states is the result of the last download; it aliases pin.
	states        []query
	statesCurrent bool // states, and what is downloaded with them, are current
	// Offsets of arrays in mem, [m] each:
	at struct {
		// These five are contiguous: reports and states are downloaded together, with the best if it is
		// small; states and the queries as given are uploaded together.
		bestScore, bestRow, reports, states, given int

		scaled, x, head, rest, hi, lo, work                     int
		candidate, candidateCount, candidateScore, candidateRow int
		codes8                                                  int // codes of the current first look
	}
}

// smallBest is the most bytes of a batch's best that are always downloaded with the states, which costs
// less than another wait.
const smallBest = 1 << 16

// arrayLayout assigns offsets, multiples of 256 bytes, to arrays in one allocation; its value is the
// end of the last.
type arrayLayout int

func (c *arrayLayout) place(n int, bytes int) int {
	at := int(*c)
	*c = arrayLayout((at + n*bytes + 255) &^ 255)
	return at
}

// newQueryBatch allocates memory for m queries; most is the greatest k among those whose best the
// device keeps.
func newQueryBatch(t *device.Thread, r *resident, m, most int, codes bool) (*queryBatch, error) {
	b := &queryBatch{r: r, m: m, codes: codes, candidateRoom: max(minCandidates, (most+3)&^3), bestRoom: max(1, most)}
	c, a := r.c, &b.at
	var mem arrayLayout
	a.bestScore, a.bestRow = mem.place(m*b.bestRoom, 8), mem.place(m*b.bestRoom, 4)
	a.reports = mem.place(m, 8)
	a.states, a.given = mem.place(m, int(device.Size[query]())), mem.place(m*c.Dim, 4)
	pin := int(mem)
	a.scaled, a.x = mem.place(m*c.Dim, 8), mem.place(m*b.xWidth(), 4)
	if codes {
		a.head, a.rest = mem.place(m*c.R, 4), mem.place(m*c.D, 4)
		a.hi, a.lo, a.codes8 = mem.place(m*b.pitch(), 1), mem.place(m*b.pitch(), 1), mem.place(m*b.pitch(), 1)
		if b.rotationShared(t) == 0 {
			a.work = mem.place(2*m*c.D, 4)
		}
	}
	a.candidate, a.candidateCount = mem.place(m*b.candidateRoom, 4), mem.place(m, 4)
	a.candidateScore, a.candidateRow = mem.place(m*b.candidateRoom, 8), mem.place(m*b.candidateRoom, 4)

	var err error
	if b.mem, err = r.m.pool.TakeDevice(t, "queries", int(mem)); err != nil {
		return nil, err
	}
	if b.pinned, err = r.m.pool.TakePinned(t, "queries", pin); err != nil {
		r.m.pool.ReturnDevice(t, b.mem)
		return nil, err
	}
	b.states = viewPinned[query](b.pinned, b.at.states, m)
	clear(b.states)
	return b, nil
}

// viewPinned returns n structures at byte at of pinned memory.
func viewPinned[S any](p *device.Pinned[uint8], at, n int) []S {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*S)(unsafe.Pointer(&p.Slice()[at])), n)
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

// setQuery sets the state of query j and its coordinates in pinned memory, before prepare.
func (b *queryBatch) setQuery(j int, row []float32, g *backend.Goal, k int, lists goalLists) {
	s := &b.states[j]
	*s = query{epsilon: g.Epsilon, floor: g.Floor, ceiling: g.Ceiling, k: uint32(k), allowed: uint32(g.Allowed), open: math.Inf(-1), from: uint32(g.From),
		filter: lists.filter, excluded: lists.excluded, excludes: lists.excludes, given: lists.given, givens: lists.givens}
	copy(viewPinned[float32](b.pinned, b.at.given+4*j*len(row), len(row)), row)
}

// prepare uploads the queries and prepares them.
func (b *queryBatch) prepare(q *queue) {
	c, m := b.r.c, b.m
	b.upload(q, b.at.states, b.at.given+4*m*c.Dim)
	// As many threads with codes as without, for the same norm, bit for bit: a dense scan takes scores of the run.
	q.launch("query_load", device.Shape{Grid: device.Dim{X: m}, Block: threadsFor(c.Dim)},
		b.arrayArg(b.at.given), b.arrayArg(b.at.scaled), b.arrayArg(b.at.x), b.arrayArg(b.at.states), device.I32(m), device.I32(c.Dim), device.I32(b.xWidth()), scoringOf(c), orNull(b.r.centre))
	if !b.codes {
		return
	}
	rot := b.r.rotation
	if c.R > 0 {
		q.launch("head_project", device.Shape{Grid: device.Dim{X: blocks(m, 8)}, Block: device.Dim{X: 256}},
			b.arrayArg(b.at.x), device.Ptr(rot.head), b.arrayArg(b.at.head), b.arrayArg(b.at.x), device.I32(m), device.I32(c.R), device.I32(c.D))
	}
	b.rotate(q, rot)
	q.launch("query_codes", device.Shape{Grid: device.Dim{X: m}, Block: threadsFor(b.pitch() / 4)},
		b.arrayArg(b.at.head), b.arrayArg(b.at.rest), device.Null(), b.arrayArg(b.at.hi), b.arrayArg(b.at.lo), b.arrayArg(b.at.states),
		device.I32(m), device.I32(c.R), device.I32(c.D), device.I32(c.D), device.I32(0), device.I32(b.pitch()))
}

// rotate rotates the rests.
func (b *queryBatch) rotate(q *queue, rot *rotation) {
	c, m := b.r.c, b.m
	if rot.haar != nil {
		q.launch("rotate_haar", device.Shape{Grid: device.Dim{X: blocks(m, 8), Y: blocks(c.D, 32)}, Block: device.Dim{X: 256}},
			b.arrayArg(b.at.x), device.Ptr(rot.haar), b.arrayArg(b.at.rest), device.I32(m), device.I32(c.D))
		return
	}
	shape, work := device.Shape{Grid: device.Dim{X: m}, Block: threadsFor(c.D / 8), Shared: b.rotationShared(q.t)}, device.Null()
	if shape.Shared == 0 {
		work = b.arrayArg(b.at.work)
	}
	q.launch("rotate", shape, b.arrayArg(b.at.x), device.Ptr(rot.sign), device.Ptr(rot.perm), b.arrayArg(b.at.rest), work, device.I32(m), device.I32(c.D), device.I32(rot.rounds))
}

// threadsFor is the shape of blocks that process the n pieces of a query: whole warps, at most 256
// threads. It depends only on the collection, and so does the order of additions.
func threadsFor(n int) device.Dim { return device.Dim{X: 32 * max(1, min(8, blocks(n, 32)))} }

// arrayArg returns the address of an array of all queries.
func (b *queryBatch) arrayArg(at int) device.Arg { return device.PtrAt(b.mem, at) }

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
	b.upload(q, b.at.states, b.at.states+b.m*int(device.Size[query]()))
}

// downloadStates enqueues the download of reports and states, and of the best if it is small.
func (b *queryBatch) downloadStates(q *queue) {
	from := b.at.reports
	if b.bestIsSmall() {
		from = 0
	}
	b.download(q, from, b.at.states+b.m*int(device.Size[query]()))
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

// downloadBest returns the best of queries lo to hi-1, as of the last download of the states; out is
// indexed by query.
func (b *queryBatch) downloadBest(q *queue, lo, hi int) (out [][]scoredRow, err error) {
	if !b.bestIsSmall() && lo < hi {
		b.download(q, b.at.bestScore+8*lo*b.bestRoom, b.at.bestScore+8*hi*b.bestRoom)
		b.download(q, b.at.bestRow+4*lo*b.bestRoom, b.at.bestRow+4*hi*b.bestRoom)
		if err := q.sync(); err != nil {
			return nil, err
		}
	}
	out = make([][]scoredRow, b.m)
	for j := lo; j < hi; j++ {
		n := int(b.states[j].best)
		scores, rows := viewPinned[float64](b.pinned, b.at.bestScore+8*j*b.bestRoom, n), viewPinned[uint32](b.pinned, b.at.bestRow+4*j*b.bestRoom, n)
		out[j] = slices.Grow(out[j], n)
		for k := range n {
			out[j] = append(out[j], scoredRow{scores[k], rows[k]})
		}
	}
	return out, nil
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

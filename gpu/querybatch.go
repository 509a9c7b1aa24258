//go:build cuda && cgo

package gpu

import (
	"math"
	"slices"
	"unsafe"

	"thresher/backend"
	"thresher/collection"
)

// leadRoom is the least number of arms of a query for which there is room to be scored at a time.
const leadRoom = 1024

// bestMost is the greatest k for which the device keeps the best atoms; beyond it, and for
// searches by least score, the host collects the scores.
const bestMost = 1 << 14

// queryBatch is queries prepared on a device, with everything except their lists of survivors. It
// must be used within Do.
type queryBatch struct {
	r        *resident
	m        int
	codes    bool // heads, rests and codes are prepared, which looks need and the dense path does not
	leadRoom int
	bestRoom int

	mem *Buffer[uint8]
	// pin is the host's copy of mem's first arrays, at the same offsets.
	pin *Pinned[uint8]
	// states is the result of the last download; it aliases pin.
	states []query
	seen   bool // states, and what is downloaded with them, are up to date
	// Offsets of arrays in mem, [m] each:
	at struct {
		// Reports and states are downloaded together, with the best so far if these are small; states and
		// queries as given are uploaded together.
		bestScore, bestRow, reports, states, given int

		scaled, x, head, rest, hi, lo, work int
		lead, led, leadScore, leadRow       int
		codes8                              int // codes of the present first look
	}
}

// lightBest is the most bytes of a batch's best that are always downloaded with the states: that
// costs less than another wait.
const lightBest = 1 << 16

// cutter allocates pieces aligned to 256 bytes.
type cutter int

func (c *cutter) take(n int, bytes int) int {
	at := int(*c)
	*c = cutter((at + n*bytes + 255) &^ 255)
	return at
}

// newQueryBatch allocates for m queries; most is the greatest number of atoms that one of them
// wants kept on the device.
func newQueryBatch(t *Thread, r *resident, m, most int, codes bool) (*queryBatch, error) {
	b := &queryBatch{r: r, m: m, codes: codes, leadRoom: max(leadRoom, (most+3)&^3), bestRoom: max(1, most)}
	c, a := r.c, &b.at
	var mem cutter
	a.bestScore, a.bestRow = mem.take(m*b.bestRoom, 8), mem.take(m*b.bestRoom, 4)
	a.reports = mem.take(m, 8)
	a.states, a.given = mem.take(m, int(size[query]())), mem.take(m*c.Dim, 4)
	pin := int(mem)
	a.scaled, a.x = mem.take(m*c.Dim, 8), mem.take(m*b.xWidth(), 4)
	if codes {
		a.head, a.rest = mem.take(m*c.R, 4), mem.take(m*c.D, 4)
		a.hi, a.lo, a.codes8 = mem.take(m*b.pitch(), 1), mem.take(m*b.pitch(), 1), mem.take(m*b.pitch(), 1)
		if b.turnShared(t) == 0 {
			a.work = mem.take(2*m*c.D, 4)
		}
	}
	a.lead, a.led = mem.take(m*b.leadRoom, 4), mem.take(m, 4)
	a.leadScore, a.leadRow = mem.take(m*b.leadRoom, 8), mem.take(m*b.leadRoom, 4)

	var err error
	if b.mem, err = r.m.pool.take(t, "queries", int(mem)); err != nil {
		return nil, err
	}
	if b.pin, err = r.m.pool.takePinned(t, "queries", pin); err != nil {
		r.m.pool.give(t, b.mem)
		return nil, err
	}
	b.states = view[query](b.pin, b.at.states, m)
	clear(b.states)
	return b, nil
}

// view returns n structures in pinned memory.
func view[S any](p *Pinned[uint8], at, n int) []S {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*S)(unsafe.Pointer(&p.Slice()[at])), n)
}

// free releases the memory; no enqueued work may use it.
func (b *queryBatch) free(t *Thread) error {
	if b == nil || b.mem == nil {
		return nil
	}
	err := b.r.m.pool.give(t, b.mem)
	if e := b.r.m.pool.givePinned(t, b.pin); err == nil {
		err = e
	}
	b.mem, b.pin, b.states = nil, nil, nil
	return err
}

// xWidth returns the number of float32 coordinates of a query before it is split.
func (b *queryBatch) xWidth() int {
	if b.codes {
		return b.r.c.D
	}
	return (b.r.c.Dim + 3) &^ 3
}

// pitch returns the number of codes of either kind of a query, with padding.
func (b *queryBatch) pitch() int { return (b.r.c.R + b.r.c.D + 63) &^ 63 }

// turnShared returns the shared memory of a rotation by rounds, 0 if a block cannot have so much.
func (b *queryBatch) turnShared(t *Thread) int {
	if n := 8 * b.r.c.D; n <= t.d.info.SharedPerBlock {
		return n
	}
	return 0
}

// ask sets the state of query j and its coordinates, before load.
func (b *queryBatch) ask(j int, row []float32, g *backend.Goal, k int, filter uint64) {
	s := &b.states[j]
	*s = query{epsilon: g.Epsilon, floor: g.Floor, filter: filter, k: uint32(k), skip: math.MaxUint32, allowed: uint32(g.Allowed), open: math.Inf(-1)}
	if g.Skip >= 0 {
		s.skip = uint32(g.Skip)
	}
	copy(view[float32](b.pin, b.at.given+4*j*len(row), len(row)), row)
}

// load uploads the queries and prepares them.
func (b *queryBatch) load(q *queue) {
	c, m := b.r.c, b.m
	b.up(q, b.at.states, b.at.given+4*m*c.Dim)
	q.launch("query_load", Shape{Grid: Dim{X: m}, Block: threads(b.xWidth())},
		b.ptr(b.at.given), b.ptr(b.at.scaled), b.ptr(b.at.x), b.ptr(b.at.states), I32(m), I32(c.Dim), I32(b.xWidth()), scoringOf(c), orNull(b.r.centre))
	if !b.codes {
		return
	}
	rot := b.r.rotation
	if c.R > 0 {
		q.launch("head_project", Shape{Grid: Dim{X: blocks(m, 8)}, Block: Dim{X: 256}},
			b.ptr(b.at.x), Ptr(rot.head), b.ptr(b.at.head), b.ptr(b.at.x), I32(m), I32(c.R), I32(c.D))
	}
	b.turn(q, rot)
	q.launch("query_codes", Shape{Grid: Dim{X: m}, Block: threads(b.pitch() / 4)},
		b.ptr(b.at.head), b.ptr(b.at.rest), Null(), b.ptr(b.at.hi), b.ptr(b.at.lo), b.ptr(b.at.states),
		I32(m), I32(c.R), I32(c.D), I32(c.D), I32(0), I32(b.pitch()))
}

// turn rotates the rests.
func (b *queryBatch) turn(q *queue, rot *rotation) {
	c, m := b.r.c, b.m
	if rot.haar != nil {
		q.launch("rotate_haar", Shape{Grid: Dim{X: blocks(m, 8), Y: blocks(c.D, 32)}, Block: Dim{X: 256}},
			b.ptr(b.at.x), Ptr(rot.haar), b.ptr(b.at.rest), I32(m), I32(c.D))
		return
	}
	shape, work := Shape{Grid: Dim{X: m}, Block: threads(c.D / 8), Shared: b.turnShared(q.t)}, Null()
	if shape.Shared == 0 {
		work = b.ptr(b.at.work)
	}
	q.launch("rotate", shape, b.ptr(b.at.x), Ptr(rot.sign), Ptr(rot.perm), b.ptr(b.at.rest), work, I32(m), I32(c.D), I32(rot.rounds))
}

// threads is the shape of blocks that take the n pieces of a query, in whole warps, at most 256
// threads. It depends on the collection alone, and so does the order of additions.
func threads(n int) Dim { return Dim{X: 32 * max(1, min(8, blocks(n, 32)))} }

// ptr is the address of an array of all queries.
func (b *queryBatch) ptr(at int) Arg { return PtrAt(b.mem, at) }

// up enqueues the upload of bytes lo to hi.
func (b *queryBatch) up(q *queue, lo, hi int) {
	q.do(func(t *Thread, s *Stream) error { return b.mem.UploadAsync(t, s, lo, b.pin, lo, hi-lo) })
}

// down enqueues their download.
func (b *queryBatch) down(q *queue, lo, hi int) {
	q.do(func(t *Thread, s *Stream) error { return b.mem.DownloadAsync(t, s, b.pin, lo, lo, hi-lo) })
}

// put enqueues the upload of the host's states.
func (b *queryBatch) put(q *queue) { b.up(q, b.at.states, b.at.states+b.m*int(size[query]())) }

// get enqueues the download of reports and states, and of the best if they are small.
func (b *queryBatch) get(q *queue) {
	from := b.at.reports
	if b.light() {
		from = 0
	}
	b.down(q, from, b.at.states+b.m*int(size[query]()))
}

// light reports whether the best are small.
func (b *queryBatch) light() bool { return b.m*b.bestRoom*12 <= lightBest }

// settle waits for all enqueued work, and downloads what get does.
func (b *queryBatch) settle(q *queue) error {
	b.get(q)
	if err := q.sync(); err != nil {
		return err
	}
	b.seen = true
	return nil
}

// best returns the best of queries lo to hi-1, as of the host's last download of the states; out
// is indexed by query.
func (b *queryBatch) best(q *queue, lo, hi int) (out [][]scored, err error) {
	if !b.light() && lo < hi {
		b.down(q, b.at.bestScore+8*lo*b.bestRoom, b.at.bestScore+8*hi*b.bestRoom)
		b.down(q, b.at.bestRow+4*lo*b.bestRoom, b.at.bestRow+4*hi*b.bestRoom)
		if err := q.sync(); err != nil {
			return nil, err
		}
	}
	out = make([][]scored, b.m)
	for j := lo; j < hi; j++ {
		n := int(b.states[j].best)
		scores, rows := view[float64](b.pin, b.at.bestScore+8*j*b.bestRoom, n), view[uint32](b.pin, b.at.bestRow+4*j*b.bestRoom, n)
		out[j] = slices.Grow(out[j], n)
		for k := range n {
			out[j] = append(out[j], scored{scores[k], rows[k]})
		}
	}
	return out, nil
}

// rotation is the data on the device for splitting queries.
type rotation struct {
	head   *Buffer[float32] // [R][D]
	haar   *Buffer[float32] // [D][D], or else
	sign   *Buffer[float32] // [rounds][D]
	perm   *Buffer[uint32]  // [rounds][D]
	rounds int
}

func putRotation(t *Thread, h *stores, c *collection.Collection) (*rotation, error) {
	of := c.Rotation()
	out := &rotation{rounds: len(of.Sign)}
	put := func(to **Buffer[float32], src ...[]float32) (err error) {
		n := 0
		for _, part := range src {
			n += len(part)
		}
		if n == 0 {
			return nil
		}
		if *to, err = onDevice[float32](t, h, "rotation", n); err != nil {
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
	if out.perm, err = onDevice[uint32](t, h, "rotation", out.rounds*c.D); err != nil {
		return nil, err
	}
	for k, perm := range of.Perm {
		if err := out.perm.Upload(t, k*c.D, perm); err != nil {
			return nil, err
		}
	}
	return out, nil
}

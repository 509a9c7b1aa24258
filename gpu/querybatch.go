//go:build cuda && cgo

package gpu

import (
	"math"
	"slices"
	"unsafe"

	"thresher/backend"
	"thresher/collection"
)

// leadRoom is how many arms of a query are scored at a time, at least.
const leadRoom = 1024

// bestMost is the most atoms wanted that the device keeps the best of; beyond it,
// and for ranges, the host collects what is scored.
const bestMost = 1 << 14

// queryBatch is queries made ready on a device, each with what it needs but for its
// list of survivors. It is used within Do alone.
type queryBatch struct {
	r        *resident
	m        int
	codes    bool // heads, rests and codes, which looks need and the dense path does not
	leadRoom int
	bestRoom int

	mem *Buffer[uint8]
	// pin is what the host has of mem: its first arrays, at the same places.
	pin *Pinned[uint8]
	// states is what the last download found; a view of pin.
	states []query
	seen   bool // states, and what travels with them, are as the device has them
	// Where arrays begin, in mem: [m] of each.
	at struct {
		// Reports and states come down together, and the best so far
		// with them if these are small; states and queries as given go up together.
		bestScore, bestRow, reports, states, given int

		scaled, x, head, rest, hi, lo, work int
		lead, led, leadScore, leadRow       int
		codes8                              int // codes of the present first look
	}
}

// lightBest is how many bytes the best of a batch may be to come down with the states,
// whoever asks for those: less than a wait costs.
const lightBest = 1 << 16

// cutter cuts memory into pieces aligned to 256 bytes.
type cutter int

func (c *cutter) take(n int, bytes int) int {
	at := int(*c)
	*c = cutter((at + n*bytes + 255) &^ 255)
	return at
}

// newBatch allocates for m queries; most is the greatest number of atoms that one
// of them wants kept on the device.
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

// view is n structures in pinned memory.
func view[S any](p *Pinned[uint8], at, n int) []S {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*S)(unsafe.Pointer(&p.Slice()[at])), n)
}

// free gives the memory back; nothing enqueued may use it.
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

// xWidth is how many float32 coordinates a query has before it is split.
func (b *queryBatch) xWidth() int {
	if b.codes {
		return b.r.c.D
	}
	return (b.r.c.Dim + 3) &^ 3
}

// pitch is how many codes of either kind a query has, padded.
func (b *queryBatch) pitch() int { return (b.r.c.R + b.r.c.D + 63) &^ 63 }

// turnShared is the shared memory that a rotation by rounds takes, 0 when a block
// cannot have so much.
func (b *queryBatch) turnShared(t *Thread) int {
	if n := 8 * b.r.c.D; n <= t.d.info.SharedPerBlock {
		return n
	}
	return 0
}

// ask fills in the state of query j and its coordinates, before load.
func (b *queryBatch) ask(j int, row []float32, g *backend.Goal, k int, filter uint64) {
	s := &b.states[j]
	*s = query{epsilon: g.Epsilon, floor: g.Floor, filter: filter, k: uint32(k), skip: math.MaxUint32, allowed: uint32(g.Allowed), open: math.Inf(-1)}
	if g.Skip >= 0 {
		s.skip = uint32(g.Skip)
	}
	copy(view[float32](b.pin, b.at.given+4*j*len(row), len(row)), row)
}

// load brings the queries to the device and makes them ready there.
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

// threads are as many of a block as can take one of n pieces of a query each, by
// whole warps, at most 256. It depends on the collection alone, and so does the
// order in which they add.
func threads(n int) Dim { return Dim{X: 32 * max(1, min(8, blocks(n, 32)))} }

// ptr is the address of an array of all queries.
func (b *queryBatch) ptr(at int) Arg { return PtrAt(b.mem, at) }

// up enqueues bringing what lies from byte lo to hi to the device.
func (b *queryBatch) up(q *queue, lo, hi int) {
	q.do(func(t *Thread, s *Stream) error { return b.mem.UploadAsync(t, s, lo, b.pin, lo, hi-lo) })
}

// down enqueues bringing it to the host.
func (b *queryBatch) down(q *queue, lo, hi int) {
	q.do(func(t *Thread, s *Stream) error { return b.mem.DownloadAsync(t, s, b.pin, lo, lo, hi-lo) })
}

// put enqueues the states as the host has them.
func (b *queryBatch) put(q *queue) { b.up(q, b.at.states, b.at.states+b.m*int(size[query]())) }

// get enqueues bringing reports and states to the host, and the best if they are small.
func (b *queryBatch) get(q *queue) {
	from := b.at.reports
	if b.light() {
		from = 0
	}
	b.down(q, from, b.at.states+b.m*int(size[query]()))
}

// light reports whether the best are small.
func (b *queryBatch) light() bool { return b.m*b.bestRoom*12 <= lightBest }

// settle waits for what is enqueued, and brings to the host what get does.
func (b *queryBatch) settle(q *queue) error {
	b.get(q)
	if err := q.sync(); err != nil {
		return err
	}
	b.seen = true
	return nil
}

// best is the best of queries lo..hi-1, as they were when the host last saw the states:
// out has a place for every query.
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

// rotation is how queries are split, on the device.
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

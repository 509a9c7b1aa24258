//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/gpu/device"
)

const (
	// denseMost is the most queries of one dense scan.
	denseMost = 256
	// denseFirst is the number of rows after which thresholds are first tightened; each further chunk
	// has as many rows as all before it.
	denseFirst = 4096
	// denseRoom is the length of a query's list, and the number of rows of a chunk for queries whose
	// lists overflowed.
	denseRoom = 1 << 14
	// denseWork is the most products of coordinates in one launch: a cancelled scan ends at most two later.
	denseWork = 1 << 39
	// denseTile is the number of rows, and of queries, of a block, and denseShared its bytes of shared
	// memory.
	denseTile, denseShared = 128, 98304
)

// denseTerms are the terms of each row that the dense path reads, by row number, or those of a start, by atom.
type denseTerms struct {
	inverse             *device.Buffer[uint32] // internal index
	scale, size, offset *device.Buffer[float32]
}

// productWidth is the number of coordinates of a query that products read: its own and zeros.
func productWidth(c *collection.Collection) int { return (c.Dim + 31) &^ 31 }

// denseTerms returns the terms, uploading them on first use.
func (r *resident) denseTerms(ctx context.Context, t *device.Thread) (*denseTerms, error) {
	if r.dense != nil {
		return r.dense, nil
	}
	mark := len(r.stores.held)
	d, err := r.uploadDenseTerms(ctx, t)
	if err != nil {
		return nil, errors.Join(err, r.stores.freeFrom(t, mark))
	}
	r.dense = d
	return d, nil
}

func (r *resident) uploadDenseTerms(ctx context.Context, t *device.Thread) (*denseTerms, error) {
	d, terms := &denseTerms{}, newRowTerms(r.c.N)
	for i, row := range r.c.Order {
		terms.set(r.c, int(row), uint32(i), row)
	}
	if err := terms.upload(ctx, t, &r.stores, d); err != nil {
		return nil, err
	}
	return d, nil
}

// rowTerms are denseTerms on the host, of rows in some order.
type rowTerms struct {
	inverse             []uint32
	scale, size, offset []float32
}

func newRowTerms(n int) *rowTerms {
	return &rowTerms{make([]uint32, n), make([]float32, n), make([]float32, n), make([]float32, n)}
}

// set sets the terms at index at to those of an atom and its row.
func (d *rowTerms) set(c *collection.Collection, at int, atom, row uint32) {
	var bounded bool
	d.inverse[at], d.size[at] = atom, c.Norm[atom]
	if d.scale[at], bounded = c.ProductFactor(int(row)); !bounded {
		d.size[at] = float32(math.Inf(1)) // never dropped
	}
	if c.Offset != nil {
		// stays an upper bound of the true offset after the roundings of the test
		d.offset[at] = collection.Upward(float64(c.Offset[atom]) * (1 - looks.Slop))
	}
}

// upload copies the terms to the device.
func (d *rowTerms) upload(ctx context.Context, t *device.Thread, h *stores, to *denseTerms) (err error) {
	if to.inverse, err = copyToDevice(ctx, t, h, "order of rows", d.inverse); err != nil {
		return err
	}
	for _, a := range []struct {
		to  **device.Buffer[float32]
		src []float32
	}{{&to.scale, d.scale}, {&to.size, d.size}, {&to.offset, d.offset}} {
		if *a.to, err = copyToDevice(ctx, t, h, "terms of rows", a.src); err != nil {
			return err
		}
	}
	return nil
}

// Dense scores all allowed atoms for these queries: tf32 products, with their derived error, rule out
// rows that cannot be among the best; the others are scored in float64.
func (x *run) Dense(ctx context.Context, queries ...int) error {
	if x.closed {
		return backend.ErrClosed
	}
	slots := make([]int, len(queries))
	for i, j := range queries {
		if j < 0 || j >= x.input.M {
			return fmt.Errorf("query %d of %d", j, x.input.M)
		}
		slots[i] = x.slot[j]
	}
	return x.denseSlots(ctx, slots)
}

// denseSlots is Dense for the queries in slots.
func (x *run) denseSlots(ctx context.Context, slots []int) error {
	// [host collects the scores][rows are gathered]
	var kinds [2][2][]int
	for _, p := range slots {
		a, kind := &x.queries[p], 0
		if p >= x.deviceKept {
			kind = 1
		}
		switch {
		case a.dense || a.departed:
		case a.gathers():
			kinds[kind][1] = append(kinds[kind][1], p)
		default:
			kinds[kind][0] = append(kinds[kind][0], p)
		}
	}
	for _, kind := range kinds {
		for gather, slots := range kind {
			slices.Sort(slots)
			for chunk := range slices.Chunk(slices.Compact(slots), denseMost) {
				if err := x.onDevice(ctx, func(q *queue) error { return x.denseChunk(ctx, q, chunk, gather == 1) }); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// denseScan is a dense scan for some queries of a run, as a batch of its own. The run's states change
// only when it is complete.
type denseScan struct {
	queryChunk
	x        *run
	slots    []int // the queries' slots in the run
	terms    *denseTerms
	width    int           // coordinates of a query, padded
	found    [][]scoredRow // scores that the host collects; at the end the best
	rowsRead []int         // by query
}

// denseChunk runs a dense scan for at most denseMost queries.
func (x *run) denseChunk(ctx context.Context, q *queue, slots []int, gather bool) (err error) {
	d := &denseScan{x: x, slots: slots, width: productWidth(x.r.c), found: make([][]scoredRow, len(slots)), rowsRead: make([]int, len(slots))}
	d.hi, d.collects = len(slots), slots[0] >= x.deviceKept
	open, run := d.prepareScan, d.scanRows
	if gather {
		open, run = d.prepareQueries, d.gatherRows
	} else if d.terms, err = x.r.denseTerms(ctx, q.t); err != nil {
		return err
	}
	if err = open(q); err == nil {
		if !x.b.statesCurrent {
			x.b.downloadStates(q) // complete when the scan is
		}
		err = run(ctx, q)
	}
	return errors.Join(err, q.s.Sync(q.t), d.lists.freeMemory(q.t), d.b.freeMemory(q.t))
}

// prepareQueries prepares the queries for exact scores. Their best begin with those of the run if goals name candidates,
// which the scan passes over.
func (d *denseScan) prepareQueries(q *queue) (err error) {
	x := d.x
	most, given := 0, false
	if !d.collects {
		for _, p := range d.slots {
			most = max(most, x.queries[p].goal.K)
		}
	}
	if d.b, err = newQueryBatch(q.t, x.r, d.hi, most, false, nil); err != nil {
		return err
	}
	for _, p := range d.slots {
		given = given || len(x.queries[p].given()) > 0
		d.ceilings = d.ceilings || x.queries[p].bounded()
	}
	of := x.queryOfSlot()
	d.b.loadQueries(q, func(i int) {
		p := d.slots[i]
		g := *x.queries[p].goal
		g.Epsilon = 0 // the dense path returns the exact best
		g.Floor = x.queries[p].floor
		s := &x.b.states[p]
		d.b.setQuery(i, x.input.Row(of[p]), &g, int(s.k), goalLists{filter: s.filter, excluded: s.excluded, excludes: s.excludes})
		d.b.states[i].origin = uint32(p)
	})
	d.b.prepare(q)
	if given && !d.collects {
		d.seedBest(q)
	}
	return q.err
}

// prepareScan prepares the queries for products, too, and allocates their lists.
func (d *denseScan) prepareScan(q *queue) (err error) {
	if err := d.prepareQueries(q); err != nil {
		return err
	}
	x := d.x
	room := min(denseRoom, x.r.atoms)
	if most := q.machine.maxListRoom; most > 0 {
		room = min(room, most)
	}
	if d.lists, err = newArena(q, "lists of a dense scan", d.hi, room, d.hi*(d.width+1)); err != nil {
		return err
	}
	d.loadQueries(q)
	return q.err
}

// vectors points to the queries' coordinates, margins to what rounding them may add to a score.
func (d *denseScan) vectors() device.Pointer[float32] {
	return device.View[float32](d.lists.mem, int(d.lists.at.extra))
}

func (d *denseScan) margins() device.Pointer[float32] {
	return device.View[float32](d.lists.mem, d.lists.at.extra.at(d.hi*d.width))
}

// scanRows scans all rows and stores the answers in the run or, if ctx interrupts it, the best found
// so far.
func (d *denseScan) scanRows(ctx context.Context, q *queue) error {
	n := d.x.r.c.N
	seen, stopped := d.scanAll(ctx, q, n)
	if err := d.drainLists(ctx, q, unanswered, d.keepScores); err != nil {
		return err
	}
	d.x.b.statesCurrent = true
	if stopped == nil && d.overflowed() {
		seen, stopped = d.scanOverflowed(ctx, q, n)
	}
	if stopped == nil {
		stopped = ctx.Err() // it ended during the last scores
	}
	if q.err != nil {
		return q.err
	}
	for i := range d.rowsRead {
		d.rowsRead[i] = seen
	}
	if err := d.storeAnswers(q, stopped == nil); err != nil {
		return err
	}
	return stopped
}

// scanAll lists the rows that may be among the best, and scores candidates after each chunk. It returns
// the number of rows scanned, and ctx's error if that is not all.
func (d *denseScan) scanAll(ctx context.Context, q *queue, n int) (int, error) {
	most := max(denseTile, denseWork/(d.hi*d.width)/denseTile*denseTile)
	for at, end := 0, min(denseFirst, n); at < n; {
		lo := at
		at = min(end, lo+most)
		d.enqueueRows(q, lo, at)
		if at == end {
			d.tighten(q, unanswered, rankByBound, 0, -1)
			end = min(2*end, n)
		}
		if err := q.paceChunk(ctx, q.machine.maxPairs); err != nil {
			return at, err
		}
	}
	return n, nil
}

// overflowed reports whether any list overflowed. It marks the other queries as answered, and empties
// the lists that overflowed.
func (d *denseScan) overflowed() bool {
	any := false
	for j := range d.b.states {
		s := &d.b.states[j]
		if s.flags&flagOverflow == 0 {
			s.flags |= flagDone
			continue
		}
		s.flags &^= flagOverflow
		s.listed, d.found[j], any = 0, nil, true
	}
	return any
}

// scanOverflowed scans again for the queries left by overflowed, as many rows at a time as a list has
// room for, and scores all rows that pass.
func (d *denseScan) scanOverflowed(ctx context.Context, q *queue, n int) (int, error) {
	d.b.uploadStates(q)
	for lo := 0; lo < n; lo += d.lists.room {
		if err := ctx.Err(); err != nil {
			return lo, err
		}
		d.enqueueRows(q, lo, min(lo+d.lists.room, n))
		if err := d.drainLists(context.WithoutCancel(ctx), q, unanswered, d.keepScores); err != nil {
			return lo, err
		}
	}
	return n, nil
}

// keepScores keeps the scores that are within floor and ceiling.
func (d *denseScan) keepScores(j int, all []scoredRow) {
	for _, a := range all {
		if d.b.states[j].wants(a.score) {
			d.found[j] = append(d.found[j], a)
		}
	}
}

// storeAnswers stores the best of the rows read in the run; with complete they are the answers.
func (d *denseScan) storeAnswers(q *queue, complete bool) error {
	x := d.x
	if !d.collects {
		if err := d.b.fetchBest(q, 0, d.hi); err != nil {
			return err
		}
		room := 0
		for i := range d.slots {
			room += int(d.b.states[i].best)
		}
		all := make([]scoredRow, 0, room)
		for i := range d.slots {
			from := len(all)
			all = d.b.appendHeld(all, i)
			d.found[i] = all[from:len(all):len(all)]
		}
	}
	for i, p := range d.slots {
		a, s := &x.queries[p], &x.b.states[p]
		a.rowsRead += d.rowsRead[i]
		if !complete {
			a.best = distinct(append(a.best, d.found[i]...))
			continue
		}
		if len(a.given()) > 0 && d.collects { // those that the device keeps are in found
			d.found[i] = append(d.found[i], a.best...)
		}
		a.best = distinct(d.found[i])
		if k := a.goal.K; k > 0 && len(a.best) > k {
			a.best = a.best[:k]
		}
		a.tau, a.dense = threshold(a.goal, a.best, s.exp), true
		s.flags |= flagDone
	}
	x.b.uploadStates(q)
	return q.err
}

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
)

const (
	// denseMost is how many queries go through the rows together.
	denseMost = 256
	// denseFirst is how many rows are seen before the thresholds are lifted for the
	// first time, then as many again as all before.
	denseFirst = 4096
	// denseRoom is how many rows a query may have waiting, and how many are seen at
	// a time by queries whose lists were too short.
	denseRoom = 1 << 14
	// denseWork is how many products of coordinates one launch takes: some
	// milliseconds.
	denseWork = 1 << 39
	// denseTile is how many rows and how many queries a block multiplies, and
	// denseShared the shared memory it takes.
	denseTile, denseShared = 128, 98304
)

// denseTerms are what the dense path needs of each row, in the order given.
type denseTerms struct {
	inverse             *Buffer[uint32] // internal index
	scale, size, offset *Buffer[float32]
}

// denseTerms puts them on the device at first use.
func (r *resident) denseTerms(ctx context.Context, t *Thread) (*denseTerms, error) {
	if r.dense != nil {
		return r.dense, nil
	}
	mark := len(r.stores.held)
	d, err := r.makeDenseTerms(ctx, t)
	if err != nil {
		return nil, errors.Join(err, r.stores.freeFrom(t, mark))
	}
	r.dense = d
	return d, nil
}

func (r *resident) makeDenseTerms(ctx context.Context, t *Thread) (*denseTerms, error) {
	c, d := r.c, &denseTerms{}
	inverse, scale, size, offset := make([]uint32, c.N), make([]float32, c.N), make([]float32, c.N), make([]float32, c.N)
	for i, row := range c.Order {
		var bounded bool
		inverse[row], size[row] = uint32(i), c.Norm[i]
		if scale[row], bounded = c.ProductFactor(int(row)); !bounded {
			size[row] = float32(math.Inf(1)) // never out of reach
		}
		if c.Offset != nil {
			// an upper bound of the true offset after the test's roundings
			offset[row] = collection.Upward(float64(c.Offset[i]) * (1 - looks.Slop))
		}
	}
	var err error
	if d.inverse, err = put(ctx, t, &r.stores, "order of rows", inverse); err != nil {
		return nil, err
	}
	for _, a := range []struct {
		to  **Buffer[float32]
		src []float32
	}{{&d.scale, scale}, {&d.size, size}, {&d.offset, offset}} {
		if *a.to, err = put(ctx, t, &r.stores, "terms of rows", a.src); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Dense scores all allowed atoms for these queries: tf32 products decide what
// cannot be among the best, with their derived error; the rest is scored in
// float64.
func (x *run) Dense(ctx context.Context, queries ...int) error {
	if x.closed {
		return backend.ErrClosed
	}
	places := make([]int, len(queries))
	for i, j := range queries {
		if j < 0 || j >= x.q.M {
			return fmt.Errorf("query %d of %d", j, x.q.M)
		}
		places[i] = x.place[j]
	}
	return x.dense(ctx, places)
}

// dense is Dense for the queries in places.
func (x *run) dense(ctx context.Context, places []int) error {
	// by who keeps the best, and by whether rows are gathered
	var kinds [2][2][]int
	for _, p := range places {
		a, kind := &x.asked[p], 0
		if p >= x.kept {
			kind = 1
		}
		switch {
		case a.dense || a.left:
		case a.gathers():
			kinds[kind][1] = append(kinds[kind][1], p)
		default:
			kinds[kind][0] = append(kinds[kind][0], p)
		}
	}
	for _, kind := range kinds {
		for gather, places := range kind {
			slices.Sort(places)
			for part := range slices.Chunk(slices.Compact(places), denseMost) {
				if err := x.turn(ctx, func(q *queue) error { return x.denseSome(ctx, q, part, gather == 1) }); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// denseScan is a dense scan for some queries of a run, as a batch of its own: until
// it is done theirs stay as they are.
type denseScan struct {
	group
	x      *run
	places []int // in the run
	terms  *denseTerms
	width  int        // coordinates of a query, padded
	found  [][]scored // what the host collects, or the best in the end
	read   []int      // rows
}

func (x *run) denseSome(ctx context.Context, q *queue, places []int, gather bool) (err error) {
	d := &denseScan{x: x, places: places, width: (x.r.c.Dim + 31) &^ 31, found: make([][]scored, len(places)), read: make([]int, len(places))}
	d.hi, d.collects = len(places), places[0] >= x.kept
	open, run := d.open, d.run
	if gather {
		open, run = d.openQueries, d.gather
	} else if d.terms, err = x.r.denseTerms(ctx, q.t); err != nil {
		return err
	}
	if err = open(q); err == nil {
		if !x.b.seen {
			x.b.get(q) // which has come when the scan has been waited for
		}
		err = run(ctx, q)
	}
	return errors.Join(err, q.s.Sync(q.t), d.lists.free(q.t), d.b.free(q.t))
}

// openQueries makes the queries ready to be scored.
func (d *denseScan) openQueries(q *queue) (err error) {
	x := d.x
	most := 0
	if !d.collects {
		for _, p := range d.places {
			most = max(most, x.asked[p].goal.K)
		}
	}
	if d.b, err = newQueryBatch(q.t, x.r, d.hi, most, false); err != nil {
		return err
	}
	query := make([]int, len(x.place))
	for j, p := range x.place {
		query[p] = j
	}
	for i, p := range d.places {
		g := *x.asked[p].goal
		g.Epsilon = 0 // the dense path gives the best themselves
		g.Floor = x.asked[p].floor
		d.b.ask(i, x.q.Row(query[p]), &g, int(x.b.states[p].k), x.b.states[p].filter)
	}
	d.b.load(q)
	return q.err
}

// open makes them ready to be multiplied, too.
func (d *denseScan) open(q *queue) (err error) {
	if err := d.openQueries(q); err != nil {
		return err
	}
	x := d.x
	room := min(denseRoom, x.r.atoms)
	if most := q.p.roomMost; most > 0 {
		room = min(room, most)
	}
	if d.lists, err = newArena(q, "lists of a dense scan", d.hi, room, d.hi*(4*d.width+4)); err != nil {
		return err
	}
	q.launch("dense_load", d.blocks(), d.array(d.b.at.scaled, 8*x.r.c.Dim), I32(x.r.c.Dim), d.states(), Null(), I32(d.hi),
		d.vectors(), I32(d.width), d.margins(), orNull(x.r.centre))
	return q.err
}

func (d *denseScan) vectors() Arg { return PtrAt(d.lists.mem, d.lists.at.extra) }
func (d *denseScan) margins() Arg { return PtrAt(d.lists.mem, d.lists.at.extra+4*d.hi*d.width) }

// rows enqueues the products with rows lo..hi-1.
func (d *denseScan) rows(q *queue, lo, hi int) {
	r := d.x.r
	q.launch("dense_tf32", Shape{Grid: Dim{X: blocks(hi-lo, denseTile), Y: blocks(d.hi, denseTile)}, Block: Dim{X: 256}, Shared: denseShared},
		Ptr(r.rows.memory()), I32(r.c.Dim), U32(uint32(lo)), U32(uint32(hi)), Ptr(d.terms.inverse), Ptr(d.terms.scale), Ptr(d.terms.size), Ptr(d.terms.offset),
		d.vectors(), I32(d.width), d.margins(), d.states(), Null(), I32(d.hi), U32(unanswered.mask), U32(unanswered.value), d.lists.table(), orNull(r.centre))
}

// run scans all rows and gives the run its answers or, when ctx ends it, what it
// had found.
func (d *denseScan) run(ctx context.Context, q *queue) error {
	n := d.x.r.c.N
	seen, stopped := d.fast(ctx, q, n)
	if err := d.drain(ctx, q, unanswered, d.collected); err != nil {
		return err
	}
	d.x.b.seen = true
	if stopped == nil && d.overflowed() {
		seen, stopped = d.slow(ctx, q, n)
	}
	if stopped == nil {
		stopped = ctx.Err() // it ended while the last were scored
	}
	if q.err != nil {
		return q.err
	}
	for i := range d.read {
		d.read[i] = seen
	}
	if err := d.answer(q, stopped == nil); err != nil {
		return err
	}
	return stopped
}

// fast lists what may be among the best and scores leaders now and then. It
// returns how many rows it has seen and why not all.
func (d *denseScan) fast(ctx context.Context, q *queue, n int) (int, error) {
	most := max(denseTile, denseWork/(d.hi*d.width)/denseTile*denseTile)
	for at, end := 0, min(denseFirst, n); at < n; {
		lo := at
		at = min(end, lo+most)
		d.rows(q, lo, at)
		if at == end {
			d.lift(q, unanswered, byBound, 0, -1)
			end = min(2*end, n)
		}
		if err := q.pace(ctx, q.p.pairsMost); err != nil {
			return at, err
		}
	}
	return n, nil
}

// overflowed reports whether lists were too short, and leaves those queries alone
// unanswered, with empty lists.
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

// slow sees as many rows at a time as a list has room for and scores all that
// pass.
func (d *denseScan) slow(ctx context.Context, q *queue, n int) (int, error) {
	d.b.put(q)
	for lo := 0; lo < n; lo += d.lists.room {
		if err := ctx.Err(); err != nil {
			return lo, err
		}
		d.rows(q, lo, min(lo+d.lists.room, n))
		if err := d.drain(context.WithoutCancel(ctx), q, unanswered, d.collected); err != nil {
			return lo, err
		}
	}
	return n, nil
}

// collected takes scores that reach the floor.
func (d *denseScan) collected(j int, all []scored) {
	for _, a := range all {
		if a.score >= d.b.states[j].floor {
			d.found[j] = append(d.found[j], a)
		}
	}
}

// answer hands the run what was found among the rows read.
func (d *denseScan) answer(q *queue, whole bool) (err error) {
	x := d.x
	if !d.collects {
		if d.found, err = d.b.best(q, 0, d.hi); err != nil {
			return err
		}
	}
	for i, p := range d.places {
		a, s := &x.asked[p], &x.b.states[p]
		a.read += d.read[i]
		if !whole {
			a.best = distinct(append(a.best, d.found[i]...))
			continue
		}
		a.best = distinct(d.found[i])
		if k := a.goal.K; k > 0 && len(a.best) > k {
			a.best = a.best[:k]
		}
		a.tau, a.dense = threshold(a.goal, a.best, int(s.exp)), true
		s.flags |= flagDone
	}
	x.b.put(q)
	return q.err
}

//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"math"

	"thresher/backend"
)

// run is one batch under elimination. Queries stand in the device's memory in
// places: first those whose best the device keeps, then those for which the host
// collects what is scored.
type run struct {
	r       *resident
	q       backend.Queries
	place   []int   // of query j
	kept    int     // places below it are of the first kind
	asked   []asked // by place
	filters *Buffer[uint8]
	b       *queryBatch // nil before anything is done for the queries
	lists   *arena
	groups  []group
	look    backend.Look // of the last Pull, which some groups have taken
	closed  bool         // or finished
	freed   error        // what came of giving the memory back, for Close
}

// begin gives each query its place. What is first done for them brings them to the
// device.
func begin(ctx context.Context, r *resident, q backend.Queries, goals []backend.Goal) (*run, error) {
	x := &run{r: r, q: q, place: make([]int, q.M), asked: make([]asked, q.M)}
	for j := range goals {
		if onDeviceBest(&goals[j]) {
			x.place[j] = x.kept
			x.kept++
		}
	}
	p := x.kept
	for j := range goals {
		if !onDeviceBest(&goals[j]) {
			x.place[j] = p
			p++
		}
		x.asked[x.place[j]] = asked{goal: &goals[j], floor: goals[j].Floor, tau: math.Inf(-1)}
	}
	if err := r.m.d.Lost(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return x, nil
}

// turn runs f on the device, where it finds the queries.
func (x *run) turn(ctx context.Context, f func(*queue) error) error {
	return x.r.m.do(ctx, func(q *queue) error {
		if x.b == nil {
			if err := x.load(q); err != nil {
				return errors.Join(err, q.s.Sync(q.t), x.free(q.t))
			}
		}
		return f(q)
	})
}

// onDeviceBest reports whether the device can keep the best that g asks for.
func onDeviceBest(g *backend.Goal) bool { return g.K > 0 && g.K <= bestMost }

// load brings filters and queries to the device.
func (x *run) load(q *queue) error {
	at, err := x.loadFilters(q.t)
	if err != nil {
		return err
	}
	most := 0
	for p := range x.asked[:x.kept] {
		most = max(most, x.asked[p].goal.K)
	}
	if x.b, err = newQueryBatch(q.t, x.r, x.q.M, most, x.r.c.Coded()); err != nil {
		return err
	}
	for j := range x.q.M {
		p := x.place[j]
		g, k := *x.asked[p].goal, 0
		if p < x.kept {
			k = g.K
		}
		g.Floor = x.asked[p].floor
		x.b.ask(p, x.q.Row(j), &g, k, at[p])
	}
	x.b.load(q)
	return q.err
}

// loadFilters puts every filter on the device once and returns the address of
// each place's.
func (x *run) loadFilters(t *Thread) ([]uint64, error) {
	at := make([]uint64, len(x.asked))
	offsets := map[*backend.Filter]int{}
	var mem cutter
	for p := range x.asked {
		if f := x.asked[p].goal.Filter; f != nil {
			if _, ok := offsets[f]; !ok {
				offsets[f] = mem.take(len(f.Bits()), 8)
			}
		}
	}
	if len(offsets) == 0 {
		return at, nil
	}
	var err error
	if x.filters, err = x.r.m.pool.take(t, "filters", int(mem)); err != nil {
		return nil, err
	}
	for f, offset := range offsets {
		if err := x.filters.Upload(t, offset, bytesOfSlice(f.Bits())); err != nil {
			return nil, err
		}
	}
	for p := range x.asked {
		if f := x.asked[p].goal.Filter; f != nil {
			at[p] = uint64(x.filters.ptr) + uint64(offsets[f])
		}
	}
	return at, nil
}

// free gives the run's memory back; nothing enqueued may use it.
func (x *run) free(t *Thread) error {
	errs := []error{x.b.free(t), x.lists.free(t), x.r.m.pool.give(t, x.filters)}
	for k := range x.groups {
		errs = append(errs, x.groups[k].parked.free(t))
	}
	x.b, x.lists, x.groups, x.filters = nil, nil, nil, nil
	return errors.Join(errs...)
}

// Close gives the batch's memory back, unless Finish has.
func (x *run) Close() error {
	if !x.closed && x.b != nil {
		x.freed = x.r.m.do(context.Background(), func(q *queue) error { return errors.Join(q.s.Sync(q.t), x.free(q.t)) })
	}
	x.closed = true
	if errors.Is(x.freed, ErrLost) || errors.Is(x.freed, backend.ErrClosed) {
		return nil // nothing is left to give back
	}
	return x.freed
}

// Pull takes a look at the survivors. The same look asked for again goes on where a
// context stopped it; of one that has ended there is nothing more to do.
func (x *run) Pull(ctx context.Context, l backend.Look) (backend.Survivors, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	if x.q.M == 0 {
		return nil, ctx.Err()
	}
	err := x.pull(ctx, l)
	if err == nil {
		err = x.Dense(ctx, x.sent()...)
	}
	return x.survivors(), err
}

func (x *run) pull(ctx context.Context, l backend.Look) error {
	return x.turn(ctx, func(q *queue) error {
		ready, err := x.r.look(ctx, q, l)
		if err != nil {
			return err
		}
		if err := x.openLists(q, ready); err != nil {
			return err
		}
		if l != x.look {
			x.look = l
			for k := range x.groups {
				x.groups[k].taken = false
			}
		}
		due := func(g *group) bool { return !g.taken && !g.answered() }
		return x.each(ctx, q, due, func(g *group) error { return x.climb(ctx, q, g, ready) })
	})
}

// Floor raises the floors of the queries, and their thresholds with them; arms that
// cannot reach these are dropped as the next kernel meets them. Before the queries are
// on the device it needs no turn there.
func (x *run) Floor(ctx context.Context, floors []float64) error {
	if x.closed {
		return backend.ErrClosed
	}
	if err := backend.CheckFloors(floors, x.q.M); err != nil {
		return err
	}
	for j, f := range floors {
		a := &x.asked[x.place[j]]
		a.floor = max(a.floor, f)
	}
	if x.b == nil {
		return nil
	}
	return x.turn(context.WithoutCancel(ctx), func(q *queue) error {
		if err := x.hear(q); err != nil {
			return err
		}
		for p := range x.asked {
			s := &x.b.states[p]
			s.floor = math.Ldexp(x.asked[p].floor, -int(s.exp))
			s.tau = max(s.tau, s.scale().Threshold(s.floor))
		}
		x.b.put(q)
		return q.sync()
	})
}

// sent are the queries that looks sent to the dense path, or whose lists lacked
// room.
func (x *run) sent() (queries []int) {
	for j, p := range x.place {
		if x.b.states[p].flags&(flagDense|flagOverflow) != 0 && !x.asked[p].dense {
			queries = append(queries, j)
		}
	}
	return queries
}

// Finish scores what is left exactly, best bound first, until no bound reaches the
// threshold. When ctx has ended it scores the few best only and tells what stays
// open.
func (x *run) Finish(ctx context.Context) (backend.Answers, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	if x.q.M == 0 {
		return nil, nil
	}
	if err := x.sendUnseen(ctx, x.place); err != nil {
		return nil, err
	}
	out := make(backend.Answers, x.q.M)
	err := x.turn(context.WithoutCancel(ctx), func(q *queue) error {
		if err := x.drain(ctx, q, unanswered, backend.QueryIndexes(0, x.q.M)); err != nil {
			return err
		}
		if err := x.answers(q, x.place, out); err != nil {
			return err
		}
		x.closed, x.freed = true, x.free(q.t) // all that was enqueued has been waited for
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// drain scores what is left of the queries in places, in ascending order, which are
// those that w means, and ends a look that a context stopped. A context that has
// ended does not keep the leaders from being scored.
func (x *run) drain(ctx context.Context, q *queue, w which, places []int) error {
	here := func(g *group) bool {
		return len(g.among(places)) > 0 && (g.under != nil || g.longest(w) > 0)
	}
	return x.each(context.WithoutCancel(ctx), q, here, func(g *group) error {
		if err := x.conclude(q, g, w, g.among(places)); err != nil {
			return err
		}
		return g.drain(ctx, q, w, x.collected)
	})
}

// answers brings the best of the queries in places to the host and makes their
// answers, out[i] that of places[i]. Who has left has none.
func (x *run) answers(q *queue, places []int, out backend.Answers) error {
	lo, hi := x.kept, 0
	for _, p := range places {
		if p < x.kept {
			lo, hi = min(lo, p), max(hi, p+1)
		}
	}
	if err := x.hear(q); err != nil {
		return err
	}
	held, err := x.b.best(q, lo, max(lo, hi))
	if err != nil {
		return err
	}
	for i, p := range places {
		if !x.asked[p].left {
			out[i] = x.answer(p, held[p])
		}
	}
	return nil
}

// collected takes scores of the query in place p that reach its floor.
func (x *run) collected(p int, all []scored) {
	for _, s := range all {
		if s.score >= x.b.states[p].floor {
			x.asked[p].best = append(x.asked[p].best, s)
		}
	}
	x.asked[p].read += len(all)
}

// next is the first atom that the query in place p has not been scanned for.
func (x *run) next(p int) int {
	for k := range x.groups {
		if p < x.groups[k].hi {
			return x.groups[k].next
		}
	}
	return 0
}

// openLists allocates the lists at the first look, and groups queries by how many
// find room. The length of a list depends on the look and the collection only, not
// on the batch.
func (x *run) openLists(q *queue, l *look) (err error) {
	if x.lists != nil {
		return q.err
	}
	room := x.r.atoms
	if l.Rep.ForFirstLook() && l.MaxSurvivors > 0 {
		// twice what the look may keep, and what passes before there is a threshold
		room = min(room, 2*max(scanFirst, l.FirstChunk)+int(2*l.MaxSurvivors*float64(x.r.c.N)))
	}
	room = min(room, max(4*scanFirst, 2*l.FirstChunk, int(x.r.stores.spare/2/(leastLists*entryBytes))))
	if most := q.p.roomMost; most > 0 {
		room = min(room, most)
	}
	m := x.q.M
	if most := q.p.listsMost; most > 0 {
		m = min(m, most)
	}
	if x.lists, err = largestArena(q, m, room); err != nil {
		return err
	}
	for _, kind := range [...]group{{lo: 0, hi: x.kept}, {lo: x.kept, hi: x.q.M, collects: true}} {
		for lo := kind.lo; lo < kind.hi; lo += x.lists.m {
			x.groups = append(x.groups, group{b: x.b, lists: x.lists, lo: lo, hi: min(lo+x.lists.m, kind.hi), collects: kind.collects})
		}
	}
	return q.err
}

// each calls f for those groups that due says, each with its lists in the arena, until
// ctx ends.
func (x *run) each(ctx context.Context, q *queue, due func(*group) bool, f func(*group) error) error {
	for k := range x.groups {
		g := &x.groups[k]
		if !due(g) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := g.unpark(q); err != nil {
			return err
		}
		err := f(g)
		if len(x.groups) > 1 && q.err == nil {
			err = errors.Join(err, g.park(q))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sendUnseen answers by the dense path those queries in places of which no look has
// seen all atoms, unless ctx has ended.
func (x *run) sendUnseen(ctx context.Context, places []int) error {
	if ctx.Err() != nil {
		return nil
	}
	var unseen []int
	for _, p := range places {
		if x.b == nil || x.b.states[p].flags&flagListed == 0 || x.b.states[p].flags&(flagDense|flagOverflow) != 0 {
			unseen = append(unseen, p)
		}
	}
	if err := x.dense(ctx, unseen); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// hear has the host see all states before it changes one.
func (x *run) hear(q *queue) error {
	if x.b.seen {
		return nil
	}
	return x.b.settle(q)
}

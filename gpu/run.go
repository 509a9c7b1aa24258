//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"math"
	"slices"

	"thresher/backend"
	"thresher/gpu/device"
)

// run is one batch of queries going through the looks of a plan. Every query has a slot, its index in
// the device's arrays. The first slots are those of queries whose k best scores the device keeps; for
// the others the host collects all scores. Indexes of queries are called j, slots p.
type run struct {
	r          *resident
	input      backend.Queries
	slot       []int       // by query
	deviceKept int         // number of queries whose k best scores the device keeps
	starting   int         // number of these, the first, whose first looks may begin with a start
	queries    []hostQuery // by slot
	filters    *device.Buffer[uint8]
	atoms      *device.Buffer[uint8] // hidden atoms and given candidates of all queries; nil if no goal names any
	staged     *stagedQueries        // the queries as given, in the order of slots; nil if they are not staged
	b          *queryBatch           // nil until the queries are uploaded
	lists      *arena
	chunks     []queryChunk
	swaps      bool         // the lists of all chunks do not fit the arena together
	look       backend.Look // of the last Pull, which some chunks have taken
	looks      []takenLook
	closed     bool  // by Close or Finish
	freeErr    error // error of returning the memory, for Close
}

// beginRun assigns slots to the queries. They are uploaded by the first call that needs the device.
func beginRun(ctx context.Context, r *resident, q backend.Queries, goals []backend.Goal) (*run, error) {
	r.m.beginPhase(phaseEnqueue)
	x := &run{r: r, input: q}
	x.slot, x.queries = r.takeQueries(q.M)
	for j := range goals {
		if keptOnDevice(&goals[j]) {
			x.slot[j] = x.deviceKept
			x.deviceKept++
		}
	}
	p := x.deviceKept
	for j := range goals {
		if !keptOnDevice(&goals[j]) {
			x.slot[j] = p
			p++
		}
		x.queries[x.slot[j]] = hostQuery{goal: &goals[j], floor: goals[j].Floor, tau: math.Inf(-1)}
	}
	x.orderByScan()
	x.hideAtoms()
	if err := r.m.d.Lost(); err != nil {
		return nil, inContract(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if slices.IsSorted(x.slot) { // rows are staged in the order of queries
		x.staged = takeStaged(r.m, q.Staged)
	}
	return x, nil
}

// hostQueries is memory for the host's record of the queries of a run.
type hostQueries struct {
	slot    []int
	queries []hostQuery
}

// takeQueries returns memory for m queries: their slots, and zero records.
func (r *resident) takeQueries(m int) ([]int, []hostQuery) {
	if h, ok := r.queries.Get().(*hostQueries); ok && cap(h.queries) >= m {
		return h.slot[:m], h.queries[:m]
	}
	return make([]int, m), make([]hostQuery, m)
}

// returnQueries keeps the memory of a run that has ended for later ones.
func (r *resident) returnQueries(slot []int, queries []hostQuery) {
	clear(queries) // what they refer to can be freed
	r.queries.Put(&hostQueries{slot, queries})
}

// onDevice calls f on the device, after uploading the queries if necessary. The launches of a small batch, between
// which a device waits for the host, are collected: often they repeat those of an earlier batch.
func (x *run) onDevice(ctx context.Context, f func(*queue) error) error {
	return x.r.m.do(ctx, func(q *queue) error {
		if x.input.M <= x.r.m.graphQueries {
			if err := q.s.Collect(q.t); err != nil {
				return err
			}
		}
		if x.b == nil {
			if err := x.uploadQueries(q); err != nil {
				return errors.Join(err, q.s.Sync(q.t), x.freeMemory(q.t))
			}
		}
		return f(q)
	})
}

// keptOnDevice reports whether the device can keep the k best scores of a query with goal g.
func keptOnDevice(g *backend.Goal) bool { return g.K > 0 && g.K <= bestOnDevice }

// uploadQueries uploads the filters, lists of atoms and queries, prepares the queries on the device, and
// scores the candidates that goals name.
func (x *run) uploadQueries(q *queue) error {
	at, err := x.uploadFilters(q.t)
	if err == nil {
		err = x.uploadAtoms(q.t, at)
	}
	if err != nil {
		return err
	}
	most := 0
	for p := range x.queries[:x.deviceKept] {
		most = max(most, x.queries[p].goal.K)
	}
	if x.b, err = newQueryBatch(q.t, x.r, x.input.M, most, x.r.c.Coded(), x.staged); err != nil {
		return err
	}
	of := x.queryOfSlot()
	x.b.loadQueries(q, func(p int) {
		g, k := *x.queries[p].goal, 0
		if p < x.deviceKept {
			k = g.K
		}
		g.Floor = x.queries[p].floor
		x.b.setQuery(p, x.input.Row(of[p]), &g, k, at[p])
	})
	x.b.prepare(q)
	return x.scoreGiven(q)
}

// queryOfSlot returns the query in each slot.
func (x *run) queryOfSlot() []int {
	of := make([]int, len(x.slot))
	for j, p := range x.slot {
		of[p] = j
	}
	return of
}

// freeMemory returns the run's memory to the pool; no enqueued work may use it.
func (x *run) freeMemory(t *device.Thread) error {
	errs := []error{x.b.freeMemory(t), x.staged.freeMemory(t), x.lists.freeMemory(t), x.r.m.pool.ReturnDevice(t, x.filters), x.r.m.pool.ReturnDevice(t, x.atoms)}
	for k := range x.chunks {
		errs = append(errs, x.chunks[k].swapped.freeMemory(t))
	}
	x.b, x.staged, x.lists, x.chunks, x.filters, x.atoms = nil, nil, nil, nil, nil, nil
	return errors.Join(errs...)
}

// Close returns the run's memory to the pool, unless Finish has.
func (x *run) Close() error {
	if !x.closed && (x.b != nil || x.staged != nil) {
		x.freeErr = x.r.m.do(context.Background(), func(q *queue) error { return errors.Join(q.s.Sync(q.t), x.freeMemory(q.t)) })
	}
	x.closed = true
	if errors.Is(x.freeErr, device.ErrLost) || errors.Is(x.freeErr, backend.ErrClosed) {
		return nil // the memory is gone
	}
	return x.freeErr
}

// Pull takes a look at the survivors. Called again with the look that a context interrupted, it
// continues it; queries that have completed the look are skipped.
func (x *run) Pull(ctx context.Context, l backend.Look) (backend.Survivors, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	if x.input.M == 0 {
		return nil, ctx.Err()
	}
	err := x.takeLooks(ctx, l)
	if err == nil {
		err = x.Dense(ctx, x.denseQueries()...)
	}
	return x.survivors(), err
}

// takeLooks takes the look for all chunks that have not completed it.
func (x *run) takeLooks(ctx context.Context, l backend.Look) error {
	return x.onDevice(ctx, func(q *queue) error {
		ready, err := x.r.compileLook(ctx, q, l)
		if err != nil {
			return err
		}
		if err := x.allocLists(q, ready); err != nil {
			return err
		}
		if l != x.look {
			x.look = l
			for k := range x.chunks {
				x.chunks[k].lookTaken = false
			}
		}
		due := func(qs *queryChunk) bool { return !qs.lookTaken && !qs.answered() }
		return x.eachChunk(ctx, q, due, func(qs *queryChunk) error { return x.takeLook(ctx, q, qs, ready) })
	})
}

// Floor raises the floors of the queries, and their thresholds to at least the floors; the next kernel
// drops arms that cannot reach the threshold. It uses the device only if the queries are uploaded.
func (x *run) Floor(ctx context.Context, floors []float64) error {
	if x.closed {
		return backend.ErrClosed
	}
	if err := backend.CheckFloors(floors, x.input.M); err != nil {
		return err
	}
	for j, f := range floors {
		a := &x.queries[x.slot[j]]
		a.floor = max(a.floor, f)
	}
	if x.b == nil {
		return nil
	}
	return x.onDevice(context.WithoutCancel(ctx), func(q *queue) error {
		if err := x.ensureStates(q); err != nil {
			return err
		}
		for p := range x.queries {
			s := &x.b.states[p]
			s.floor = x.queries[p].floor * powerOf(-s.exp)
			s.tau = max(s.tau, s.scale().Threshold(s.floor))
		}
		x.b.uploadStates(q)
		return q.sync()
	})
}

// denseQueries returns the queries that looks sent to the dense path, or whose lists overflowed.
func (x *run) denseQueries() (queries []int) {
	for j, p := range x.slot {
		if x.b.states[p].flags&(flagDense|flagOverflow) != 0 && !x.queries[p].dense {
			queries = append(queries, j)
		}
	}
	return queries
}

// Finish scores the remaining arms exactly, greatest bounds first, until no bound reaches the
// threshold. If ctx has ended it scores a few of the best, and answers report the bound of what
// remains open.
func (x *run) Finish(ctx context.Context) (backend.Answers, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	if x.input.M == 0 {
		return nil, nil
	}
	if err := x.denseUnscanned(ctx, x.slot); err != nil {
		return nil, err
	}
	out := make(backend.Answers, x.input.M)
	err := x.onDevice(context.WithoutCancel(ctx), func(q *queue) error {
		if err := x.drainSlots(ctx, q, unanswered, backend.QueryIndexes(0, x.input.M)); err != nil {
			return err
		}
		if err := x.collectAnswers(q, x.slot, out); err != nil {
			return err
		}
		x.closed, x.freeErr = true, x.freeMemory(q.t) // no enqueued work is left
		x.r.returnQueries(x.slot, x.queries)
		x.slot, x.queries = nil, nil
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// drainSlots scores the remaining arms of those queries in slots (in ascending order) that w selects.
// It first ends a look that a context interrupted. If ctx has ended, one round of candidates is still
// scored.
func (x *run) drainSlots(ctx context.Context, q *queue, w selector, slots []int) error {
	due := func(qs *queryChunk) bool {
		return len(qs.selectSlots(slots)) > 0 && (qs.interrupted != nil || qs.longestList(w) > 0)
	}
	return x.eachChunk(context.WithoutCancel(ctx), q, due, func(qs *queryChunk) error {
		if err := x.endInterrupted(q, qs, w, qs.selectSlots(slots)); err != nil {
			return err
		}
		return qs.drainLists(ctx, q, w, x.keepScores)
	})
}

// collectAnswers downloads the best scores of the queries in slots and sets out[i] to the answer of
// the query in slots[i], except for queries that have left the run.
func (x *run) collectAnswers(q *queue, slots []int, out backend.Answers) error {
	lo, hi := x.deviceKept, 0
	for _, p := range slots {
		if p < x.deviceKept {
			lo, hi = min(lo, p), max(hi, p+1)
		}
	}
	if err := x.ensureStates(q); err != nil {
		return err
	}
	if err := x.b.fetchBest(q, lo, hi); err != nil {
		return err
	}
	q.machine.beginPhase(phaseAnswers)
	atoms, looks, all := make([]int, len(slots)), 0, 0
	for i, p := range slots {
		if !x.queries[p].departed {
			atoms[i] = x.settleBest(p)
			all += atoms[i]
			looks += x.countLooks(p)
		}
	}
	room := answerRoom{make([]int64, all), make([]float64, all), make([]backend.LookReport, looks)}
	for i, p := range slots {
		if !x.queries[p].departed {
			x.setAnswer(&out[i], p, atoms[i], &room)
		}
	}
	return nil
}

// keepScores adds those scores of the query in slot p that are within its floor and ceiling to its best.
func (x *run) keepScores(p int, all []scoredRow) {
	for _, s := range all {
		if x.b.states[p].wants(s.score) {
			x.queries[p].best = append(x.queries[p].best, s)
		}
	}
	x.queries[p].rowsRead += len(all)
}

// nextAtom returns the first atom that the query in slot p has not been scanned for.
func (x *run) nextAtom(p int) int {
	for k := range x.chunks {
		if p < x.chunks[k].hi {
			return x.chunks[k].nextAtom
		}
	}
	return 0
}

// eachChunk calls f for the chunks selected by due, with their lists in the arena, until ctx ends.
func (x *run) eachChunk(ctx context.Context, q *queue, due func(*queryChunk) bool, f func(*queryChunk) error) error {
	for k := range x.chunks {
		qs := &x.chunks[k]
		if !due(qs) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := qs.swapIn(q); err != nil {
			return err
		}
		err := f(qs)
		if x.swaps && q.err == nil {
			err = errors.Join(err, qs.swapOut(q))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// denseUnscanned answers by the dense path those queries in slots whose looks have not seen all
// atoms, unless ctx has ended.
func (x *run) denseUnscanned(ctx context.Context, slots []int) error {
	if ctx.Err() != nil {
		return nil
	}
	var unseen []int
	for _, p := range slots {
		if x.b == nil || x.b.states[p].flags&flagScanned == 0 || x.b.states[p].flags&(flagDense|flagOverflow) != 0 {
			unseen = append(unseen, p)
		}
	}
	if err := x.denseSlots(ctx, unseen); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// ensureStates downloads the states unless the host's copy is current. The host must call it before
// changing a state.
func (x *run) ensureStates(q *queue) error {
	if x.b.statesCurrent {
		return nil
	}
	return x.b.syncStates(q)
}

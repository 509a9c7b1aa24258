//go:build cuda && cgo

package gpu

import (
	"context"
	"fmt"
	"slices"

	"thresher/backend"
)

// flagLeaving marks queries about to leave. It is not a flag of types.cuh: kernels only get it in the
// masks passed to them.
const flagLeaving = 1 << 31

// leaving selects queries about to leave, without an answer yet.
var leaving = selector{flagDone | flagLeaving, flagLeaving}

var _, _ backend.Leaver = (*run)(nil), (*shardRun)(nil)

// Leave finishes queries before the others, which continue as if these had never been there:
// kernels skip answered queries, and no query's state depends on another's.
func (x *run) Leave(ctx context.Context, queries ...int) (backend.Answers, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	slots := make([]int, len(queries))
	for i, j := range queries {
		if j < 0 || j >= x.input.M || x.queries[x.slot[j]].departed {
			return nil, fmt.Errorf("query %d, of %d, is not in the run", j, x.input.M)
		}
		slots[i] = x.slot[j]
	}
	out := make(backend.Answers, len(queries))
	if len(queries) == 0 {
		return out, nil
	}
	if err := x.denseUnscanned(ctx, slots); err != nil {
		return nil, err
	}
	err := x.onDevice(context.WithoutCancel(ctx), func(q *queue) error {
		if err := x.ensureStates(q); err != nil {
			return err
		}
		for _, p := range slots {
			x.b.states[p].flags |= flagLeaving
		}
		x.b.uploadStates(q)
		if err := x.drainSlots(ctx, q, leaving, slices.Compact(slices.Sorted(slices.Values(slots)))); err != nil {
			return err
		}
		if err := x.collectAnswers(q, slots, out); err != nil {
			return err
		}
		for _, p := range slots {
			s := &x.b.states[p]
			s.flags |= flagDone
			s.listed = 0 // its list need not be swapped any more
			x.queries[p].departed = true
		}
		x.b.uploadStates(q)
		return q.sync()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// endInterrupted ends a look that a context interrupted, for queries that do not continue it: those in
// slots, ascending, which w selects. Their figures are those of the look so far.
func (x *run) endInterrupted(q *queue, qs *queryChunk, w selector, slots []int) error {
	l := qs.interrupted
	if l == nil {
		return nil
	}
	if len(slots) == qs.m() {
		qs.interrupted = nil
	}
	qs.pruneLists(q, w)
	for from, to := 0, 0; from < len(slots); from = to {
		for to = from + 1; to < len(slots) && slots[to] == slots[to-1]+1; to++ {
		}
		some := queryChunk{b: qs.b, lo: slots[from], hi: slots[to-1] + 1}
		some.endLook(q, l)
	}
	return x.recordReports(q, l, slots)
}

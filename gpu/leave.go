//go:build cuda && cgo

package gpu

import (
	"context"
	"fmt"
	"slices"

	"thresher/backend"
)

// flagLeaving marks queries about to leave. It is not a flag of types.cuh: kernels only see it in
// the masks passed to them.
const flagLeaving = 1 << 31

// leaving selects queries about to leave, without an answer yet.
var leaving = which{flagDone | flagLeaving, flagLeaving}

var _, _ backend.Leaver = (*run)(nil), (*shardRun)(nil)

// Leave finishes queries before the others, which continue as if these had never been there:
// kernels skip answered queries, and no query's state depends on another's.
func (x *run) Leave(ctx context.Context, queries ...int) (backend.Answers, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	places := make([]int, len(queries))
	for i, j := range queries {
		if j < 0 || j >= x.q.M || x.asked[x.place[j]].left {
			return nil, fmt.Errorf("query %d, of %d, is not in the run", j, x.q.M)
		}
		places[i] = x.place[j]
	}
	out := make(backend.Answers, len(queries))
	if len(queries) == 0 {
		return out, nil
	}
	if err := x.sendUnseen(ctx, places); err != nil {
		return nil, err
	}
	err := x.turn(context.WithoutCancel(ctx), func(q *queue) error {
		if err := x.hear(q); err != nil {
			return err
		}
		for _, p := range places {
			x.b.states[p].flags |= flagLeaving
		}
		x.b.put(q)
		if err := x.drain(ctx, q, leaving, slices.Compact(slices.Sorted(slices.Values(places)))); err != nil {
			return err
		}
		if err := x.answers(q, places, out); err != nil {
			return err
		}
		for _, p := range places {
			s := &x.b.states[p]
			s.flags |= flagDone
			s.listed = 0 // its list need not be moved between memories any more
			x.asked[p].left = true
		}
		x.b.put(q)
		return q.sync()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// conclude ends a look that a context interrupted, for queries that do not continue it: those at
// places, ascending, which w selects. Their figures are those of the look so far.
func (x *run) conclude(q *queue, g *group, w which, places []int) error {
	l := g.under
	if l == nil {
		return nil
	}
	if len(places) == g.m() {
		g.under = nil
	}
	g.prune(q, w, false)
	for from, to := 0, 0; from < len(places); from = to {
		for to = from + 1; to < len(places) && places[to] == places[to-1]+1; to++ {
		}
		some := group{b: g.b, lo: places[from], hi: places[to-1] + 1}
		some.end(q, l)
	}
	return x.note(q, l, places)
}

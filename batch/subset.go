package batch

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thresher/backend"
)

// Within is what is known of an engine's collection if it is one part of a larger set of vectors that a
// request asks about, beside the request itself. The zero Within adds nothing.
type Within struct {
	// Live, if not nil, has the atoms that are still there, as Without made it; the others are in no answer.
	// Filter and Exclude of the request allow fewer of them.
	Live *backend.Filter
	// Floors, if not nil, are search scores, one a query, each the k-th best of other vectors that the query may
	// have; -Inf if there are not so many. An answer is then that of a goal with this floor
	// (backend.Run.Floor): it has at most k atoms, all of at least the floor, those of equal score
	// included, and can be complete with none.
	Floors []float64
	// Before is how many vectors Floors are the k-th best scores of, for the choice of the plan; 0 if that is not known.
	Before int
}

// SearchWithin is Search of a collection that is one part of a larger set of vectors.
func (e *Engine) SearchWithin(ctx context.Context, req Request, part Within) (*Response, error) {
	e, err := e.current(ctx)
	if err != nil {
		return nil, err
	}
	s, _ := e.resident.(backend.Stager)
	return e.searchApart(ctx, &req, part, s, func(ctx context.Context, w *work) (*Response, error) { return w.search(ctx) })
}

// Without returns a filter of the atoms that live allows, nil being all, less those of these rows.
func (e *Engine) Without(live *backend.Filter, rows []int) *backend.Filter {
	return without(e, live, rows)
}

func without[T int | int64](e *Engine, live *backend.Filter, rows []T) *backend.Filter {
	var b []uint64
	if live == nil {
		b = make([]uint64, (e.c.N+63)/64)
		for i := range b {
			b[i] = ^uint64(0)
		}
		if e.c.N%64 != 0 {
			b[len(b)-1] = 1<<(e.c.N%64) - 1
		}
	} else {
		b = slices.Clone(live.Bits())
	}
	for _, row := range rows {
		i := e.inverse[row]
		b[i/64] &^= 1 << (i % 64)
	}
	return backend.NewFilter(e.c.Order, b)
}

// Only returns a filter of those atoms that live allows, nil being all, whose rows have a bit in rows, in the order of row
// numbers; bits beyond the last row are 0. The filter keeps the slice.
func (e *Engine) Only(live *backend.Filter, rows []uint64) *backend.Filter {
	keepLive(rows, live)
	return backend.RowFilter(e.c.Order, e.inverse, rows)
}

// Has reports whether live, a filter that Without made or nil, allows the atom of a row.
func (e *Engine) Has(live *backend.Filter, row int) bool {
	return live == nil || live.Has(int(e.inverse[row]))
}

// checkFloors returns an error unless there are no floors or a valid one for each of all queries.
func (w *work) checkFloors() error {
	floors := w.within.Floors
	if floors == nil {
		return nil
	}
	queries := w.m
	if w.numbers != nil { // a part of them
		queries = len(floors)
	}
	if err := backend.CheckFloors(floors, queries); err != nil {
		return &RequestError{Field: "floors", Query: -1, Err: fmt.Errorf("of a part: %w", err)}
	}
	return nil
}

// floorMade reports whether the floor of query j is the k-th best score of other vectors.
func (w *work) floorMade(j int) bool {
	floors := w.within.Floors
	return floors != nil && !math.IsInf(floors[w.number(j)], -1) && floors[w.number(j)] == w.floor(j)
}

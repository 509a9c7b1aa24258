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
	var b []uint64
	if live == nil {
		b = make([]uint64, (e.c.N+63)/64)
		setBits(b, e.c.N)
	} else {
		b = slices.Clone(live.Bits())
	}
	for _, row := range rows {
		i := e.inverse[row]
		b[i/64] &^= 1 << (i % 64)
	}
	return backend.NewFilter(e.c.Order, b)
}

// Only returns a filter of those atoms of rows, each given once, that live allows, nil being all.
func (e *Engine) Only(live *backend.Filter, rows []uint32) *backend.Filter {
	few := len(rows) <= e.c.N/fewListed
	var atoms []uint32
	var b []uint64
	if !few {
		b = make([]uint64, (e.c.N+63)/64)
	}
	for _, row := range rows {
		i := e.inverse[row]
		switch {
		case live != nil && !live.Has(int(i)):
		case few:
			atoms = append(atoms, i)
		default:
			b[i/64] |= 1 << (i % 64)
		}
	}
	if few {
		return backend.ListFilter(e.c.Order, atoms)
	}
	return backend.NewFilter(e.c.Order, b)
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

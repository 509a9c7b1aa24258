package arms

import (
	"context"
	"fmt"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
)

// Resident is a loaded collection with the goroutines that search it.
type Resident struct {
	*threads.Crew
	C *collection.Collection
	// TileBytes is how much a look reads at most of a tile, and a scan of rows to be scored (TileBytes, except in tests).
	TileBytes int
}

// TileBytes is how much a look reads at most of a tile: a range of rows that all queries of a thread
// visit before they go on to the next. So much fits the last-level cache, and is enough to contain several
// survivors of a query, which can then be prefetched, and shared with helpers.
const TileBytes = 8 << 20

// NewResident returns c as the rooms know it. It does not copy the collection.
func NewResident(c *collection.Collection, crew *threads.Crew) *Resident {
	return &Resident{Crew: crew, C: c, TileBytes: TileBytes}
}

// Batch is the queries of one run. Goroutines work on disjoint ranges of them.
type Batch struct {
	*Resident
	Queries []Query
	Vectors backend.Queries // as given to Begin
	Team    threads.Team
	scaled  []float64 // [queries][Dim]
}

// NewBatch returns a batch without queries.
func NewBatch(r *Resident) *Batch { return &Batch{Resident: r} }

// Begin makes q the batch's queries and prepares them, with several goroutines, but for what only looks read. Memory of
// earlier queries is reused. After an error End need not be called.
func (x *Batch) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) error {
	c, m := x.C, q.M
	if c.Float64() != (q.Given != nil) || q.Given != nil && len(q.Given) != m*c.Dim {
		return fmt.Errorf("%d values of %d queries as given, for rows of %v", len(q.Given), m, c.Elem())
	}
	if cap(x.Queries) < m {
		x.Queries = append(x.Queries[:cap(x.Queries)], make([]Query, m-cap(x.Queries))...)
	}
	x.Queries, x.Vectors = x.Queries[:m], q
	x.scaled = topk.Grow(x.scaled, m*c.Dim)
	x.Team.Reset(x.Crew, m == 1, c.N*(c.R+c.D))
	err := x.EachFewQueries(ctx, m, func(_ *threads.Scratch, lo, hi int) error {
		x.prepareQueries(q, goals, lo, hi)
		return nil
	})
	if err != nil {
		x.Team.End()
	}
	return err
}

// End ends the run of the batch's queries.
func (x *Batch) End() {
	x.Team.End()
	x.Vectors = backend.Queries{}
}

package thresher

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"thresher/collection"
	"thresher/dataset"
	"thresher/join"
	"thresher/tasks"
)

// GraphOptions say which neighbours a graph has.
type GraphOptions struct {
	K              int     // neighbours of each vector, at least 1
	Method         Method  // "" is Certain
	Delta, Epsilon float64 // as in Request
	Published      Published
	// Symmetric makes an edge of both directions where either vector is a neighbour of the other, Mutual only
	// where both are. A row then has other numbers of neighbours than K. At most one of them is set.
	Symmetric, Mutual bool
	// Distances passes distances in place of scores: l2 not squared, or 1 less the cosine.
	Distances bool
	// Filter, if not nil, lists the row numbers of the only vectors that take part, at least two, as Index.Filter returns them.
	// The others have rows without neighbours, and are no neighbours.
	Filter []int64
	// Progress, if not nil, is called with the vectors searched and their number.
	Progress func(done, total int64)
}

// GraphSummary says which graph was found, and what is guaranteed of it.
type GraphSummary = tasks.GraphSummary

// Graph finds the nearest other vectors of each vector, and passes each row of the graph to visit, in
// ascending order: neighbours by row number, best first, and their scores, which are valid until visit
// returns. An error of visit ends it.
func (x *Index) Graph(ctx context.Context, o GraphOptions, visit func(row int64, neighbours []int64, scores []float32) error) (*GraphSummary, error) {
	x, leave, err := x.now(ctx, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	g, err := tasks.NewGraphSearch(x.engine, tasks.GraphOptions{
		GraphOptions: join.GraphOptions{K: o.K, Method: o.Method, Delta: o.Delta, Epsilon: o.Epsilon, Published: o.Published, Threads: x.o.Threads, Filter: x.takingPart(o.Filter)},
		Symmetric:    o.Symmetric, Mutual: o.Mutual, Distances: o.Distances,
	})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	return tasks.Graph(ctx, g, o.Progress, func(r *dataset.Result) error {
		row := []int64{r.Query}
		x.renumber(row)
		x.renumber(r.Rows)
		return visit(row[0], r.Rows, r.Scores)
	})
}

// takingPart returns the rows of a filter, which has what the caller calls them, in ascending order; nil for nil.
func (x *Index) takingPart(filter []int64) []int64 {
	if filter == nil {
		return nil
	}
	rows := append([]int64{}, filter...)
	if x.numbers != nil {
		rows = x.kept(filter)
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// PairOptions say which pairs are wanted.
type PairOptions struct {
	// MinScore is the least score of a pair; for Euclidean distance it is the greatest squared distance.
	MinScore float64
	Method   Method  // "" is Certain, which misses none
	Delta    float64 // as in Request
	// Filter, if not nil, lists the row numbers of the only vectors of the index that are in pairs, as Index.Filter returns
	// them.
	Filter []int64
	// With, if not nil, are vectors to compare with those of the index, rows of as many values; otherwise these are
	// compared with each other.
	With []float32
	// WithFloat64 are such vectors in float64, in place of With; an index of float32 rounds them.
	WithFloat64 []float64
	// Progress, if not nil, is called with the vectors compared and their number.
	Progress func(done, total int64)
}

// Pair is two vectors, A of the index and B of PairOptions.With or also of the index, then A < B.
type Pair = dataset.Pair

// PairsSummary says which pairs were found, what is guaranteed, and what was read.
type PairsSummary = tasks.PairsSummary

// table returns rows of float64 for a comparison with the vectors: as they are, or rounded as the vectors are.
func (x *Index) table(rows []float64) (r dataset.Reader, stored bool, err error) {
	if x.atoms.Float64() {
		v, err := dataset.VectorsOf(rows, x.Dim())
		return v.Reader(), false, err
	}
	narrow, changes := make([]float32, len(rows)), make([]float64, len(rows)/x.Dim())
	for i := range changes {
		from, to := i*x.Dim(), (i+1)*x.Dim()
		change, err := collection.Narrow(narrow[from:to], rows[from:to], x.Dim(), x.atoms.Origin)
		if err != nil {
			return nil, false, fmt.Errorf("with: row %d: %w", i, err)
		}
		changes[i] = change.Largest
	}
	return dataset.FromMemory(narrow, x.Dim(), changes), true, nil
}

// Pairs finds all pairs with a least score and passes them to visit, each once, in no particular order. They are
// never all in memory. An error of visit ends it.
func (x *Index) Pairs(ctx context.Context, o PairOptions, visit func(Pair) error) (*PairsSummary, error) {
	x, leave, err := x.now(ctx, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	options := tasks.PairOptions{PairOptions: join.PairOptions{MinScore: o.MinScore, Method: o.Method, Delta: o.Delta, Filter: x.takingPart(o.Filter)}}
	if values := max(len(o.With), len(o.WithFloat64)); values%x.Dim() != 0 {
		return nil, fmt.Errorf("with: %d values are no rows of %d", values, x.Dim())
	}
	switch {
	case o.With != nil && o.WithFloat64 != nil:
		return nil, errors.New("with: given both in float32 and in float64")
	case o.With != nil:
		options.With = dataset.FromMemory(o.With, x.Dim(), nil)
	case o.WithFloat64 != nil:
		if options.With, options.Stored, err = x.table(o.WithFloat64); err != nil {
			return nil, err
		}
	}
	search, err := tasks.NewPairSearch(ctx, x.engine, options)
	if err != nil {
		return nil, err
	}
	return tasks.Pairs(ctx, search, o.Progress, func(pairs []Pair) error {
		for _, p := range pairs {
			if x.numbers != nil {
				p.A = x.numbers[p.A]
				if options.With == nil {
					p.B = x.numbers[p.B]
				}
			}
			if err := visit(p); err != nil {
				return err
			}
		}
		return nil
	})
}

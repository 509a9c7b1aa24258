package thresher

import (
	"context"
	"fmt"

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
	// Progress, if not nil, is called with the vectors searched and their number.
	Progress func(done, total int64)
}

// GraphSummary says which graph was found, and what is guaranteed of it.
type GraphSummary = tasks.GraphSummary

// Graph finds the nearest other vectors of each vector, and passes each row of the graph to visit, in
// ascending order: neighbours by row number, best first, and their scores, which are valid until visit
// returns. An error of visit ends it.
func (x *Index) Graph(ctx context.Context, o GraphOptions, visit func(row int64, neighbours []int64, scores []float32) error) (*GraphSummary, error) {
	g, err := tasks.NewGraphSearch(x.engine, tasks.GraphOptions{
		GraphOptions: join.GraphOptions{K: o.K, Method: o.Method, Delta: o.Delta, Epsilon: o.Epsilon, Published: o.Published, Threads: x.o.Threads},
		Symmetric:    o.Symmetric, Mutual: o.Mutual, Distances: o.Distances,
	})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	return tasks.Graph(ctx, g, o.Progress, func(r *dataset.Result) error { return visit(r.Query, r.Rows, r.Scores) })
}

// PairOptions say which pairs are wanted.
type PairOptions struct {
	// MinScore is the least score of a pair; for Euclidean distance it is the greatest squared distance.
	MinScore float64
	Method   Method  // "" is Certain, which misses none
	Delta    float64 // as in Request
	// With, if not nil, are vectors to compare with those of the index, rows of as many values; otherwise these are
	// compared with each other.
	With []float32
	// Progress, if not nil, is called with the vectors compared and their number.
	Progress func(done, total int64)
}

// Pair is two vectors, A of the index and B of PairOptions.With or also of the index, then A < B.
type Pair = dataset.Pair

// PairsSummary says which pairs were found, what is guaranteed, and what was read.
type PairsSummary = tasks.PairsSummary

// Pairs finds all pairs with a least score and passes them to visit, each once, in no particular order. They are
// never all in memory. An error of visit ends it.
func (x *Index) Pairs(ctx context.Context, o PairOptions, visit func(Pair) error) (*PairsSummary, error) {
	options := tasks.PairOptions{PairOptions: join.PairOptions{MinScore: o.MinScore, Method: o.Method, Delta: o.Delta}}
	if o.With != nil {
		if len(o.With)%x.Dim() != 0 {
			return nil, fmt.Errorf("with: %d values are no rows of %d", len(o.With), x.Dim())
		}
		options.With = dataset.FromMemory(o.With, x.Dim(), nil)
	}
	search, err := tasks.NewPairSearch(ctx, x.engine, options)
	if err != nil {
		return nil, err
	}
	return tasks.Pairs(ctx, search, o.Progress, func(pairs []Pair) error {
		for _, p := range pairs {
			if err := visit(p); err != nil {
				return err
			}
		}
		return nil
	})
}

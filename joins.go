package thresher

import (
	"context"
	"errors"
	"fmt"
	"io"

	"thresher/dataset"
	"thresher/join"
)

// GraphOptions say which neighbours a graph has.
type GraphOptions struct {
	K              int     // neighbours of each vector, at least 1
	Method         Method  // "" is Certain
	Delta, Epsilon float64 // as in Request
	// Symmetric makes an edge of both directions where either vector is a neighbour of the other, Mutual only
	// where both are. A row then has other numbers of neighbours than K. At most one of them is set.
	Symmetric, Mutual bool
	// Progress, if not nil, is called with the vectors searched and their number.
	Progress func(done, total int64)
}

// GraphCertificate says what is guaranteed of a whole graph.
type GraphCertificate = join.GraphCertificate

// Graph finds the nearest other vectors of each vector, and passes each row of the graph to visit, in
// ascending order: neighbours by row number, best first, and their scores, which are valid until visit
// returns. An error of visit ends it.
func (x *Index) Graph(ctx context.Context, o GraphOptions, visit func(row int64, neighbours []int64, scores []float32) error) (GraphCertificate, error) {
	if o.Symmetric && o.Mutual {
		return GraphCertificate{}, errors.New("symmetric and mutual exclude each other")
	}
	g, err := join.NewGraph(x.engine, join.GraphOptions{K: o.K, Method: o.Method, Delta: o.Delta, Epsilon: o.Epsilon, Threads: x.o.Threads})
	if err != nil {
		return GraphCertificate{}, err
	}
	defer g.Close()
	var certificate GraphCertificate
	rows := func(do func(i int64, r *dataset.Result) error) (err error) {
		certificate, err = g.Each(ctx, o.Progress, func(r *dataset.Result) error { return do(r.Query, r) })
		return err
	}
	pass := func(i int64, r *dataset.Result) error { return visit(i, r.Rows, r.Scores) }
	if !o.Symmetric && !o.Mutual {
		err := rows(pass)
		return certificate, err
	}
	u, err := join.NewUndirected(rows, x.Len(), g.K(), x.Metric().Differences(), o.Mutual)
	if err != nil {
		return certificate, err
	}
	return certificate, u.Each(pass)
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
}

// Pair is two vectors, A of the index and B of PairOptions.With or also of the index, then A < B.
type Pair = dataset.Pair

// PairWork is what was read for pairs, and what is guaranteed.
type PairWork = join.PairWork

// Pairs finds all pairs with a least score and passes them to visit, each once, in no particular order. They are
// never all in memory. An error of visit ends it.
func (x *Index) Pairs(ctx context.Context, o PairOptions, visit func(Pair) error) (PairWork, error) {
	var work PairWork
	options := join.PairOptions{MinScore: o.MinScore, Method: o.Method, Delta: o.Delta}
	density, err := join.Sample(ctx, x.engine, options)
	if err != nil {
		return work, err
	}
	var source *join.PairSource
	if o.With == nil {
		source, err = join.SelfPairs(x.engine, options, density)
	} else if len(o.With)%x.Dim() != 0 {
		err = fmt.Errorf("with: %d values are no rows of %d", len(o.With), x.Dim())
	} else {
		source, err = join.TablePairs(x.engine, dataset.FromMemory(o.With, x.Dim(), nil), options, density)
	}
	for err == nil {
		var block join.PairBlock
		if block, _, err = source.Next(ctx); err != nil {
			break
		}
		work.Add(&block.Work)
		for _, p := range block.Pairs {
			if err := visit(p); err != nil {
				return work, err
			}
		}
	}
	if err == io.EOF {
		err = nil
	}
	return work, err
}

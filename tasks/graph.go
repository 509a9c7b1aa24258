package tasks

import (
	"context"
	"errors"
	"math"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/join"
)

// GraphOptions say which graph of nearest neighbours is wanted.
type GraphOptions struct {
	join.GraphOptions
	// Symmetric joins two vectors if either is a neighbour of the other, Mutual if each is; the edge
	// then has their score in both directions, and rows differ in length. At most one is set.
	Symmetric, Mutual bool
	// Distances are wanted in place of scores: l2 not squared, or 1 less the cosine, at least 0.
	Distances bool
}

// Check returns what is wrong with a graph of n vectors by a metric, a *batch.RequestError.
func (o *GraphOptions) Check(n int, m collection.Metric) error {
	refuse := func(field, why string) error {
		return &batch.RequestError{Field: field, Query: -1, Err: errors.New(why)}
	}
	switch {
	case o.Symmetric && o.Mutual:
		return refuse("mutual", "symmetric and mutual exclude each other")
	case n < 2:
		return refuse("vectors", "1 row; a graph has at least 2")
	case o.Distances && m == collection.InnerProduct:
		return refuse("distances", "an inner product is no distance; leave it out, or use metric cosine or l2")
	}
	return nil
}

// UndirectedBytes is the memory that joining the directions of n rows takes; 0 if they are not joined.
func (o *GraphOptions) UndirectedBytes(n int) float64 {
	if !o.Symmetric && !o.Mutual {
		return 0
	}
	return join.UndirectedBytes(n, o.K)
}

// GraphShape says which graph was found.
type GraphShape struct {
	Rows  int64  `json:"rows"`
	Edges int64  `json:"edges,omitempty"` // 0 if an earlier run handed them on
	Kind  string `json:"kind"`            // directed, symmetric or mutual
	Value string `json:"values"`          // score or distance
}

// GraphSummary says which graph was found, and what is guaranteed of it.
type GraphSummary struct {
	GraphShape
	// Certificate says what is guaranteed of all rows. It is unknown to a run that goes on from an
	// earlier one, which keeps its own counts.
	Certificate join.GraphCertificate `json:"certificate,omitzero"`
	// Warnings say why what is found may not be what is alike.
	Warnings []string `json:"warnings,omitempty"`
}

// GraphSearch finds a graph block by block, so that it can be resumed. It is not safe for concurrent use.
type GraphSearch struct {
	atoms   *collection.Collection
	graph   *join.Graph
	o       GraphOptions
	edges   int64 // handed on
	resumed bool
	found   join.GraphCertificate
	warning string // of the metric, "" for none
}

// NewGraphSearch checks the options against the vectors of e. Errors in them are *batch.RequestError.
// The caller closes the search before e.
func NewGraphSearch(e *batch.Engine, o GraphOptions) (*GraphSearch, error) {
	c := e.Collection()
	if err := o.Check(c.N, c.Metric); err != nil {
		return nil, err
	}
	g, err := join.NewGraph(e, o.GraphOptions)
	if err != nil {
		return nil, err
	}
	return &GraphSearch{atoms: c, graph: g, o: o, found: join.GraphCertificate{K: g.K()}, warning: join.LikenessWarning(c)}, nil
}

// Close releases what the search holds beside the engine.
func (g *GraphSearch) Close() error { return g.graph.Close() }

// Search finds the next block, as [join.Graph.Search] does.
func (g *GraphSearch) Search(ctx context.Context, first int64, rows int) (*join.Block, error) {
	b, err := g.graph.Search(ctx, first, rows)
	if err == nil {
		g.found.Add(b.Response)
	}
	return b, err
}

// Resume goes on after the blocks whose results are in log.
func (g *GraphSearch) Resume(log dataset.EachResult) error {
	g.resumed = true
	return g.graph.Resume(log)
}

// Rows returns the graph, row by row, once all blocks are found; log has their results.
func (g *GraphSearch) Rows(log dataset.EachResult) (dataset.EachResult, error) {
	if !g.graph.Complete() { // an earlier run found all
		if err := g.Resume(log); err != nil {
			return nil, err
		}
	}
	return g.shaped(g.graph.Rows(log))
}

// shaped joins the directions of rows and makes their scores distances, where that is wanted, and counts
// their edges.
func (g *GraphSearch) shaped(rows dataset.EachResult) (dataset.EachResult, error) {
	if g.o.Symmetric || g.o.Mutual {
		u, err := join.NewUndirected(rows, g.atoms.N, g.graph.K(), g.atoms.Metric.Differences(), g.o.Mutual)
		if err != nil {
			return nil, err
		}
		rows = u.Each
	}
	return func(do func(i int64, r *dataset.Result) error) error {
		g.edges = 0
		return rows(func(i int64, r *dataset.Result) error {
			g.edges += int64(len(r.Rows))
			if g.o.Distances {
				for at, s := range r.Scores {
					r.Scores[at] = g.distance(s)
				}
				for at, s := range r.Scores64 {
					r.Scores64[at] = g.distance64(s)
				}
			}
			return do(i, r)
		})
	}, nil
}

// distance is the distance that a score stands for.
func (g *GraphSearch) distance(score float32) float32 {
	if g.atoms.Metric.Differences() {
		return float32(math.Sqrt(float64(score)))
	}
	return max(0, 1-score)
}

// distance64 is the distance that a score stands for, before both are rounded to float32.
func (g *GraphSearch) distance64(score float64) float64 {
	if g.atoms.Metric.Differences() {
		return math.Sqrt(score)
	}
	return max(0, 1-score)
}

// Summary describes the graph that was found, and handed on, so far.
func (g *GraphSearch) Summary() *GraphSummary {
	s := &GraphSummary{GraphShape: GraphShape{Rows: int64(g.atoms.N), Edges: g.edges, Kind: "directed", Value: "score"}}
	switch {
	case g.o.Symmetric:
		s.Kind = "symmetric"
	case g.o.Mutual:
		s.Kind = "mutual"
	}
	if g.o.Distances {
		s.Value = "distance"
	}
	if !g.resumed {
		s.Certificate = g.found
	}
	if g.warning != "" {
		s.Warnings = []string{g.warning}
	}
	return s
}

// Graph finds a graph and passes its rows in ascending order, each with the numbers of its neighbours, best
// first, and their scores, valid during the call, to visit. progress, if not nil, is told of the rows found and
// their total. Errors are those of ctx, of the search and of visit.
func Graph(ctx context.Context, g *GraphSearch, progress func(done, total int64), visit func(*dataset.Result) error) (*GraphSummary, error) {
	found := func(do func(i int64, r *dataset.Result) error) (err error) {
		g.found, err = g.graph.Each(ctx, progress, func(r *dataset.Result) error { return do(r.Query, r) })
		return err
	}
	rows, err := g.shaped(found)
	if err != nil {
		return nil, err
	}
	if err := rows(func(_ int64, r *dataset.Result) error { return visit(r) }); err != nil {
		return nil, err
	}
	return g.Summary(), nil
}

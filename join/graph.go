package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// GraphOptions say which graph of nearest neighbours is wanted.
type GraphOptions struct {
	// K is how many neighbours each atom has, at least 1. K of the number of atoms or above is
	// reduced to all other atoms.
	K int
	// Method is how neighbours are searched; "" means batch.Certain, which finds the right ones.
	Method batch.Method
	// Delta is the allowed failure probability of a row of the graph, Epsilon the allowed gap of
	// a neighbour's score; both as in batch.Request.
	Delta, Epsilon float64
}

// Graph is a search for the k nearest neighbours of each atom of a collection: the k other atoms
// that score best with it as the query, best first, ties by ascending row number. An atom is no
// neighbour of itself; duplicates of it are. It is safe for concurrent use.
//
// Blocks of rows are searched one after the other in any order and by any number of processes;
// their results, as they come, make a log. Rows reads the graph from the log.
type Graph struct {
	engine *batch.Engine
	c      *collection.Collection
	req    batch.Request // without queries
}

// NewGraph checks the options against e's collection. Errors in them are *batch.RequestError.
func NewGraph(e *batch.Engine, o GraphOptions) (*Graph, error) {
	c := e.Collection()
	refuse := func(field, format string, args ...any) error {
		return &batch.RequestError{Field: field, Query: -1, Err: fmt.Errorf(format, args...)}
	}
	if o.K < 1 {
		return nil, refuse("k", "%d, at least 1", o.K)
	}
	if c.N < 2 {
		return nil, refuse("atoms", "%d; a graph has at least 2", c.N)
	}
	return &Graph{engine: e, c: c, req: batch.Request{
		K: min(o.K, c.N-1), Method: cmp.Or(o.Method, batch.Certain), Delta: o.Delta, Epsilon: o.Epsilon, ExcludeSelf: true,
	}}, nil
}

// K is how many neighbours each row of the graph has.
func (g *Graph) K() int { return g.req.K }

// Search finds the neighbours of the atoms of rows first to first+rows-1. The response has the
// answer to each; its results, by AppendResults, go to the log. If ctx ends it returns ctx's
// error: a row is never partial.
func (g *Graph) Search(ctx context.Context, first int64, rows int) (*batch.Response, error) {
	if first < 0 || rows < 1 || first+int64(rows) > int64(g.c.N) {
		return nil, fmt.Errorf("rows %d to %d of a collection of %d", first, first+int64(rows)-1, g.c.N)
	}
	req := g.req
	req.Queries, req.SelfFirst = g.c.Rows[int(first)*g.c.Dim:(int(first)+rows)*g.c.Dim], first
	resp, err := g.engine.Search(ctx, req)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, locate(err, first)
	}
	return resp, nil
}

// locate replaces the number of a query in an error by that of its row.
func locate(err error, first int64) error {
	var e *batch.RequestError
	if !errors.As(err, &e) || e.Query < 0 {
		return err
	}
	return fmt.Errorf("row %d (0-based): %w", first+int64(e.Query), e.Err)
}

// AppendResults appends the results of a response of Search from row first to a log.
func (g *Graph) AppendResults(log []dataset.Result, first int64, resp *batch.Response) []dataset.Result {
	for j := range resp.Answers {
		a := &resp.Answers[j]
		log = append(log, dataset.Result{Query: first + int64(j), IDs: a.IDs, Scores: a.Scores, Pulls: a.Certificate.Pulls, Exact: a.Certificate.Exact})
	}
	return log
}

// GraphCertificate says what is guaranteed of a whole graph.
type GraphCertificate struct {
	Rows  int64 `json:"rows"`
	K     int   `json:"k"`
	Exact int64 `json:"exact"` // rows of which no arm was dropped by a bound that can fail
	// Delta is the probability with which a row may be wrong, 0 if none may; WrongAllowed, its
	// sum over the rows, bounds the expected number of wrong rows.
	Delta        float64                   `json:"delta"`
	WrongAllowed float64                   `json:"wrong_allowed"`
	Guarantees   map[batch.Guarantee]int64 `json:"guarantees"` // rows by the guarantee they have
}

// Add counts the rows of a response of Search.
func (c *GraphCertificate) Add(resp *batch.Response) {
	if c.Guarantees == nil {
		c.Guarantees = map[batch.Guarantee]int64{}
	}
	for j := range resp.Answers {
		a := &resp.Answers[j].Certificate
		c.Rows++
		if a.Exact {
			c.Exact++
		}
		c.Guarantees[a.Guarantee]++
		if a.Guarantee == batch.GuaranteeProbabilistic {
			c.WrongAllowed += a.Delta
			c.Delta = max(c.Delta, a.Delta)
		}
	}
}

// blockRows is the number of rows that Each searches together.
const blockRows = 1024

// Each searches all rows in blocks and calls do with each, in ascending order. A result is valid
// during the call. It holds the answers to one block, at most 1,024 rows of K neighbours of 12
// bytes each, beside what the engine needs. progress, if not nil, is called after each block.
func (g *Graph) Each(ctx context.Context, progress func(done, total int64), do func(r *dataset.Result) error) (GraphCertificate, error) {
	cert := GraphCertificate{K: g.K()}
	n := int64(g.c.N)
	var results []dataset.Result
	for first := int64(0); first < n; first += blockRows {
		resp, err := g.Search(ctx, first, int(min(blockRows, n-first)))
		if err != nil {
			return cert, err
		}
		cert.Add(resp)
		results = g.AppendResults(results[:0], first, resp)
		for i := range results {
			if err := do(&results[i]); err != nil {
				return cert, err
			}
		}
		if progress != nil {
			progress(cert.Rows, n)
		}
	}
	return cert, nil
}

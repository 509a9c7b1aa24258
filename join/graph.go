package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

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
	Published      batch.Published // as in batch.Request
	// Threads is the number of goroutines beside those of the engine's backend; 0 is GOMAXPROCS.
	Threads int
	// Memory, if positive, bounds what the search may take beside the engine, in bytes. Searching
	// each pair once takes 12 bytes for each of the neighbours, and codes in another order.
	Memory int64
	Way    Way
	// Filter, if not nil, lists the row numbers of the only atoms that take part, ascending and at least two. The others have
	// rows without neighbours. Atoms are then searched one by one.
	Filter []int64
}

// Way is how the atoms of a graph are searched.
type Way string

const (
	ByCost Way = "auto"  // as it is forecast to be faster, within GraphOptions.Memory
	ByRow  Way = "rows"  // one by one
	ByPair Way = "pairs" // each unordered pair of atoms once, by method certain
)

// Ways lists all ways.
func Ways() []Way { return []Way{ByCost, ByRow, ByPair} }

// minCost is the forecast time of the search of one atom, on one core, from which searching
// pairs pays: what precedes that takes about a third of it. BenchmarkGraph has both ways beside each other.
const minCost = 75 * time.Microsecond

// Graph is a search for the k nearest neighbours of each atom of a collection: the k other atoms
// that score best with it as the query, best first, ties by ascending row number. An atom is no
// neighbour of itself; duplicates of it are. It is not safe for concurrent use.
//
// Atoms are searched in blocks, one after the other. What a block finds are results of a log, which
// the caller keeps if it wants to resume an interrupted search. Rows has the graph once all blocks
// are searched. Depending on the collection, the atoms are searched one by one, or each unordered
// pair of atoms once (docs/architecture.md); the graph by method certain is the same.
type Graph struct {
	engine   *batch.Engine
	c        *collection.Collection
	req      batch.Request // of a search one by one, without queries
	o        GraphOptions
	triangle *triangle // nil: one by one
	begun    bool      // triangle is decided
	done     int64     // atoms searched
}

// NewGraph checks the options against e's collection. Errors in them are *batch.RequestError. The
// caller closes the graph before e.
func NewGraph(e *batch.Engine, o GraphOptions) (*Graph, error) {
	c := e.Collection()
	refuse := func(field, format string, args ...any) error {
		return &batch.RequestError{Field: field, Query: -1, Err: fmt.Errorf(format, args...)}
	}
	if o.K < 1 {
		return nil, refuse("k", "%d, at least 1", o.K)
	}
	if c.N < 2 {
		return nil, refuse("vectors", "%d; a graph has at least 2", c.N)
	}
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	atoms := c.N
	if o.Filter != nil {
		if err := checkFilter(o.Filter, c.N, 2); err != nil {
			return nil, err
		}
		atoms = len(o.Filter)
	}
	o.K, o.Method, o.Way = min(o.K, atoms-1), cmp.Or(o.Method, batch.Certain), cmp.Or(o.Way, ByCost)
	g := &Graph{engine: e, c: c, o: o, req: batch.Request{K: o.K, Method: o.Method, Delta: o.Delta, Epsilon: o.Epsilon, Published: o.Published, Filter: o.Filter, ExcludeSelf: true, Part: true, Stored: true, SearchScores: true}}
	if !slices.Contains(Ways(), o.Way) {
		return nil, refuse("way", "%q is none of %q", o.Way, Ways())
	}
	if o.Way == ByPair {
		err := g.pairable()
		if need := triangleBytes(c, o.K); err == nil && o.Memory > 0 && need > float64(o.Memory) {
			err = fmt.Errorf("searching pairs takes %.0f bytes of memory, %d are available", need, o.Memory)
		}
		if err != nil {
			return nil, &batch.RequestError{Field: "way", Query: -1, Err: err}
		}
	}
	return g, nil
}

// Close releases what the search holds beside the engine.
func (g *Graph) Close() error {
	if g.triangle == nil {
		return nil
	}
	return g.triangle.close()
}

// K is how many neighbours each row of the graph has.
func (g *Graph) K() int { return g.o.K }

// pairable returns an error if pairs cannot be searched.
func (g *Graph) pairable() error {
	switch {
	case g.o.Filter != nil:
		return errors.New("filter: pairs are searched of all vectors")
	case g.o.Method != batch.Certain:
		return fmt.Errorf("method %s: pairs are searched by method certain", g.o.Method)
	case !g.c.Coded() || g.c.R == 0 || g.o.K > g.c.N/64:
		return fmt.Errorf("%d vectors of %d columns, k %d: too small a collection, or too large a k, to search pairs", g.c.N, g.c.Dim, g.o.K)
	case g.o.Epsilon > 0:
		return errors.New("epsilon: pairs are searched without gaps")
	case g.engine.Backend() != "cpu":
		return fmt.Errorf("backend %s: pairs are searched on the cpu", g.engine.Backend())
	}
	return nil
}

// begin decides how the atoms are searched.
func (g *Graph) begin(ctx context.Context) error {
	if g.begun {
		return nil
	}
	pairs := g.o.Way == ByPair
	if g.o.Way == ByCost && g.pairable() == nil && (g.o.Memory <= 0 || triangleBytes(g.c, g.o.K) <= float64(g.o.Memory)) {
		cost, err := g.forecast(ctx)
		if err != nil {
			return err
		}
		pairs = cost >= minCost
	}
	if pairs {
		t, few, err := newTriangle(ctx, g.engine, g.o.K, g.o.Threads)
		if err != nil {
			return err
		}
		if few || g.o.Way == ByPair {
			g.triangle = t
		}
	}
	g.begun = true
	return nil
}

// forecast returns the forecast time of the search of one atom alone, on one core.
func (g *Graph) forecast(ctx context.Context) (time.Duration, error) {
	req := g.req
	addQuery(&req, g.c, 0)
	resp, err := g.engine.Search(ctx, req)
	if err != nil {
		return 0, err
	}
	return time.Duration(resp.Answers[0].Certificate.PredictedCost * float64(g.c.N)), nil
}

// addQuery adds a row of c to the queries of a request that is Stored.
func addQuery(req *batch.Request, c *collection.Collection, row int) {
	req.Queries = append(req.Queries, c.Row(row)...)
	if given := c.Vectors.Float64s(); given != nil {
		req.Queries64 = append(req.Queries64, given[row*c.Dim:][:c.Dim]...)
	}
}

// Resume continues the search of which log has the results of all blocks before, before any other
// is searched. Where pairs are searched it computes their scores again.
func (g *Graph) Resume(log dataset.EachResult) error {
	pairs := false
	g.begun, g.done = true, 0
	if err := log(func(_ int64, r *dataset.Result) error {
		pairs = pairs || r.Query < 0
		if r.Query >= 0 {
			g.done++
		}
		return nil
	}); err != nil || !pairs {
		return err
	}
	var err error
	g.triangle, err = restoreTriangle(g.c, g.o.K, g.o.Threads, log)
	return err
}

// Block is what the search of a block found.
type Block struct {
	// Atoms are the rows of the atoms that were searched.
	Atoms []int64
	// Response has the work for each atom and its certificate, which holds for its whole row of
	// the graph. Its answers may be without atoms. It took what the block took in all: the first
	// one includes what precedes the search of pairs.
	Response *batch.Response
	// Results are what the log gains. Only Rows knows their meaning.
	Results []dataset.Result
}

// Search searches the next atoms, from place first to first+rows-1 of an order of its own: blocks
// follow each other from 0 on without gaps. If ctx ends it returns ctx's error: a row is never
// partial.
func (g *Graph) Search(ctx context.Context, first int64, rows int) (*Block, error) {
	if first < 0 || rows < 1 || first+int64(rows) > int64(g.c.N) {
		return nil, fmt.Errorf("rows %d to %d of a collection of %d", first, first+int64(rows)-1, g.c.N)
	}
	if first != g.done {
		return nil, fmt.Errorf("block from %d after %d vectors", first, g.done)
	}
	begun := time.Now()
	if err := g.begin(ctx); err != nil {
		return nil, err
	}
	search := g.searchRows
	switch {
	case g.triangle != nil:
		search = g.searchPairs
	case g.o.Filter != nil:
		search = g.searchAllowed
	}
	b, err := search(ctx, first, rows)
	if err != nil {
		return nil, err
	}
	g.done += int64(rows)
	b.Response.Took = time.Since(begun)
	return b, nil
}

// searchRows is Search where the atoms are searched one by one.
func (g *Graph) searchRows(ctx context.Context, first int64, rows int) (*Block, error) {
	req := g.req
	req.SelfFirst = first
	if at := int(first) * g.c.Dim; g.c.Rows != nil {
		req.Queries = g.c.Rows[at:][:rows*g.c.Dim]
	} else {
		req.Queries = make([]float32, rows*g.c.Dim)
		g.c.Read(req.Queries, at)
	}
	if given := g.c.Vectors.Float64s(); given != nil {
		req.Queries64 = given[int(first)*g.c.Dim:][:rows*g.c.Dim]
	}
	resp, err := g.engine.Search(ctx, req)
	if err != nil {
		return nil, locate(err, first)
	}
	b := &Block{Response: resp}
	for j := range resp.Answers {
		b.add(g.c.Metric, first+int64(j), &resp.Answers[j])
	}
	return b, nil
}

// add adds the row of an atom, which is its answer.
func (b *Block) add(m collection.Metric, row int64, a *batch.Answer) {
	b.Atoms = append(b.Atoms, row)
	for i, score := range a.SearchScores {
		a.SearchScores[i] = m.Shown(score)
	}
	b.Results = append(b.Results, dataset.Result{Query: row, Rows: a.IDs, Scores: a.Scores, Scores64: a.SearchScores, Pulls: a.Certificate.Pulls, Exact: a.Certificate.Exact})
}

// searchAllowed is Search of the atoms that a filter allows. The rows of others have no neighbours.
func (g *Graph) searchAllowed(ctx context.Context, first int64, rows int) (*Block, error) {
	from, _ := slices.BinarySearch(g.o.Filter, first)
	end, _ := slices.BinarySearch(g.o.Filter, first+int64(rows))
	selves := g.o.Filter[from:end]
	b := &Block{Response: &batch.Response{}}
	if len(selves) > 0 {
		req := g.req
		req.Selves = selves
		for _, row := range selves {
			addQuery(&req, g.c, int(row))
		}
		resp, err := g.engine.Search(ctx, req)
		var invalid *batch.RequestError
		if errors.As(err, &invalid) && invalid.Query >= 0 {
			return nil, fmt.Errorf("row %d (0-based): %w", selves[invalid.Query], invalid.Err)
		}
		if err != nil {
			return nil, err
		}
		b.Response = resp
	}
	for row := first; row < first+int64(rows); row++ {
		if len(selves) > 0 && selves[0] == row {
			b.add(g.c.Metric, row, &b.Response.Answers[len(b.Atoms)])
			selves = selves[1:]
			continue
		}
		b.Results = append(b.Results, dataset.Result{Query: row, Rows: []int64{}, Scores: []float32{}, Scores64: []float64{}, Exact: true})
	}
	return b, nil
}

// checkFilter refuses a filter that allows fewer atoms than are needed, or does not list rows of n atoms in ascending order.
func checkFilter(rows []int64, n, needed int) error {
	refuse := func(format string, args ...any) error {
		return &batch.RequestError{Field: "filter", Query: -1, Err: fmt.Errorf(format, args...)}
	}
	for i, row := range rows {
		switch {
		case row < 0 || row >= int64(n):
			return refuse("entry %d: row %d of %d", i, row, n)
		case i > 0 && row <= rows[i-1]:
			return refuse("entry %d: row %d after row %d; rows ascend", i, row, rows[i-1])
		}
	}
	if len(rows) < needed {
		return refuse("allows %d of the vectors, and at least %d are compared", len(rows), needed)
	}
	return nil
}

// searchPairs is Search where each pair is searched once.
func (g *Graph) searchPairs(ctx context.Context, first int64, rows int) (*Block, error) {
	t := g.triangle
	if err := t.open(ctx, g.engine); err != nil {
		return nil, err
	}
	resp, results, err := t.search(ctx, first, rows)
	if err != nil {
		return nil, err
	}
	b := &Block{Response: resp}
	if first == 0 {
		b.Results = t.head()
	}
	b.Results = append(b.Results, results...)
	for j := range resp.Answers {
		b.Atoms = append(b.Atoms, int64(t.order[first+int64(j)]))
	}
	return b, nil
}

// Complete reports whether all atoms were searched, by this Graph or in the log of Resume.
func (g *Graph) Complete() bool { return g.done == int64(g.c.N) }

// Rows returns the graph, row by row, once all blocks are searched. It may read log, which has
// their results.
func (g *Graph) Rows(log dataset.EachResult) dataset.EachResult {
	if g.triangle == nil {
		return log
	}
	return g.triangle.near.each(g.c.Metric)
}

// locate replaces the number of a query in an error by that of its row.
func locate(err error, first int64) error {
	var e *batch.RequestError
	if !errors.As(err, &e) || e.Query < 0 {
		return err
	}
	return fmt.Errorf("row %d (0-based): %w", first+int64(e.Query), e.Err)
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
	// VectorsChange is the largest amount by which a coordinate of the atoms was changed when it was
	// rounded to float32; 0: none was.
	VectorsChange float64 `json:"vectors_change,omitempty"`
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
		c.VectorsChange = max(c.VectorsChange, a.VectorsChange)
		if a.Guarantee == batch.GuaranteeProbabilistic {
			c.WrongAllowed += a.Delta
			c.Delta = max(c.Delta, a.Delta)
		}
	}
}

// blockRows is the most rows that are searched together.
const blockRows = 1024

// Each searches all atoms and calls do with each row of the graph, in ascending order. A result is
// valid during the call. progress, if not nil, is called after each block. All rows are in
// memory, 12 bytes for each of their neighbours, or, if they are searched one by one, one block.
func (g *Graph) Each(ctx context.Context, progress func(done, total int64), do func(r *dataset.Result) error) (GraphCertificate, error) {
	cert := GraphCertificate{K: g.K()}
	n := int64(g.c.N)
	for first := int64(0); first < n; first += blockRows {
		b, err := g.Search(ctx, first, int(min(blockRows, n-first)))
		if err != nil {
			return cert, err
		}
		cert.Add(b.Response)
		if g.triangle == nil {
			for i := range b.Results {
				if err := do(&b.Results[i]); err != nil {
					return cert, err
				}
			}
		}
		if progress != nil {
			progress(g.done, n)
		}
	}
	if g.triangle == nil {
		return cert, nil
	}
	return cert, g.Rows(nil)(func(_ int64, r *dataset.Result) error { return do(r) })
}

package thresher

import (
	"context"
	"errors"
	"math"

	"thresher/backend"
	"thresher/batch"
	"thresher/cpu"
	"thresher/tasks"
)

// What searches take and return is described in package batch.
type (
	// Request is a batch of queries with what they ask for: K vectors each, or those that reach MinScore.
	Request = batch.Request
	// QueryGoal is what one query asks for beside its Request.
	QueryGoal = batch.QueryGoal
	// Certificate says what is guaranteed of an Answer, on what grounds, and the work done for it.
	Certificate = batch.Certificate
	// Guarantee is the kind of what is guaranteed.
	Guarantee = batch.Guarantee
	// Method is how to search.
	Method = batch.Method
	// Published are options of the published methods: Published{Sigma: Sigma{Given: 1}}.
	Published = batch.Published
	// Sigma is what the radii of published methods rest on.
	Sigma = batch.Sigma
)

// Methods. Those of the papers are in package batch.
const (
	Auto     = batch.Auto     // whatever is fastest, wrong with probability Delta at most
	Exact    = batch.Exact    // reads all vectors
	Certain  = batch.Certain  // never wrong, by bounds that cannot fail
	Adaptive = batch.Adaptive // wrong with probability Delta at most
)

// Search answers req. If its context or Deadline ends first, it returns the best so far with the error, and
// certificates with a bound on what is missing. With ExcludeSelf it checks that the queries are the
// vectors they stand for. Errors in the request are of type *batch.RequestError or *tasks.SelfError.
func (x *Index) Search(ctx context.Context, req Request) (*Response, error) {
	c, leave := x.life.enter()
	defer leave()
	if c != nil {
		return c.search(ctx, req)
	}
	req, err := x.place(req)
	if err != nil {
		return nil, err
	}
	found, err := x.runs.Search(ctx, req)
	return x.respond(found), err
}

// place brings queries into the form of the vectors, and checks which vectors they are.
func (x *Index) place(req Request) (Request, error) {
	req.SearchScores = true
	req, err := req.Placed(x.atoms)
	if err == nil {
		err = x.toRows(&req)
	}
	if err != nil || !req.ExcludeSelf {
		return req, err
	}
	if req.Selves == nil && x.numbers == nil {
		return req, x.checkSelves(&req, 0, len(req.Queries), req.SelfFirst, 0)
	}
	for j, row := range req.Selves {
		if at := j * x.Dim(); at < len(req.Queries) {
			if err := x.checkSelves(&req, at, at+x.Dim(), row, int64(j)); err != nil {
				var self *tasks.SelfError
				if errors.As(err, &self) && x.numbers != nil {
					self.Vector, self.Vectors = x.numbers[row], math.MaxInt
				}
				return req, err
			}
		}
	}
	return req, nil
}

// checkSelves checks that the queries at values from to to-1, of number j on, are the vectors from row on.
func (x *Index) checkSelves(req *Request, from, to int, row, j int64) error {
	if x.atoms.Float64() {
		return tasks.CheckGivenSelves(req.Queries64[from:to], x.atoms, row, j)
	}
	return tasks.CheckStoredSelves(req.Queries[from:to], x.atoms, row, j)
}

// KNN returns the k best vectors of each query, of vectors that are searched only this once: they are
// prepared only if that pays. Queries and vectors are rows of dim values.
func KNN[F Float](ctx context.Context, queries, vectors []F, dim, k int, metric Metric) (*Response, error) {
	req := Request{K: k}
	switch q := any(queries).(type) {
	case []float32:
		req.Queries = q
	case []float64:
		req.Queries64 = q
	}
	scanned := false
	if dim > 0 {
		b := cpu.New(cpu.Options{})
		costs := backend.Describe(b).Costs
		if err := b.Close(); err != nil {
			return nil, err
		}
		scanned = !req.BuildingPays(len(vectors)/dim, dim, metric, int64(len(queries)/dim), &costs)
	}
	x, err := build(ctx, vectors, dim, Options{Metric: metric}, scanned)
	if err != nil {
		return nil, err
	}
	resp, err := x.Search(ctx, req)
	return resp, errors.Join(err, x.Close())
}

// Promise words what an answer of k vectors promises.
func Promise(c *Certificate, k int) string { return tasks.Promise(c, k) }

// Truth answers req so that no answer can be wrong: by method Certain unless it names Exact. It is
// tasks.ErrUnfinished if the time does not suffice for all.
func (x *Index) Truth(ctx context.Context, req Request) (resp *Response, err error) {
	if err := tasks.ForTruth(&req); err != nil {
		return nil, err
	}
	c, leave := x.life.enter()
	defer leave()
	if c != nil {
		return c.truth(ctx, req)
	}
	if req, err = x.place(req); err != nil {
		return nil, err
	}
	one := func(yield func(*Request, error) bool) { yield(&req, nil) }
	_, err = tasks.Truth(ctx, x.runs, one, func(_ *Request, found *batch.Response) error {
		resp = x.respond(found)
		return nil
	})
	return resp, err
}

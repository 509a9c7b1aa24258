package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"

	"thresher/batch"
)

// drawnQueries are the queries of a file with an answer each, of which a sample is drawn, and what
// each asks for.
type drawnQueries struct {
	*app
	source         *queryChunks
	doing          string // of the progress
	answers, atoms input
	total          int64         // answers
	sample         int64         // queries drawn; 0 is all
	goals          *queryGoals   // nil if all queries ask for the same
	filters        *queryFilters // nil without a filter for each query
	// selves checks that queries, numbered from first, are the atoms of these numbers; nil if they need not be.
	selves func(rows *queryRows, first int64) error
}

// drawnChunk is consecutive queries, numbered from first, n of which have answers.
type drawnChunk struct {
	queryRows
	first  int64
	n      int
	goals  []batch.QueryGoal // nil if all queries ask for the same
	dim    int
	selves bool // query j is atom j
	isIn   func(query int64) bool
}

// eachDrawn streams what part makes of the queries of each chunk: nil if none is drawn. part takes the
// answers to all, in order, and asks of each in turn whether it is drawn.
func eachDrawn[P any](ctx context.Context, d *drawnQueries, part func(*drawnChunk) (*P, error)) iter.Seq2[*P, error] {
	return func(yield func(*P, error) bool) {
		isIn := drawSample(d.total, d.sample, d.Config.Seed)
		p := d.NewProgress(d.doing)
		defer p.Done()
		var first int64
		for {
			rows, n, err := d.source.Next(ctx)
			if err == io.EOF {
				break
			}
			var c *drawnChunk
			if err == nil {
				c, err = d.chunk(rows, first, n)
			}
			var made *P
			if c != nil {
				c.isIn = isIn
				made, err = part(c)
			}
			if made != nil || err != nil {
				if !yield(made, err) {
					return
				}
			}
			first += int64(n)
			p.Set(min(first, d.total), d.total)
		}
		if first != d.total {
			yield(nil, fmt.Errorf("%s has %d answers for the %d queries of %s", d.answers.name, d.total, first, d.source.in.name))
		}
	}
}

// chunk returns n queries, numbered from first, with what they ask for; nil if there are no answers to
// them, which is reported once all are counted.
func (d *drawnQueries) chunk(rows queryRows, first int64, n int) (*drawnChunk, error) {
	dim := d.source.r.Dim()
	if d.selves != nil {
		if err := selvesError(d.selves(&rows, first), d.source.in, d.atoms); err != nil {
			return nil, err
		}
	}
	c := &drawnChunk{queryRows: rows, first: first, n: int(min(int64(n), d.total-first)), dim: dim, selves: d.selves != nil}
	if c.n <= 0 {
		return nil, nil
	}
	if d.goals != nil {
		var err error
		if c.goals, err = d.goals.read(first, c.n); err != nil {
			return nil, err
		}
	}
	if d.filters != nil {
		if c.goals == nil {
			c.goals = make([]batch.QueryGoal, c.n)
		}
		if err := d.filters.set(c.goals, first); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// drawn reports whether query j of the chunk is drawn. It is asked once for each, in ascending order.
func (c *drawnChunk) drawn(j int) bool { return c.isIn(c.first + int64(j)) }

// add adds query j to a request, which keeps queries in the memory of the chunk unless it takes them as they
// were given. It returns what rounding changed of the query.
func (c *drawnChunk) add(req *batch.Request, j int) (change float64) {
	row := c.values[j*c.dim : (j+1)*c.dim]
	if c.given != nil {
		req.Queries64 = append(req.Queries64, c.given[j*c.dim:(j+1)*c.dim]...)
	} else if c.rests != nil {
		for i, x := range row {
			req.Queries64 = append(req.Queries64, float64(x)+float64(c.rests[j*c.dim+i]))
		}
	} else {
		if req.Queries == nil {
			req.Queries = c.values[:0]
		}
		req.Queries = append(req.Queries, row...) // those drawn move to the front
	}
	if c.changes != nil {
		change = c.changes[j]
		req.Changes = append(req.Changes, change)
	}
	if c.goals != nil {
		req.Goals = append(req.Goals, c.goals[j])
	}
	if c.selves {
		req.Selves = append(req.Selves, c.first+int64(j))
	}
	return change
}

// drawSample selects count of total numbers, each set of that size with the same probability.
// The result reports for ascending numbers whether they are selected. It needs no memory:
// selection sampling (Knuth, TAOCP 3.4.2, algorithm S).
func drawSample(total, count int64, seed uint64) func(int64) bool {
	if count == 0 || count >= total {
		return func(int64) bool { return true }
	}
	r := rand.New(rand.NewPCG(seed, 0x73616d706c65))
	return func(j int64) bool {
		if r.Int64N(total-j) >= count {
			return false
		}
		count--
		return true
	}
}

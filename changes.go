package thresher

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"thresher/batch"
	"thresher/segments"
	"thresher/tasks"
)

// changes are the vectors of an Index that was changed, as segments, by row number.
type changes struct {
	index *Index
	set   *segments.Set
	table *segments.Table // ids and row numbers

	writing sync.Mutex // held by whoever writes
	upkeep  context.Context
	stop    context.CancelFunc // of upkeep
	tending sync.WaitGroup     // goroutines that do it

	mu     sync.Mutex
	failed error // of upkeep, and of what was closed

	building sync.Mutex // held while a block is made
	made     *standing  // nil: none
}

// close ends upkeep and lets go of the vectors. Nobody uses them any more.
func (c *changes) close() error {
	c.stop()
	c.tending.Wait()
	c.note(c.replace(nil))
	c.note(c.set.Close())
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// note keeps an error for Close.
func (c *changes) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = errors.Join(c.failed, err)
}

// tend seals and merges aside what is due; writing is held.
func (c *changes) tend() {
	if !c.set.Due() {
		return
	}
	c.tending.Go(func() {
		if err := c.set.Maintain(c.upkeep); err != nil && c.upkeep.Err() == nil {
			c.note(err)
		}
	})
}

// len is the number of vectors.
func (c *changes) len() int {
	s := c.set.Snapshot()
	defer s.Release()
	return s.Len()
}

// numbers are the row numbers, ascending; nil if there are no gaps.
func (c *changes) numbers(r *segments.Reading) []int64 {
	numbers := r.IDs()
	if n := len(numbers); n == 0 || numbers[n-1] == int64(n-1) {
		return nil
	}
	return numbers
}

// idsOf are the ids of n rows of these numbers; nil if they are the row numbers.
func (c *changes) idsOf(numbers []int64, n int) *IDs {
	if numbers == nil {
		if c.index.ids == nil {
			return nil
		}
		numbers = make([]int64, n)
		for i := range numbers {
			numbers[i] = int64(i)
		}
	}
	return c.table.IDs(numbers)
}

// ids are those of all vectors.
func (c *changes) ids() *IDs {
	s := c.set.Snapshot()
	defer s.Release()
	numbers := s.IDs()
	if n := len(numbers); n == 0 || numbers[n-1] == int64(n-1) {
		numbers = nil
	}
	return c.idsOf(numbers, s.Len())
}

// rows returns the row numbers of ids; one that no vector has is an error.
func (c *changes) rows(ids *IDs) ([]int64, error) {
	rows := c.table.Find(ids)
	s := c.set.Snapshot()
	defer s.Release()
	for i, row := range rows {
		if row < 0 || !s.Has(row) {
			return nil, fmt.Errorf("no vector has the id %.60q", ids.Text(int64(i)))
		}
	}
	return rows, nil
}

// search answers a request by what is there now.
func (c *changes) search(ctx context.Context, req Request) (*Response, error) {
	s := c.set.Snapshot()
	defer s.Release()
	req, err := c.place(s, req)
	if err != nil {
		return nil, err
	}
	found, err := s.Search(ctx, req)
	return c.respond(found), err
}

// truth is search that cannot be wrong.
func (c *changes) truth(ctx context.Context, req Request) (resp *Response, err error) {
	s := c.set.Snapshot()
	defer s.Release()
	if req, err = c.place(s, req); err != nil {
		return nil, err
	}
	one := func(yield func(*Request, error) bool) { yield(&req, nil) }
	_, err = tasks.Truth(ctx, s, one, func(_ *Request, found *batch.Response) error {
		resp = c.respond(found)
		return nil
	})
	return resp, err
}

// place brings queries into the form of the vectors, and checks which vectors they are.
func (c *changes) place(s *segments.Snapshot, req Request) (Request, error) {
	dim := s.Dim()
	req.SearchScores = true
	req, err := s.Placed(req)
	if err != nil || !req.ExcludeSelf {
		return req, err
	}
	for j := range len(req.Queries) / dim {
		self := req.SelfFirst + int64(j)
		if req.Selves != nil && j < len(req.Selves) {
			self = req.Selves[j]
		}
		if !s.Has(self) {
			return req, noSelf(j, self)
		}
		same := false
		if req.Queries64 != nil {
			same = slices.Equal(s.Given(self), req.Queries64[j*dim:(j+1)*dim])
		} else {
			same = slices.Equal(s.Vector(self), req.Queries[j*dim:(j+1)*dim])
		}
		if !same {
			return req, &tasks.SelfError{Query: int64(j), Vector: self, Vectors: math.MaxInt}
		}
	}
	return req, nil
}

// noSelf is the error of a query that stands for a vector that is not there.
func noSelf(query int, row int64) error {
	return &batch.RequestError{Field: "exclude_self", Query: query, Err: fmt.Errorf("there is no vector %d", row)}
}

// respond returns what a search found, with ids; nil for nil.
func (c *changes) respond(found *batch.Response) *Response {
	if found == nil {
		return nil
	}
	r := &Response{Answers: make([]Answer, len(found.Answers)), Warnings: found.Warnings, Took: found.Took, Stats: found.Stats, named: true}
	for j := range found.Answers {
		r.Answers[j] = c.index.answer(&found.Answers[j])
		r.Answers[j].identify(c.table.IDs(r.Answers[j].Rows), func(i int) int64 { return int64(i) })
	}
	return r
}

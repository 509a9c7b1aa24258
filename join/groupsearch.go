package join

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"thresher/batch"
)

// searchAll searches several groups at a time.
func (w *matching) searchAll(ctx context.Context, shares []share) error {
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(max(1, w.o.Threads))
	for _, s := range shares {
		workers.Go(func() error { return w.search(ctx, s) })
	}
	return workers.Wait()
}

// search answers the rows of a share by the engine of their group, as many at a time as answers of any length take 256 MiB.
func (w *matching) search(ctx context.Context, s share) error {
	e, err := w.engineOf(ctx, s.group)
	if err != nil {
		return err
	}
	size, dim := w.size(s.group), w.c.Dim
	req := w.o.Request
	longest := size
	if req.K > 0 {
		req.K = min(req.K, size)
		longest = req.K
	}
	step := max(1, min(queryBytes/(4*dim), answerBytes/(pairBytes*longest)))
	to := &found{}
	for lo := s.lo; lo < s.hi; lo += step {
		part := share{s.group, lo, min(lo+step, s.hi)}
		w.ask(&req, part)
		resp, err := e.Search(ctx, req)
		if err != nil {
			return w.located(err, part)
		}
		w.add(part, resp)
		for i := range resp.Answers {
			a, at := &resp.Answers[i], len(to.rows)
			for _, id := range a.IDs {
				to.rows = append(to.rows, w.number(w.starts[max(s.group, 0)]+int(id)))
			}
			to.scores = append(to.scores, a.SearchScores...)
			w.spans[w.order[lo+i]] = extent{to, at, len(to.rows)}
		}
	}
	return nil
}

// add counts the answers to a part of a share.
func (w *matching) add(part share, resp *batch.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.Work.Pulls += resp.Stats.Pulls
	w.out.Work.Bytes += resp.Stats.Bytes
	w.out.Work.RowsScored += resp.Stats.RowsScored
	w.count(part, resp.Answers)
}

// ask sets the queries of a request.
func (w *matching) ask(req *batch.Request, s share) {
	dim := w.c.Dim
	order := w.order[s.lo:s.hi]
	first, last := int(order[0]), int(order[len(order)-1])
	if last-first+1 == len(order) { // they lie together, since a group has them in order
		req.Queries = w.left.Queries[first*dim : (last+1)*dim]
		if w.left.Changes != nil {
			req.Changes = w.left.Changes[first : last+1]
		}
		return
	}
	req.Queries, req.Changes = make([]float32, 0, len(order)*dim), nil
	for _, j := range order {
		req.Queries = append(req.Queries, w.left.Queries[int(j)*dim:][:dim]...)
		if w.left.Changes != nil {
			req.Changes = append(req.Changes, w.left.Changes[j])
		}
	}
}

// located names the row of the left table that an error is about.
func (w *matching) located(err error, s share) error {
	var invalid *batch.RequestError
	if errors.As(err, &invalid) && invalid.Query >= 0 {
		return &RowError{Row: w.left.First + int64(w.order[s.lo+invalid.Query]), Err: invalid.Err}
	}
	return err
}

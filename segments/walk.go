package segments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"thresher/batch"
)

const (
	// fewQueries is the greatest number of queries that search small segments side by side: more keep all
	// threads busy in one segment.
	fewQueries = 4
	// smallPart is the part of all vectors that a small segment has at most: what looking at it from an older floor
	// costs more is little of the whole.
	smallPart = 8
	// shortValues is the number of values of a segment from which it is searched beside others: fewer take less time than it
	// takes to wake a thread, some 50 us, during which the helpers of the large segments end.
	shortValues = 1 << 20
)

// Search answers a request whose row numbers are ids: in Filter, Exclude, Selves, goals and answers. It walks from
// large segments to small ones, each from the k-th best score found so far, and the answers are those
// of one collection of the same vectors in the order of their ids: of methods exact, and certain with epsilon = 0, bit for bit. Ids
// that are not there are ignored, but for those of queries that must not find themselves.
//
// Certificates add up the work, and have the plan "merged". If ctx or the deadline ends the search, it returns the best so far with
// the error, as batch.Engine.Search does. Errors in the request are *batch.RequestError.
func (s *Snapshot) Search(ctx context.Context, req batch.Request) (*batch.Response, error) {
	return s.search(ctx, req, nil)
}

// search is Search of the vectors of a selection, nil being all.
func (s *Snapshot) search(ctx context.Context, req batch.Request, among *Selection) (*batch.Response, error) {
	began := time.Now()
	ctx, cancel := within(ctx, &req)
	defer cancel()
	all, warnings, err := s.questions(req)
	if err != nil {
		return nil, err
	}
	views, end, err := s.searched(among)
	if err != nil {
		return nil, err
	}
	defer end()
	m := 0
	for _, q := range all {
		m += q.m
	}
	resp := &batch.Response{Answers: make([]batch.Answer, m), Warnings: warnings}
	for _, q := range all {
		w := &walk{question: q, among: among, views: views, found: make([]finding, q.m)}
		if err := w.run(ctx); err != nil {
			return nil, q.renumber(err)
		}
		for i := range w.found {
			j := i
			if q.numbers != nil {
				j = q.numbers[i]
			}
			resp.Answers[j] = w.answer(i)
			if !req.SearchScores {
				resp.Answers[j].SearchScores = nil
			}
		}
		for _, text := range w.warnings {
			if !slices.Contains(resp.Warnings, text) {
				resp.Warnings = append(resp.Warnings, text)
			}
		}
	}
	for j := range resp.Answers {
		resp.Stats.Count(&resp.Answers[j].Certificate)
	}
	resp.Took = time.Since(began)
	if !resp.Complete() {
		return resp, ended(resp)
	}
	return resp, nil
}

// ended is the error of an incomplete response.
func ended(resp *batch.Response) error {
	for i := range resp.Answers {
		if resp.Answers[i].Certificate.StoppedBy == batch.Deadline {
			return context.DeadlineExceeded
		}
	}
	return context.Canceled
}

// searched returns the views of a search in the order of the walk, at least one, and what ends their use.
func (s *Snapshot) searched(among *Selection) (views []*view, end func(), err error) {
	end = func() {}
	if among != nil {
		views = among.views
	} else {
		for i := range s.views {
			if s.views[i].left() > 0 {
				views = append(views, &s.views[i])
			}
		}
		last, err := s.tailView()
		if err != nil {
			return nil, nil, err
		}
		if last != nil {
			views = append(views, last)
		}
	}
	if len(views) == 0 {
		none, err := s.set.nothing()
		if err != nil {
			return nil, nil, err
		}
		return []*view{none}, func() { none.Close() }, nil
	}
	return views, end, nil
}

// walk is the search of one question, segment by segment.
type walk struct {
	*question
	among    *Selection // that answers are from; nil: all
	views    []*view
	found    []finding // of each query
	seen     int       // vectors that the first query may have, of the segments that are joined
	warnings []string
}

// run visits all segments.
func (w *walk) run(ctx context.Context) error {
	w.parts = len(w.views)
	first, short := len(w.views), len(w.views) // the small segments from first to short-1 are searched side by side
	if w.m <= fewQueries {
		for short > 1 && w.views[short-1].left()*w.s.set.dim < w.s.set.short {
			short--
		}
		first = short
		for first > 1 && w.views[first-1].left()*smallPart < w.s.live {
			first--
		}
	}
	if short-first == 1 {
		first = short
	}
	if err := w.inTurn(ctx, w.views[:first]); err != nil {
		return err
	}
	if err := w.sideBySide(ctx, w.views[first:short]); err != nil {
		return err
	}
	return w.inTurn(ctx, w.views[short:])
}

// inTurn visits segments one after another.
func (w *walk) inTurn(ctx context.Context, views []*view) error {
	for _, v := range views {
		resp, err := w.visit(ctx, v)
		if err != nil {
			return err
		}
		w.join(v, resp)
	}
	return nil
}

// sideBySide visits segments from the floors found before all of them.
func (w *walk) sideBySide(ctx context.Context, views []*view) error {
	responses := make([]*batch.Response, len(views))
	var group errgroup.Group
	for i, v := range views {
		group.Go(func() (err error) {
			responses[i], err = w.visit(ctx, v)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, v := range views {
		w.join(v, responses[i])
	}
	return nil
}

// visit searches one segment from the floors found so far. What a search that ctx has ended returns is no error.
func (w *walk) visit(ctx context.Context, v *view) (*batch.Response, error) {
	part := batch.Within{Live: v.live}
	if w.floors {
		part.Floors, part.Before = make([]float64, w.m), w.seen
		for j := range part.Floors {
			part.Floors[j] = w.found[j].floor(w.k)
		}
	}
	resp, err := v.engine.SearchWithin(ctx, w.about(v), part)
	if resp != nil {
		return resp, nil
	}
	var request *batch.RequestError
	if err != nil && !errors.As(err, &request) {
		err = fmt.Errorf("segment of %d vectors: %w", v.c.N, err)
	}
	return nil, err
}

// join takes in what one segment answered.
func (w *walk) join(v *view, resp *batch.Response) {
	if len(resp.Answers) > 0 { // of whose vectors the floors are the k-th best
		w.seen += int(resp.Answers[0].Certificate.DensePulls) / w.s.set.dim
	}
	for j := range resp.Answers {
		w.found[j].add(w.question, v, &resp.Answers[j])
	}
	for _, text := range resp.Warnings {
		if !slices.Contains(w.warnings, text) {
			w.warnings = append(w.warnings, text)
		}
	}
}

// floor is the k-th best score found; -Inf if there are not so many.
func (f *finding) floor(k int) float64 {
	if k < 1 || len(f.scores) < k {
		return math.Inf(-1)
	}
	return f.scores[k-1]
}

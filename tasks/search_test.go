package tasks

import (
	"context"
	"errors"
	"testing"
	"time"

	"thresher/batch"
)

// searched answers every request with the same response and error.
type searched struct {
	resp *batch.Response
	err  error
}

func (s searched) Search(_ context.Context, req batch.Request) (*batch.Response, error) {
	if s.resp != nil {
		s.resp.Answers[0].Certificate.Method = req.Method
	}
	return s.resp, s.err
}

// asked is a stream of requests.
func asked(all ...batch.Request) func(yield func(*batch.Request, error) bool) {
	return func(yield func(*batch.Request, error) bool) {
		for i := range all {
			if !yield(&all[i], nil) {
				return
			}
		}
	}
}

// stoppedAt is a response of one answer of 100 coordinates, of which 50 were read.
func stoppedAt(by batch.Stop) *batch.Response {
	c := batch.Certificate{Guarantee: batch.GuaranteeExact, StoppedBy: by, Pulls: 50, DensePulls: 100}
	r := &batch.Response{Answers: []batch.Answer{{Certificate: c}}, Stats: batch.Stats{Pulls: 50, DensePulls: 100}, Took: time.Second, Warnings: []string{"once"}}
	if by != batch.Done {
		r.Stats.Unfinished = 1
	}
	return r
}

// TestSearchSummary: a stream is counted, warnings once, and what a stopped search left unread is no saving.
func TestSearchSummary(t *testing.T) {
	seen := 0
	visit := func(*batch.Request, *batch.Response) error { seen++; return nil }
	s, err := Search(t.Context(), searched{resp: stoppedAt(batch.Done)}, asked(batch.Request{K: 1, Method: batch.Exact}, batch.Request{K: 1, Method: batch.Exact}), visit)
	if err != nil || seen != 2 || s.Queries != 2 || s.Saving != 2 || s.QueriesPerSecond != 1 || s.Method != "exact" || s.Promise != "exact: none wrong" || len(s.Warnings) != 1 {
		t.Errorf("%+v, %d, %v", s, seen, err)
	}
	s, err = Search(t.Context(), searched{stoppedAt(batch.Deadline), context.DeadlineExceeded}, asked(batch.Request{}, batch.Request{}), visit)
	if err != nil || seen != 4 || s.Complete != s.Queries-2 || s.Saving != 1 || s.QueriesPerSecond != 0 {
		t.Errorf("%+v, %d, %v", s, seen, err)
	}
	broken := errors.New("broken")
	if _, err = Search(t.Context(), searched{err: broken}, asked(batch.Request{}), visit); err != broken || seen != 4 {
		t.Error(seen, err)
	}
	if _, err = Search(t.Context(), searched{resp: stoppedAt(batch.Done)}, asked(batch.Request{}), func(*batch.Request, *batch.Response) error { return broken }); err != broken {
		t.Error(err)
	}
}

// TestTruth: ground truth is searched by a method that cannot be wrong, without a gap, and to the end.
func TestTruth(t *testing.T) {
	for _, x := range []struct {
		req   batch.Request
		resp  *batch.Response
		field string
		want  batch.Method
		err   error
	}{
		{batch.Request{}, stoppedAt(batch.Done), "", batch.Certain, nil},
		{batch.Request{Method: batch.Auto}, stoppedAt(batch.Done), "method", "", nil},
		{batch.Request{Method: batch.Exact}, stoppedAt(batch.Done), "", batch.Exact, nil},
		{batch.Request{Method: batch.Adaptive}, stoppedAt(batch.Done), "method", "", nil},
		{batch.Request{Epsilon: .5}, stoppedAt(batch.Done), "epsilon", "", nil},
		{batch.Request{}, stoppedAt(batch.Deadline), "", "", ErrUnfinished},
	} {
		got := batch.Method("")
		_, err := Truth(t.Context(), searched{resp: x.resp}, asked(x.req), func(_ *batch.Request, r *batch.Response) error {
			got = r.Answers[0].Certificate.Method
			return nil
		})
		var wrong *batch.RequestError
		if errors.As(err, &wrong) != (x.field != "") || wrong != nil && wrong.Field != x.field || x.err != nil && err != x.err || got != x.want {
			t.Errorf("%+v: by %q, %v", x.req, got, err)
		}
	}
}

package tasks

import (
	"context"
	"fmt"
	"iter"

	"thresher/batch"
)

// ForTruth makes a request ask for ground truth, which no answer of may be wrong: by method certain unless it names
// that or exact, and without a gap. Errors are *batch.RequestError.
func ForTruth(req *batch.Request) error {
	switch req.Method {
	case "":
		req.Method = batch.Certain
	case batch.Certain, batch.Exact:
	default:
		return &batch.RequestError{Field: "method", Query: -1, Err: fmt.Errorf("%s can be wrong; certain and exact cannot", req.Method)}
	}
	if req.Epsilon != 0 {
		return &batch.RequestError{Field: "epsilon", Query: -1, Err: fmt.Errorf("%g permits wrong answers; ground truth needs 0", req.Epsilon)}
	}
	return nil
}

// Truth answers the queries of a stream of requests so that no answer can be wrong, as Search does. It is
// ErrUnfinished if the search of one was stopped.
func Truth(ctx context.Context, s Searcher, requests iter.Seq2[*batch.Request, error], visit func(*batch.Request, *batch.Response) error) (*SearchSummary, error) {
	sure := func(yield func(*batch.Request, error) bool) {
		for req, err := range requests {
			if err == nil {
				err = ForTruth(req)
			}
			if !yield(req, err) {
				return
			}
		}
	}
	return Search(ctx, s, sure, func(req *batch.Request, resp *batch.Response) error {
		if !resp.Complete() {
			return ErrUnfinished
		}
		return visit(req, resp)
	})
}

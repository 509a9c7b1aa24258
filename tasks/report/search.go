package report

import (
	"context"
	"errors"
	"slices"

	"thresher/batch"
	"thresher/tasks"
)

const (
	maxPart      = 128 // queries that are searched at once
	maxDenseRuns = 4   // parts that are also answered by a dense scan, for its time
)

// Search finds the best atoms of all queries, and times that beside a dense scan of some of them, turn by turn. observe is
// told how many queries are done. The backend, its threads and the time of the build are left to the caller. A
// *batch.RequestError names a query by its number in the sample. It is [tasks.ErrUnfinished] if a search was stopped.
func (s *Sample) Search(ctx context.Context, e tasks.Searcher, observe func(done int)) (*Search, error) {
	m := len(s.Numbers)
	found := &Search{Method: s.Request.Method, Part: min(maxPart, m), Read: 1}
	var counts tasks.SearchCounts
	var own, dense []float64         // seconds a part
	var ownBytes, denseBytes float64 // read in these parts
	s.found = make([]batch.Answer, 0, m)
	allowed := make([]int, 0, m) // vectors
	for lo := 0; lo < m; lo += maxPart {
		hi := min(lo+maxPart, m)
		req, err := s.part(lo, hi)
		if err != nil {
			return nil, err
		}
		resp, err := e.Search(ctx, req)
		if err != nil {
			return nil, ofSample(err, lo)
		}
		counts.Add(resp)
		s.found = append(s.found, resp.Answers...)
		for j := range hi - lo {
			allowed = append(allowed, s.allowed(&req, j))
		}
		if hi-lo == found.Part && len(own) < maxDenseRuns { // others would be timed in parts of another size
			own, ownBytes = append(own, resp.Took.Seconds()), ownBytes+float64(resp.Stats.Bytes)
			if req.Method != batch.Exact {
				req.Method = batch.Exact
				scan, err := e.Search(ctx, req)
				if err != nil {
					return nil, ofSample(err, lo)
				}
				dense, denseBytes = append(dense, scan.Took.Seconds()), denseBytes+float64(scan.Stats.Bytes)
			}
		}
		observe(hi)
	}
	found.Promise, found.Guarantees = counts.Summary(tasks.Answers).Promise, counts.Guarantees
	if denseBytes > 0 {
		found.Read = ownBytes / denseBytes
	}
	found.Seconds = median(own) / float64(found.Part)
	if dense != nil {
		found.DenseSeconds = median(dense) / float64(found.Part)
	}
	certificates := make([]batch.Certificate, m)
	for j := range certificates {
		certificates[j] = *s.certificate(j)
		if certificates[j].StoppedBy != batch.Done {
			return nil, tasks.ErrUnfinished
		}
		found.Plan = certificates[j].Plan
	}
	answered := make([]int, m)
	for j := range s.found {
		answered[j] = len(s.found[j].IDs)
	}
	found.Funnel = funnelOf(certificates, spread(allowed), s.Atoms.Dim, spread(answered))
	if !found.looked() { // it is itself a dense scan, and differs from another by chance only
		found.Read, found.DenseSeconds = 1, 0
	}
	return found, nil
}

// ofSample makes an error about a query of the part that begins with query lo one about the sample.
func ofSample(err error, lo int) error {
	var e *batch.RequestError
	if !errors.As(err, &e) || e.Query < 0 {
		return err
	}
	return &batch.RequestError{Field: e.Field, Query: lo + e.Query, Err: e.Err}
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

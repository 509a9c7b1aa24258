package thresher

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"thresher/batch"
	"thresher/dataset"
	"thresher/tasks"
)

type (
	// Coverage says what answers are for: a digest of the queries, their number, metric, k and limits, and the vectors.
	// Files of answers of the command, the service and Python state the same.
	Coverage = tasks.Coverage
	// MergeOptions are what a merge asks for beside the answers.
	MergeOptions = tasks.MergeOptions
)

// Covers says what the answers to req are for. Put into Response.Covers it lets Merge tell answers that belong
// together: it costs a hash of the queries, and the first time one of a sample of the vectors. Exclusions of single
// queries are not part of it, since they name vectors of this Index alone.
func (x *Index) Covers(req Request) (*Coverage, error) {
	x, leave, err := x.now(context.Background(), false)
	if err != nil {
		return nil, err
	}
	defer leave()
	if x.numbers != nil {
		if err := x.toRows(&req); err != nil {
			return nil, err
		}
	}
	sum := tasks.NewQueryDigest(x.Dim())
	values := max(len(req.Queries), len(req.Queries64))
	if values == 0 || values%x.Dim() != 0 {
		return nil, fmt.Errorf("%d values of queries; vectors have %d", values, x.Dim())
	}
	sum.Add(req.Queries, nil)
	sum.AddGiven(req.Queries64)
	shard := x.shard()
	if req.Filter != nil || req.Exclude != nil {
		for _, rows := range [][]int64{req.Filter, req.Exclude} {
			for _, row := range rows {
				if row < 0 || row >= int64(x.Len()) {
					return nil, fmt.Errorf("row %d of filter or exclude is not in 0..%d", row, x.Len()-1)
				}
			}
		}
		shard = shard.Part(req.Filter, req.Exclude)
	}
	c := &Coverage{
		Queries: sum.String(), Count: sum.Count(), Metric: x.Metric().String(), K: req.K,
		Reaching: req.MinScore != nil, Method: cmp.Or(req.Method, batch.Auto), Shards: []tasks.Shard{shard},
	}
	var own []byte
	for j := range req.Goals {
		g := &req.Goals[j]
		if g.Filter != nil {
			return nil, fmt.Errorf("goals: query %d has a filter of its own: its answer covers other vectors than those of others", j)
		}
		k := cmp.Or(g.K, req.K)
		if j == 0 {
			c.K = k
		}
		c.OwnK = c.OwnK || k != c.K
		c.K = max(c.K, k)
		c.Reaching = c.Reaching || g.MinScore != nil
		if g.MinScore != nil || g.MaxScore != nil {
			own = append(tasks.LimitsText(own, j, g.MinScore, g.MaxScore), '\n')
		}
	}
	if req.MinScore == nil && req.MaxScore == nil && own == nil {
		return c, nil
	}
	c.Limits, err = tasks.LimitsDigest(req.MinScore, req.MaxScore, "", "", string(own), "", "")
	return c, err
}

// Merge merges responses to the same queries over disjoint sets of vectors, as tasks.Merge does: of each query the k
// best of all, with the worst guarantee. Each has Covers, unless o.Unchecked; vectors without ids need o.Offsets, and
// answers then have row numbers among all. Responses to other queries, k, metric or limits, and over the
// same vectors, are refused; errors name them "response 0" and so on. nil options are the default.
func Merge(ctx context.Context, responses []*Response, o *MergeOptions) (*Response, error) {
	files := make([]tasks.MergeFile, len(responses))
	for i, r := range responses {
		name := fmt.Sprintf("response %d", i)
		reader := &responseReader{r: r}
		var err error
		if r.Covers != nil {
			if reader.covers, err = json.Marshal(r.Covers); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		files[i] = tasks.MergeFile{Name: name, Results: reader}
	}
	merged := &Response{}
	sum, err := tasks.Merge(ctx, files, o, func(a *dataset.Result) error { return merged.add(a) })
	if err != nil {
		return nil, err
	}
	merged.Covers = sum.Covers
	if err := merged.nameByNumbers(); err != nil {
		return nil, err
	}
	for _, r := range responses {
		merged.Took += r.Took
		merged.Warnings = append(merged.Warnings, r.Warnings...)
	}
	return merged, nil
}

// add adds a merged answer.
func (r *Response) add(a *dataset.Result) error {
	out := Answer{Rows: a.Rows, Scores: a.Scores, Scores64: a.Scores64, Complete: !a.Partial, Guarantee: Guarantee(a.Guarantee)}
	if err := json.Unmarshal(a.Certificate, &out.Certificate); err != nil {
		return fmt.Errorf("certificate of query %d: %w", a.Query, err)
	}
	r.named = r.named || a.IDs != nil
	for _, row := range a.Rows {
		if a.IDs == nil {
			out.IDs = append(out.IDs, uint64(row))
		}
	}
	out.TextIDs = a.IDs
	s, c := &r.Stats, &out.Certificate
	s.Pulls, s.DensePulls, s.Bytes, s.RowsScored = s.Pulls+c.Pulls, s.DensePulls+c.DensePulls, s.Bytes+c.Bytes, s.RowsScored+int64(c.RowsScored)
	s.VectorsChange, s.QueriesChange = max(s.VectorsChange, c.VectorsChange), max(s.QueriesChange, c.QueryChange)
	if c.Exact {
		s.Exact++
	}
	if a.Partial {
		s.Unfinished++
	}
	r.Answers = append(r.Answers, out)
	return nil
}

// nameByNumbers makes texts numbers, if the ids of all answers are whole numbers.
func (r *Response) nameByNumbers() error {
	for i := range r.Answers {
		if !dataset.AreWhole(r.Answers[i].TextIDs) {
			return nil
		}
	}
	for i := range r.Answers {
		a := &r.Answers[i]
		for _, id := range a.TextIDs {
			x, err := strconv.ParseUint(id, 10, 64)
			if err != nil {
				return err
			}
			a.IDs = append(a.IDs, x)
		}
		a.TextIDs = nil
	}
	return nil
}

// responseReader reads the answers of a response as those of a file.
type responseReader struct {
	r      *Response
	covers json.RawMessage
	next   int
}

// Len implements dataset.ResultReader.
func (s *responseReader) Len() int64 { return int64(len(s.r.Answers)) }

// Close implements dataset.ResultReader.
func (s *responseReader) Close() error { return nil }

// Next implements dataset.ResultReader.
func (s *responseReader) Next() (dataset.Result, error) {
	if s.next == len(s.r.Answers) {
		return dataset.Result{}, io.EOF
	}
	a := &s.r.Answers[s.next]
	c := &a.Certificate
	out := dataset.Result{
		Query: int64(s.next), Rows: a.Rows, Scores: a.Scores, Scores64: a.Scores64, Pulls: c.Pulls, Exact: c.Exact,
		Partial: !a.Complete, Guarantee: string(a.Guarantee), Delta: c.Delta, Epsilon: c.Epsilon,
	}
	var err error
	if out.Certificate, err = json.Marshal(c); err != nil {
		return out, err
	}
	if s.next == 0 {
		out.Covers = s.covers
	}
	s.next++
	if !s.r.named {
		return out, nil
	}
	out.IDs = make([]string, 0, len(a.IDs)+len(a.TextIDs))
	for _, id := range a.IDs {
		out.IDs = append(out.IDs, strconv.FormatUint(id, 10))
	}
	out.IDs = append(out.IDs, a.TextIDs...)
	if len(out.IDs) == 0 {
		out.IDs = nil
	}
	return out, nil
}

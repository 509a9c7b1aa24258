package thresher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"thresher/batch"
	"thresher/dataset"
	"thresher/tasks"
	"thresher/verify"
)

// Stated is the answer of another program to one query: row numbers, best first, and perhaps the scores
// that it states for them, on any usual scale.
type Stated struct {
	Rows   []int64
	Scores []float32 // one a row, or nil
}

// Summaries, whose JSON is that of the command line and the HTTP service.
type (
	// Compared is what was found of one answer.
	Compared = tasks.Compared
	// RecallSummary says how good answers are.
	RecallSummary = tasks.RecallSummary
	// CertifySummary says what was found of answers that were proven or corrected.
	CertifySummary = tasks.CertifySummary
	// VerifySummary says which answers break their promise.
	VerifySummary = tasks.VerifySummary
)

// maxCompared is the number of queries that are searched and compared together.
const maxCompared = 1024

// Recall measures the recall of answers of any origin, one a query of req, against the best vectors, which it
// searches as req says, by method Certain unless that names another. visit, if not nil, is told of each answer, in order.
// Without K, that of the longest answer is taken. It is tasks.ErrUnfinished if the time does not suffice.
func (x *Index) Recall(ctx context.Context, req Request, answers []Stated, visit func(*Compared) error) (*RecallSummary, error) {
	if err := tasks.CheckPublished("recall", cmp.Or(req.Method, Certain), &req.Published); err != nil {
		return nil, err
	}
	x, leave, err := x.now(ctx, true)
	if err != nil {
		return nil, err
	}
	defer leave()
	c, parts, err := x.compare(ctx, req, answers, nil)
	if err != nil {
		return nil, err
	}
	return tasks.Recall(ctx, c, parts, x.renumbered(visit))
}

// Certify proves or corrects answers of any origin, one a query of req: their vectors are candidates of a
// search, by method Certain unless req names another, so that good answers are proven with little work. The
// Response has the best vectors with their certificates. What was not proven in time is kept as it was.
// visit is as in Recall.
func (x *Index) Certify(ctx context.Context, req Request, answers []Stated, visit func(*Compared) error) (*Response, *CertifySummary, error) {
	if err := tasks.CheckPublished("certify", cmp.Or(req.Method, Certain), &req.Published); err != nil {
		return nil, nil, err
	}
	x, leave, err := x.now(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	proven := &batch.Response{}
	c, parts, err := x.compare(ctx, req, answers, proven)
	if err != nil {
		return nil, nil, err
	}
	summary, err := tasks.Certify(ctx, c, parts, x.renumbered(visit))
	return x.respond(proven), summary, err
}

// compare returns a comparison of answers with the best vectors, and its stream, which adds what it searched to
// proven unless that is nil.
func (x *Index) compare(ctx context.Context, req Request, answers []Stated, proven *batch.Response) (*tasks.Comparison, tasks.Parts, error) {
	req, err := x.place(req)
	if err != nil {
		return nil, nil, err
	}
	m := len(req.Queries) / x.Dim()
	if len(answers) != m {
		return nil, nil, fmt.Errorf("%d answers to %d queries", len(answers), m)
	}
	if req.Goals != nil && len(req.Goals) != m {
		return nil, nil, &batch.RequestError{Field: "goals", Query: -1, Err: fmt.Errorf("%d for %d queries", len(req.Goals), m)}
	}
	longest := 0
	answers = slices.Clone(answers)
	for j, a := range answers {
		if a.Rows, err = x.rowsOf(j, a.Rows); err != nil {
			return nil, nil, err
		}
		answers[j].Rows = a.Rows
		if a.Scores != nil && len(a.Scores) != len(a.Rows) {
			return nil, nil, fmt.Errorf("answer %d: %d scores of %d rows", j, len(a.Scores), len(a.Rows))
		}
		for at, row := range a.Rows {
			if row < 0 || row >= int64(x.Len()) {
				return nil, nil, fmt.Errorf("answer %d, rank %d: row %d, and the vectors are 0 to %d", j, at+1, row, x.Len()-1)
			}
		}
		longest = max(longest, len(a.Rows))
	}
	if req.K == 0 && req.MinScore == nil {
		req.K = longest
	}
	if req.Method == "" {
		req.Method = Certain
	}
	most := max(1, req.K)
	for _, g := range req.Goals {
		most = max(most, g.K)
	}
	oracle, err := verify.NewLazyOracleOf(x.atoms)
	if err != nil {
		return nil, nil, err
	}
	return tasks.NewComparison(oracle, x.atoms, most), x.parts(ctx, req, answers, proven), nil
}

// parts searches the best vectors of queries, those of their answers first.
func (x *Index) parts(ctx context.Context, all Request, answers []Stated, proven *batch.Response) tasks.Parts {
	published := slices.Contains(batch.PublishedMethods(), all.Method)
	return func(yield func(*tasks.Part, error) bool) {
		for lo := 0; lo < len(answers); lo += maxCompared {
			hi := min(lo+maxCompared, len(answers))
			req := x.between(all, lo, hi)
			stated := make([]dataset.Result, hi-lo)
			for i, a := range answers[lo:hi] {
				stated[i] = dataset.Result{Query: int64(lo + i), Rows: a.Rows, Scores: a.Scores}
				if !published { // which take none
					req.Goals[i].Candidates = a.Rows
				}
			}
			resp, err := x.runs.Search(ctx, req)
			if resp == nil || errors.Is(err, context.Canceled) {
				yield(nil, err)
				return
			}
			if !yield(&tasks.Part{Request: &req, Proven: resp.Answers, Stated: stated, Took: resp.Took}, nil) {
				return
			}
			if proven != nil {
				proven.Answers = append(proven.Answers, resp.Answers...)
				proven.Took += resp.Took
				proven.Stats.Add(&resp.Stats)
				if lo == 0 {
					proven.Warnings = resp.Warnings
				}
			}
		}
	}
}

// between returns the request for queries lo to hi-1, with goals of its own.
func (x *Index) between(all Request, lo, hi int) Request {
	req := all
	req.Queries, req.Part = all.Queries[lo*x.Dim():hi*x.Dim()], true
	if all.Queries64 != nil {
		req.Queries64 = all.Queries64[lo*x.Dim() : hi*x.Dim()]
	}
	req.Goals = make([]QueryGoal, hi-lo)
	if all.Goals != nil {
		copy(req.Goals, all.Goals[lo:hi])
	}
	if all.Changes != nil {
		req.Changes = all.Changes[lo:hi]
	}
	if all.Selves != nil {
		req.Selves = all.Selves[lo:hi]
	}
	req.SelfFirst += int64(lo)
	return req
}

// Verify recomputes the scores of all vectors for the queries of req in float64, with code that searches do not
// use, and checks whether each answer, one a query, keeps what its certificate promises. visit, if not nil, is told of
// each answer, in order.
func (x *Index) Verify(ctx context.Context, req Request, answers []Answer, visit func(query int64, f *verify.Finding)) (*VerifySummary, error) {
	x, leave, err := x.now(ctx, false)
	if err != nil {
		return nil, err
	}
	defer leave()
	req, err = x.place(req)
	if err != nil {
		return nil, err
	}
	if m := len(req.Queries) / x.Dim(); len(answers) != m {
		return nil, fmt.Errorf("%d answers to %d queries", len(answers), m)
	}
	oracle, err := verify.NewOracleOf(x.atoms, x.o.Threads)
	if err != nil {
		return nil, err
	}
	claimed := make([]batch.Answer, len(answers))
	for j, a := range answers {
		rows, err := x.rowsOf(j, a.Rows)
		if err != nil {
			return nil, err
		}
		claimed[j] = batch.Answer{IDs: rows, Scores: a.Scores, SearchScores: x.Metric().SearchedAll(a.Scores64), Limited: a.Limited, Certificate: a.Certificate}
	}
	claims := func(yield func(*tasks.Claims, error) bool) {
		yield(&tasks.Claims{Request: &req, Answers: claimed}, nil)
	}
	found, err := tasks.Verify(ctx, oracle, claims, x.renumberedFinding(visit))
	if err != nil {
		return nil, err
	}
	found.K, found.Metric, found.Rounded = req.K, x.Metric().String(), x.atoms.Change.Largest
	for _, g := range req.Goals {
		found.K = max(found.K, g.K)
	}
	for _, change := range req.Changes {
		found.Rounded = max(found.Rounded, change)
	}
	return found, nil
}

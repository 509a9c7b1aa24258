package tasks

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"thresher/batch"
)

// Searcher answers requests, as a *batch.Engine and a *batch.Coalescer do.
type Searcher interface {
	Search(ctx context.Context, req batch.Request) (*batch.Response, error)
}

// SearchCounts are the figures of answers, in the form in which a run that can be resumed keeps them. Their
// names are those of earlier runs.
type SearchCounts struct {
	Queries    int64 `json:"queries"`
	Pulls      int64 `json:"pulls"`
	DensePulls int64 `json:"dense_pulls"`
	Bytes      int64 `json:"bytes"`
	RowsScored int64 `json:"rows_scored"`
	Exact      int64 `json:"exact"`
	Dense      int64 `json:"dense"`
	Unfinished int64 `json:"partial"`
	// UnfinishedPulls and UnfinishedDense are the parts of Pulls and DensePulls from partial
	// answers, which do not count as savings.
	UnfinishedPulls int64                  `json:"partial_pulls"`
	UnfinishedDense int64                  `json:"partial_dense"`
	Nanos           int64                  `json:"nanos"`
	Methods         map[batch.Method]int64 `json:"methods"`
	Promises
	Warnings   []string              `json:"warnings,omitempty"`
	Candidates batch.CandidateRecord `json:"candidates,omitzero"`
}

// Add counts the answers of a response.
func (n *SearchCounts) Add(r *batch.Response) {
	n.Queries += int64(len(r.Answers))
	n.Pulls += r.Stats.Pulls
	n.DensePulls += r.Stats.DensePulls
	n.Bytes += r.Stats.Bytes
	n.RowsScored += r.Stats.RowsScored
	n.Exact += int64(r.Stats.Exact)
	n.Dense += int64(r.Stats.Dense)
	n.Unfinished += int64(r.Stats.Unfinished)
	n.Nanos += int64(r.Took)
	n.AddAll(r.Answers)
	alike := int64(0) // answers by the same method, one after the other
	for i := range r.Answers {
		c := &r.Answers[i].Certificate
		if alike++; i+1 == len(r.Answers) || r.Answers[i+1].Certificate.Method != c.Method {
			count(&n.Methods, c.Method, alike)
			alike = 0
		}
		if c.Candidates != nil {
			n.Candidates.Given += c.Candidates.Given
			n.Candidates.Right += c.Candidates.Right
		}
		if c.StoppedBy != batch.Done {
			n.UnfinishedPulls += c.Pulls
			n.UnfinishedDense += c.DensePulls
		}
	}
	for _, w := range r.Warnings {
		if !slices.Contains(n.Warnings, w) {
			n.Warnings = append(n.Warnings, w)
		}
	}
}

// SearchSummary says what came of a search.
type SearchSummary struct {
	Queries   int64  `json:"queries"`
	Method    string `json:"method"` // the most frequent first
	Guarantee string `json:"guarantee"`
	Law       string `json:"law,omitempty"` // of the probabilistic answers
	Promise   string `json:"promise"`       // of all answers, in words
	// Rounded is the largest change of a coordinate of vectors or queries that float32 does not hold.
	Rounded float64 `json:"rounded,omitempty"`
	// QueriesPerSecond and Saving are for complete answers.
	SearchSeconds    float64 `json:"search_seconds"`
	QueriesPerSecond float64 `json:"queries_per_second"`
	Pulls            int64   `json:"pulls"`
	Saving           float64 `json:"saving"`
	BytesRead        int64   `json:"bytes_read"`
	RowsScored       int64   `json:"rows_scored"`
	// WrongAllowed bounds how many answers are wrong, on average.
	WrongAllowed float64 `json:"wrong_allowed"`
	Complete     int64   `json:"complete"` // answers whose search was not stopped
	// Candidates counts the candidates of all queries.
	Candidates batch.CandidateRecord `json:"candidates,omitzero"`
	Warnings   []string              `json:"warnings,omitempty"`
}

// Summary describes the answers that were counted, whose promise is about a subject.
func (n *SearchCounts) Summary(of Subject) *SearchSummary {
	s := &SearchSummary{
		Queries: n.Queries, Method: joined(ranked(n.Methods)),
		Guarantee: n.Guarantee(), Law: n.Law(), Promise: n.Say(of), Rounded: n.Rounded,
		SearchSeconds: time.Duration(n.Nanos).Seconds(),
		Pulls:         n.Pulls, Saving: batch.Stats{Pulls: n.Pulls - n.UnfinishedPulls, DensePulls: n.DensePulls - n.UnfinishedDense}.Saving(),
		BytesRead: n.Bytes, RowsScored: n.RowsScored,
		WrongAllowed: n.Allowed, Complete: n.Queries - n.Unfinished, Candidates: n.Candidates, Warnings: n.Warnings,
	}
	if s.SearchSeconds > 0 {
		s.QueriesPerSecond = float64(n.Queries-n.Unfinished) / s.SearchSeconds
	}
	return s
}

// SearchRun answers the requests of a search one after the other, each with some of its queries. Answers do
// not depend on how queries are divided if the requests are Part of a longer list. Its counts are of the answers so far: a
// run that is resumed begins with those of the run before, at the query after them.
type SearchRun struct {
	Engine Searcher
	// Until, unless it is zero, is when the whole search ends with the best so far.
	Until time.Time
	SearchCounts
}

// Answer answers a request, whose queries are numbered from first, and counts its answers. A search that
// reaches Until or the deadline of its context is answered with the best so far, which is no error; one whose context is
// cancelled is not, and the error is the context's cause. A *batch.RequestError has the number of the query in the
// whole search.
func (r *SearchRun) Answer(ctx context.Context, first int64, req *batch.Request) (*batch.Response, error) {
	limited := ctx
	if !r.Until.IsZero() {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, r.Until)
		defer cancel()
	}
	resp, err := r.Engine.Search(limited, *req)
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, context.Cause(ctx)
	}
	if resp == nil {
		return nil, numbered(err, first)
	}
	r.Add(resp)
	return resp, nil
}

// numbered adds first to the number of the query in an error.
func numbered(err error, first int64) error {
	var wrong *batch.RequestError
	if first == 0 || !errors.As(err, &wrong) || wrong.Query < 0 {
		return err
	}
	moved := *wrong
	moved.Query += int(first)
	return &moved
}

// Search answers the queries of a stream of requests and passes each with its response to visit: a search that its
// deadline stops with what it has, and those after it with what is known without searching. Errors are those of the
// stream, of [SearchRun.Answer] and of visit.
func Search(ctx context.Context, s Searcher, requests iter.Seq2[*batch.Request, error], visit func(*batch.Request, *batch.Response) error) (*SearchSummary, error) {
	run := SearchRun{Engine: s}
	of := Answers
	for req, err := range requests {
		if err != nil {
			return nil, err
		}
		if subjectOf(req) == Reaching {
			of = Reaching
		}
		resp, err := run.Answer(ctx, run.Queries, req)
		if err == nil {
			err = visit(req, resp)
		}
		if err != nil {
			return nil, err
		}
	}
	return run.Summary(of), nil
}

// subjectOf is what the answers to a request promise something about.
func subjectOf(req *batch.Request) Subject {
	least := func(g batch.QueryGoal) bool { return g.MinScore != nil }
	if req.MinScore != nil || slices.ContainsFunc(req.Goals, least) {
		return Reaching
	}
	return Answers
}

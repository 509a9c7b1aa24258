package tasks

import (
	"context"
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
	for i := range r.Answers {
		c := &r.Answers[i].Certificate
		count(&n.Methods, c.Method, 1)
		n.Promises.Add(c)
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

// Search answers the queries of a stream of requests and passes each with its response to visit. A search that its
// deadline stops is passed on with what it has, and ends the stream with the deadline's error unless visit
// does. Errors are those of the stream, of the search and of visit.
func Search(ctx context.Context, s Searcher, requests iter.Seq2[*batch.Request, error], visit func(*batch.Request, *batch.Response) error) (*SearchSummary, error) {
	var n SearchCounts
	of := Answers
	for req, err := range requests {
		if err != nil {
			return nil, err
		}
		if req.K == 0 {
			of = Reaching
		}
		resp, err := s.Search(ctx, *req)
		if resp != nil {
			n.Add(resp)
			if failed := visit(req, resp); failed != nil {
				return nil, failed
			}
		}
		if err != nil {
			return n.Summary(of), err
		}
	}
	return n.Summary(of), nil
}

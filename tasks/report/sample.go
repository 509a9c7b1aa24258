package report

import (
	"thresher/batch"
	"thresher/collection"
)

// Sample is the queries that a report is about, drawn from a file, with what the search found for them.
type Sample struct {
	Atoms *collection.Collection // that are searched
	// Request is all queries in the order of the file, in memory of their own, and what each asks for.
	Request batch.Request
	// Numbers are those of the queries in the file, ascending, and IDs their ids there, nil without.
	Numbers []int64
	IDs     []string
	// Filter returns the rows that the answer to the query of a number may have, nil for all; nil if Request says it. It is
	// asked for a part at a time, so that not all lists are in memory.
	Filter func(number int64) ([]int64, error)
	found  []batch.Answer // by Search, one a query
}

// Add adds the queries of a part, and copies them.
func (s *Sample) Add(part *batch.Request, numbers []int64, ids []string) {
	r := &s.Request
	r.Queries = append(r.Queries, part.Queries...)
	r.Queries64 = append(r.Queries64, part.Queries64...)
	r.Changes = append(r.Changes, part.Changes...)
	r.Selves = append(r.Selves, part.Selves...)
	s.Numbers, s.IDs = append(s.Numbers, numbers...), append(s.IDs, ids...)
}

// certificate is that of the answer to query j of the sample.
func (s *Sample) certificate(j int) *batch.Certificate { return &s.found[j].Certificate }

// allowed is how many vectors the answer to query j of a part may have.
func (s *Sample) allowed(part *batch.Request, j int) int {
	switch {
	case part.Goals != nil && part.Goals[j].Filter != nil:
		return len(part.Goals[j].Filter)
	case part.Filter != nil:
		return len(part.Filter)
	}
	return s.Atoms.N
}

// part returns the request for the queries from lo to hi of the sample.
func (s *Sample) part(lo, hi int) (batch.Request, error) {
	req, dim := s.Request, s.Atoms.Dim
	if req.Queries != nil {
		req.Queries = req.Queries[lo*dim : hi*dim]
	}
	if req.Queries64 != nil {
		req.Queries64 = req.Queries64[lo*dim : hi*dim]
	}
	if req.Changes != nil {
		req.Changes = req.Changes[lo:hi]
	}
	if req.Selves != nil {
		req.Selves = req.Selves[lo:hi]
	}
	req.Part = true
	if s.Filter == nil {
		return req, nil
	}
	req.Goals = make([]batch.QueryGoal, hi-lo)
	for j := range req.Goals {
		var err error
		if req.Goals[j].Filter, err = s.Filter(s.Numbers[lo+j]); err != nil {
			return req, err
		}
	}
	return req, nil
}

// scores are the search scores of rows for query j of the sample.
func (s *Sample) scores(j int, rows []int64) []float64 {
	at := make([]uint32, len(rows))
	for i, row := range rows {
		at[i] = uint32(row)
	}
	scores := make([]float64, len(rows))
	if dim := s.Atoms.Dim; s.Atoms.Float64() {
		s.Atoms.Scores64(scores, s.Request.Queries64[j*dim:(j+1)*dim], at)
	} else {
		s.Atoms.Scores(scores, s.Request.Queries[j*dim:(j+1)*dim], at)
	}
	return scores
}

// values are those of query j of the sample as given.
func (s *Sample) values(j int) []float64 {
	dim := s.Atoms.Dim
	values := make([]float64, dim)
	if s.Atoms.Float64() {
		copy(values, s.Request.Queries64[j*dim:(j+1)*dim])
		return values
	}
	for i := range values {
		values[i] = float64(s.Request.Queries[j*dim+i])
		if s.Atoms.Origin != nil {
			values[i] += s.Atoms.Origin[i]
		}
	}
	return values
}

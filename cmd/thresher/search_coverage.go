package main

import (
	"context"
	"encoding/json"
	"io"
	"math"

	"thresher/dataset"
	"thresher/tasks"
)

// stateCoverage makes the outputs state to which queries and vectors the answers are. If not all queries can be
// read they state nothing: the search answers those before, and reports the error.
func (s *search) stateCoverage(ctx context.Context) error {
	if !s.out.statesCoverage() || s.filters != nil { // whose answers are about different vectors
		return nil
	}
	queries, err := s.digestQueries(ctx)
	if err != nil {
		return ctx.Err()
	}
	limits, err := s.digestLimits(ctx)
	if err != nil {
		return err
	}
	k := s.request.K
	if s.goals != nil {
		k = s.goals.maxK
	}
	c := &tasks.Coverage{
		Queries: queries.String(), Count: queries.Count(), Metric: s.atoms.Metric.String(),
		K: k, OwnK: s.flags.kColumn != "", Limits: limits, Reaching: s.flags.ranged(), Method: s.method, Part: s.flags.part.QueryPart,
		Shards: []tasks.Shard{s.atoms.shard().Part(s.request.Filter, nil)},
	}
	if c.Part != nil {
		c.ExcludeSelf, c.Epsilon, c.Delta, c.Rounded = s.flags.excludeSelf, s.request.Epsilon, s.request.Delta, s.rounded
	}
	s.out.covers, err = json.Marshal(c)
	return err
}

// digestQueries reads the queries as they are given, relative to no origin, which depends on the atoms, and finds what
// rounding changes in the search.
func (s *search) digestQueries(ctx context.Context) (*tasks.QueryDigest, error) {
	r, err := s.in.queries.openQueries(s.flags.queriesColumn, s.flags.beside()...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	dataset.KeepGiven(r)
	d := tasks.NewQueryDigest(r.Dim())
	block := max(1, chunkElements/64/r.Dim())
	if n := r.Len(); n >= 0 {
		block = min(block, int(max(1, n)))
	}
	rows := make([]float32, block*r.Dim())
	s.rounded = s.atoms.Change.Largest
	for {
		n, err := r.Read(rows)
		given := dataset.GivenOf(r)
		d.Add(rows[:n*r.Dim()], given)
		if s.flags.part.QueryPart != nil && !s.atoms.Float64() {
			s.rounded = max(s.rounded, largestChange(rows[:n*r.Dim()], given, s.atoms.Origin))
		}
		if err == io.EOF {
			return d, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
	}
}

// largestChange returns the largest change of a coordinate of queries, in float64 as they were given unless nothing was rounded, by
// rounding relative to the origin.
func largestChange(rows []float32, given, origin []float64) float64 {
	most := 0.
	if given == nil && origin == nil {
		return most
	}
	for i := range rows {
		x := float64(rows[i])
		if given != nil {
			x = given[i]
		}
		if origin != nil {
			x -= origin[i%len(origin)]
		}
		most = max(most, math.Abs(x-float64(float32(x))))
	}
	return most
}

// digestLimits is a digest of what the queries ask for beside k; "" if they ask for nothing.
func (s *search) digestLimits(ctx context.Context) (string, error) {
	f := s.flags
	if s.request.MinScore == nil && s.request.MaxScore == nil && f.floorColumn == "" && f.ceilingColumn == "" && f.exclude == "" {
		return "", nil
	}
	var columns, exclude string
	var err error
	if f.floorColumn != "" || f.ceilingColumn != "" {
		if columns, err = s.in.queries.hash(ctx); err != nil {
			return "", err
		}
	}
	if f.exclude != "" {
		if exclude, err = s.in.exclude.hash(ctx); err != nil {
			return "", err
		}
	}
	return tasks.LimitsDigest(s.request.MinScore, s.request.MaxScore, f.floorColumn, f.ceilingColumn, columns, exclude, f.zeros)
}

// nameOf returns which id a row has; nil if the atoms have none.
func (a *atoms) nameOf() func(row int) string {
	if a.names == nil {
		return nil
	}
	return func(row int) string { return a.names.Text(int64(row)) }
}

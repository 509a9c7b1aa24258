package thresher

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/join"
	"thresher/tasks"
)

// JoinOptions say which rows of two tables Join joins. Only Metric must be set, and K or MinScore.
type JoinOptions struct {
	Metric Metric
	// K is how many rows of the right table each row of the left one is joined with at most; 0, which needs MinScore, is all.
	K int
	// MinScore and MaxScore, if not nil, are the least and the greatest score of a pair; for Euclidean distance MinScore is
	// the greatest squared distance, and MaxScore the least.
	MinScore, MaxScore *float64
	// Method is "" for Certain, Exact, Adaptive or Auto. By the first two nothing is wrong; Adaptive is wrong about a row of the
	// left table with a probability of at most Delta.
	Method Method
	Delta  float64 // 0 is .01
	// By names columns of LeftColumns and RightColumns: rows are joined only if their values are equal in all of them. A
	// missing value equals none.
	By                        []string
	LeftColumns, RightColumns *Columns
	Seed                      uint64 // as in Options
	Threads                   int    // as in Options
	// Progress, if not nil, is called with the rows of the left table that are joined and their number.
	Progress func(done, total int64)
}

// JoinSummary says how many rows were joined, and what is guaranteed.
type JoinSummary = tasks.JoinSummary

// JoinResponse has the pairs of rows of two tables. Row j of the left table is joined with rows Rows[Lims[j]:Lims[j+1]] of the
// right one, best first, equal scores by ascending row, whose scores are inner products, cosines or squared distances.
type JoinResponse struct {
	Lims    []int
	Rows    []int64
	Scores  []float64
	Summary *JoinSummary
}

// joinedTogether is how many rows of the left table are joined between two calls of Progress; of each of them all rows that
// reach a score may be found.
const joinedTogether, joinedAllTogether = 1 << 16, 1 << 10

// Join joins each row of the left table with the nearest rows of the right one, by their vectors, rows of dim values each.
// Values of float64 are rounded to float32, as by New, and the summary says by how much. Errors name the table, and the row
// and column of a value that is not finite. Neither table is changed.
func Join[F Float](ctx context.Context, left, right []F, dim int, o JoinOptions) (*JoinResponse, error) {
	if dim < 1 || len(left)%dim != 0 || len(right)%dim != 0 {
		return nil, fmt.Errorf("%d values of the left table and %d of the right one are no rows of %d values", len(left), len(right), dim)
	}
	m, n := len(left)/dim, len(right)/dim
	options, leftGroups, err := o.right(m, n)
	if err != nil {
		return nil, err
	}
	if m == 0 || n == 0 {
		run := &tasks.JoinRun{Request: options.Request}
		return &JoinResponse{Lims: run.MatchNone(m).Lims, Summary: run.Summary(o.Metric)}, nil
	}
	rows, order, starts := right, []int64(nil), []int(nil)
	if options.Groups != nil {
		rows = slices.Clone(right)
		sorted, err := vectorsOf(rows, dim)
		if err != nil {
			return nil, err
		}
		order, starts = join.SortRows(sorted, options.Groups)
	}
	processor := cpu.New(cpu.Options{Threads: o.Threads})
	costs := backend.Describe(processor).Costs
	options.Threads = processor.Describe().Threads
	if err := processor.Close(); err != nil {
		return nil, err
	}
	options.Builds = func(rows int, queries int64) bool {
		return options.Request.BuildingPays(rows, dim, o.Metric, queries, &costs)
	}
	x, err := build(ctx, rows, dim, Options{Metric: o.Metric, Seed: o.Seed, Threads: o.Threads}, starts != nil || !options.Builds(n, int64(m)))
	if err != nil {
		return nil, fmt.Errorf("right: %w", join.InTable(err, order))
	}
	defer x.Close()
	r, err := join.NewRight(x.engine, order, starts, *options)
	if err != nil {
		return nil, err
	}
	run := &tasks.JoinRun{Right: r, Request: options.Request}
	joined, err := joinAll(ctx, run, x.atoms, left, leftGroups, o.Progress)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	joined.Summary = run.Summary(o.Metric)
	return joined, nil
}

// right returns the options of the right table, of n rows, and the groups of the left one, of m.
func (o *JoinOptions) right(m, n int) (r *join.RightOptions, left []int32, err error) {
	r = &join.RightOptions{Request: batch.Request{K: o.K, MinScore: o.MinScore, MaxScore: o.MaxScore, Method: o.Method, Delta: o.Delta}}
	r.Build = collection.Options{Seed: o.Seed, Threads: o.Threads}
	if r.Request.Method == "" {
		r.Request.Method = batch.Certain
	}
	if err := o.Metric.Check(); err != nil {
		return nil, nil, err
	}
	if o.K == 0 && o.MinScore == nil {
		return nil, nil, errors.New("k: 0 is for a MinScore: a row is joined with K rows at most")
	}
	if err := r.Check(); err != nil || len(o.By) == 0 {
		return r, nil, err
	}
	for _, side := range []struct {
		name string
		of   *Columns
		rows int
	}{{"left", o.LeftColumns, m}, {"right", o.RightColumns, n}} {
		if side.of == nil || side.of.Rows() != side.rows {
			return nil, nil, fmt.Errorf("by: the %s table has %d rows, and its columns other ones", side.name, side.rows)
		}
	}
	if left, r.Groups, _, err = columns.Groups(o.LeftColumns, o.RightColumns, o.By); err != nil {
		return nil, nil, fmt.Errorf("by: %w", err)
	}
	r.Left = join.CountGroups(left)
	return r, left, nil
}

// vectorsOf returns rows as vectors that share their memory.
func vectorsOf[F Float](rows []F, dim int) (dataset.Vectors, error) {
	if wide, ok := any(rows).([]float64); ok {
		return dataset.VectorsOf(wide, dim)
	}
	return dataset.VectorsOf(any(rows).([]float32), dim)
}

// joinAll joins all rows of the left table.
func joinAll[F Float](ctx context.Context, run *tasks.JoinRun, c *collection.Collection, left []F, groups []int32, progress func(done, total int64)) (*JoinResponse, error) {
	m, together := len(left)/c.Dim, joinedTogether
	if run.Request.K == 0 {
		together = joinedAllTogether
	}
	joined := &JoinResponse{Lims: make([]int, 1, m+1)}
	for lo := 0; lo < m; lo += together {
		hi := min(lo+together, m)
		var req batch.Request
		switch rows := any(left[lo*c.Dim : hi*c.Dim]).(type) {
		case []float32:
			req.Queries = rows
		case []float64:
			req.Queries64 = rows
		}
		part := join.LeftRows{First: int64(lo)}
		if groups != nil {
			part.Groups = groups[lo:hi]
		}
		placed, err := req.Placed(c)
		if err == nil {
			part.Queries, part.Changes = placed.Queries, placed.Changes
			err = joined.add(ctx, run, part)
		}
		var invalid *batch.RequestError
		if errors.As(err, &invalid) && invalid.Query >= 0 {
			err = &join.RowError{Row: int64(lo + invalid.Query), Err: invalid.Err}
		}
		if err != nil {
			return nil, fmt.Errorf("left: %w", err)
		}
		if progress != nil {
			progress(int64(hi), int64(m))
		}
	}
	return joined, nil
}

// add adds what the next rows of the left table are joined with.
func (j *JoinResponse) add(ctx context.Context, run *tasks.JoinRun, part join.LeftRows) error {
	found, err := run.Match(ctx, part)
	if err != nil {
		return err
	}
	for _, end := range found.Lims[1:] {
		j.Lims = append(j.Lims, len(j.Rows)+end)
	}
	j.Rows, j.Scores = append(j.Rows, found.Rows...), append(j.Scores, found.Scores...)
	return nil
}

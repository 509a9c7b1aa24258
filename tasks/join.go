package tasks

import (
	"context"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/join"
)

// JoinCounts are the counts of a join of two tables, in the form in which a run that can be resumed keeps them.
type JoinCounts struct {
	Pairs   int64         `json:"pairs"`
	Matched int64         `json:"matched"` // rows of the left table in a pair
	Nanos   int64         `json:"nanos"`   // of the search
	Work    join.PairWork `json:"work"`
}

// JoinSummary says what came of a join of two tables.
type JoinSummary struct {
	Rows    int64  `json:"rows"`    // of the left table
	Matched int64  `json:"matched"` // of these, in a pair
	Pairs   int64  `json:"pairs"`
	Groups  int    `json:"groups"` // keys that rows of both tables have
	K       int    `json:"k"`      // 0: any number
	Metric  string `json:"metric"`
	Method  string `json:"method"` // the most frequent first
	// Guarantee and Promise are of all rows of the left table, also of those in no pair.
	Guarantee string `json:"guarantee"`
	Law       string `json:"law,omitempty"`
	Promise   string `json:"promise"`
	// Rounded is the largest change of a coordinate of either table that float32 does not hold.
	Rounded       float64 `json:"rounded,omitempty"`
	Delta         float64 `json:"delta"`
	SearchSeconds float64 `json:"search_seconds"`
	Pulls         int64   `json:"pulls"`
	Saving        float64 `json:"saving"` // compared with all pairs of equal keys
	BytesRead     int64   `json:"bytes_read"`
	RowsScored    int64   `json:"rows_scored"`
}

// JoinRun joins the rows of a left table with a right one, one part after the other. A run that is resumed begins with the
// counts of the run before.
type JoinRun struct {
	Right   *join.Right   // nil where a table has no rows: MatchNone
	Request batch.Request // as in join.RightOptions
	JoinCounts
}

// Match returns what rows join with, and counts them.
func (r *JoinRun) Match(ctx context.Context, left join.LeftRows) (*join.Matches, error) {
	begun := time.Now()
	m, err := r.Right.Match(ctx, left)
	if err != nil {
		return nil, err
	}
	for j := 1; j < len(m.Lims); j++ {
		if m.Lims[j] > m.Lims[j-1] {
			r.Matched++
		}
	}
	r.Pairs += int64(len(m.Rows))
	r.Nanos += int64(time.Since(begun))
	r.Work.Add(&m.Work)
	return m, nil
}

// MatchNone returns the matches of rows that join with none, since the right table has no rows, and counts them.
func (r *JoinRun) MatchNone(rows int) *join.Matches {
	n := int64(rows)
	r.Work.Add(&join.PairWork{Rows: n, Exact: n, Methods: map[batch.Method]int64{batch.Exact: n}, Guarantees: map[batch.Guarantee]int64{batch.GuaranteeExact: n}})
	return &join.Matches{Lims: make([]int, rows+1)}
}

// Summary describes the rows that were counted, by a metric.
func (r *JoinRun) Summary(metric collection.Metric) *JoinSummary {
	w, groups := r.Work, 0
	if w.Rows == 0 { // of which none is wrong
		w.Methods, w.Guarantees = map[batch.Method]int64{batch.Exact: 1}, map[batch.Guarantee]int64{batch.GuaranteeExact: 1}
	}
	if r.Right != nil {
		groups = r.Right.Groups()
	}
	delta := r.Request.Delta
	if delta == 0 {
		delta = .01 // as a search has it
	}
	p := Promises{Guarantees: w.Guarantees, Laws: w.Laws, Delta: delta, Allowed: delta * float64(w.Guarantees[batch.GuaranteeProbabilistic]), Rounded: max(w.VectorsChange, w.OthersChange)}
	of := Answers
	if r.Request.MinScore != nil {
		of = Reaching
	}
	return &JoinSummary{
		Rows: w.Rows, Matched: r.Matched, Pairs: r.Pairs, Groups: groups, K: r.Request.K, Metric: metric.String(), Method: joined(ranked(w.Methods)),
		Guarantee: p.Guarantee(), Law: p.Law(), Promise: p.Say(of), Rounded: p.Rounded, Delta: delta,
		SearchSeconds: time.Duration(r.Nanos).Seconds(), Pulls: w.Pulls, Saving: batch.Stats{Pulls: w.Pulls, DensePulls: w.DensePulls}.Saving(),
		BytesRead: w.Bytes, RowsScored: w.RowsScored,
	}
}

package wire

import (
	"strconv"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// TextBytes is about the memory of the text of an id in a dataset.Result.
const TextBytes = 16 + 24

// Result returns the answer to a query as files have it, without its certificate. It shares the answer's slices,
// and uses up its search scores.
func (n Naming) Result(query int64, a *batch.Answer) dataset.Result {
	c := &a.Certificate
	r := dataset.Result{Query: query, Rows: a.IDs, IDs: n.texts(a.IDs), Scores: a.Scores, Scores64: a.SearchScores, Pulls: c.Pulls, Exact: c.Exact,
		Partial: c.StoppedBy != batch.Done, Guarantee: string(c.Guarantee), Delta: c.Delta, Epsilon: c.Epsilon}
	if n.Metric == collection.Euclidean {
		for i, score := range r.Scores64 {
			r.Scores64[i] = n.Metric.Shown(score)
		}
	}
	a.SearchScores = nil
	return r
}

// texts returns the ids of rows as texts; nil if row numbers are the ids.
func (n Naming) texts(rows []int64) []string {
	switch {
	case n.Name != nil:
		texts := make([]string, len(rows))
		for i, row := range rows {
			texts[i] = n.Name(row)
		}
		return texts
	case n.Int != nil:
		return decimals(rows, n.Int)
	}
	return nil
}

// decimals returns the digits of the ids of rows, which share memory.
func decimals(rows []int64, id func(row int64) int64) []string {
	var digits []byte
	for _, row := range rows {
		digits = strconv.AppendInt(digits, id(row), 10)
	}
	all, texts := string(digits), make([]string, len(rows))
	for i, row := range rows {
		n := len(strconv.AppendInt(digits[:0], id(row), 10))
		texts[i], all = all[:n], all[n:]
	}
	return texts
}

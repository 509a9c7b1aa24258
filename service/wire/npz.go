package wire

import (
	"bytes"
	"io"

	"thresher/batch"
	"thresher/dataset"
	"thresher/service/problem"
)

// WriteAnswerNPZ writes ids int64 [m,k], scores float32 [m,k], pulls int64 [m]
// and exact bool [m]; k is the length of the longest answer, at least 1. Shorter
// ones are padded with id -1 and score -Inf. Collections whose ids are text are
// refused: npz has no place for them.
func WriteAnswerNPZ(w io.Writer, resp *batch.Response, ids Naming) error {
	if ids.Textual() {
		return problem.New(problem.NotAcceptable, "the ids of this collection are text, which the npz of an answer cannot hold").In("Accept").
			Within([]string{"application/json"})
	}
	var spool []byte
	k := 1
	var row []int64
	for j := range resp.Answers {
		a := &resp.Answers[j]
		k = max(k, len(a.IDs))
		row = row[:0]
		for _, id := range a.IDs {
			row = append(row, ids.ID(id))
		}
		spool = dataset.AppendRecord(spool, &dataset.Result{
			Query: int64(j), IDs: row, Scores: a.Scores, Pulls: a.Certificate.Pulls, Exact: a.Certificate.Exact,
		})
	}
	return dataset.AssembleNPZ(bytes.NewReader(spool), k, w)
}

package wire

import (
	"io"
	"strconv"

	"thresher/batch"
	"thresher/dataset"
	"thresher/service/problem"
)

// WriteAnswerNPZ writes ids int64 [m,k], scores float32 [m,k], pulls int64 [m], exact and complete
// bool [m] and guarantee, texts [m]; pulls are Withheld if they are withheld; k is the length of the longest answer, at
// least 1. Shorter answers are padded with id -1 and score -Inf. Collections with string ids
// are refused, because npz cannot hold strings.
func WriteAnswerNPZ(w io.Writer, resp *batch.Response, ids Naming) error {
	if ids.Textual() {
		return problem.New(problem.NotAcceptable, "the ids of this collection are text, which the npz of an answer cannot hold").In("Accept").
			Within([]string{"application/json"})
	}
	results := make([]dataset.Result, len(resp.Answers))
	k := 1
	for j := range resp.Answers {
		a := &resp.Answers[j]
		k = max(k, len(a.IDs))
		var named []string
		if ids.Int != nil {
			named = make([]string, len(a.IDs))
			for i, row := range a.IDs {
				named[i] = strconv.FormatInt(ids.Int(row), 10)
			}
		}
		results[j] = dataset.Result{Query: int64(j), Rows: a.IDs, IDs: named, Scores: a.Scores, Pulls: a.Certificate.Pulls, Exact: a.Certificate.Exact,
			Partial: a.Certificate.StoppedBy != batch.Done, Guarantee: string(a.Certificate.Guarantee),
			Delta: a.Certificate.Delta, Epsilon: a.Certificate.Epsilon}
	}
	return dataset.WriteResultsNPZ(results, k, w)
}

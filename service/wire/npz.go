package wire

import (
	"encoding/json"
	"io"

	"thresher/batch"
	"thresher/dataset"
)

// WriteAnswerNPZ writes resp, which has search scores, as dataset.WriteResultsNPZ does; k is the length of the
// longest answer, at least 1. covers is what the answers are for, nil to state nothing. It uses up the search
// scores.
func WriteAnswerNPZ(w io.Writer, resp *batch.Response, ids Naming, covers json.RawMessage) error {
	results := make([]dataset.Result, len(resp.Answers))
	k := 1
	for j := range resp.Answers {
		a := &resp.Answers[j]
		k = max(k, len(a.IDs))
		results[j] = ids.Result(int64(j), a)
	}
	if len(results) > 0 {
		results[0].Covers = covers
	}
	return dataset.WriteResultsNPZ(results, k, w)
}

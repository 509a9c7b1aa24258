package tasks

import (
	"context"
	"time"

	"thresher/batch"
	"thresher/verify"
)

// RecallSummary says how good the answers of a stream are.
type RecallSummary struct {
	Metric string       `json:"metric"`
	Method batch.Method `json:"method"`         // by which the best atoms were found
	Plan   string       `json:"plan,omitempty"` // of the latest of these searches
	TookMS float64      `json:"took_ms"`        // of these searches
	*verify.RecallReport
	// Reasons say why answers lack vectors, those that explain most first; empty if none is known, nil if no answer
	// lacks any, or the deadline left no time to look for them.
	Reasons []verify.Reason `json:"reasons,omitzero"`
}

// Recall measures the recall of the answers of a stream, and passes what it finds of each, in
// order, to visit, unless that is nil. It is ErrUnfinished if the search of a part was stopped, and
// an *AnswersError if no query wants any atom; other errors are those of the stream and of
// [Comparison.Add].
func Recall(ctx context.Context, c *Comparison, parts Parts, visit func(*Compared) error) (*RecallSummary, error) {
	c.lookForReasons()
	for p, err := range parts {
		if err == nil {
			err = c.Add(ctx, p, visit)
		}
		if err == nil && c.stopped > 0 {
			err = ErrUnfinished
		}
		if err != nil {
			return nil, err
		}
	}
	found, err := c.recall.Report()
	if err != nil {
		return nil, &AnswersError{Err: err}
	}
	reasons, err := c.why(ctx)
	if err != nil {
		return nil, err
	}
	took := c.searched.Round(time.Microsecond)
	return &RecallSummary{
		Metric: c.atoms.metric.String(), Method: c.method, Plan: c.plan,
		TookMS: float64(took) / float64(time.Millisecond), RecallReport: found, Reasons: reasons,
	}, nil
}

package wire

import (
	"io"
	"time"

	"thresher/batch"
	"thresher/service/problem"
)

// Naming says what a collection calls its rows. At most one is set; the zero
// Naming calls rows by their numbers.
type Naming struct {
	Int  func(row int64) int64
	Name func(row int64) string
}

// AppendAnswer appends the JSON answer to s to dst: of every query ids, scores
// (squared distances where the metric is l2; null where there is none), whether
// it is complete, the open bound if not, and what s includes.
func AppendAnswer(dst []byte, version int64, took time.Duration, resp *batch.Response, s *Search, ids Naming) []byte {
	return dst
}

// WriteAnswerNPZ writes ids int64 [m,k], scores float32 [m,k], pulls int64 [m]
// and exact bool [m]; k is the length of the longest answer, at least 1. Shorter
// ones are padded with id -1 and score -Inf. Collections whose ids are text are
// refused: npz has no place for them.
func WriteAnswerNPZ(w io.Writer, resp *batch.Response, ids Naming) error {
	return problem.New(problem.Internal, "not built yet")
}

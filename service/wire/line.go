package wire

import (
	"encoding/json"

	"thresher/service/problem"
)

// Line is one request of a batch's input. Body shares the memory of the line
// that was decoded.
type Line struct {
	CustomID string
	Method   string // POST
	URL      string
	Body     json.RawMessage // an object, of valid JSON
}

// DecodeLine reads one line of a batch's JSONL. Errors are of type
// *problem.Problem; CustomID is set in the Line that comes with them where it
// could be read.
func DecodeLine(b []byte) (Line, error) {
	return Line{}, problem.New(problem.Internal, "not built yet")
}

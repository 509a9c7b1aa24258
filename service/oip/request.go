package oip

import (
	"thresher/service/problem"
	"thresher/service/wire"
)

// HeaderLength is the HTTP header that gives the length of a body's JSON where
// binary tensors follow it.
const HeaderLength = "Inference-Header-Content-Length"

// Request is an inference request.
type Request struct {
	ID      string // echoed in the answer
	Search  *wire.Search
	Outputs []Output // what is wanted, in that order; nil for all
	Binary  bool     // outputs that are not listed are binary
}

// Output is one tensor that is wanted.
type Output struct {
	Name   string
	Binary bool
}

// Decode reads a request to a collection of dimension dim. headerLength is the
// value of the header Inference-Header-Content-Length, -1 without one: then all
// of body is JSON; 0 says that body is nothing but the queries, little-endian
// float32. Queries may share body's memory. Errors are of type *problem.Problem.
func Decode(body []byte, headerLength, dim int, l wire.Limits) (*Request, error) {
	return nil, problem.New(problem.Internal, "not built yet")
}

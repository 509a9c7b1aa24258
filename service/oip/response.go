package oip

import (
	"thresher/batch"
	"thresher/service/problem"
	"thresher/service/wire"
)

// Answer encodes resp as the answer of model to r. headerLength is the length of
// its JSON, to be sent as the header Inference-Header-Content-Length and with
// the type application/octet-stream, or -1 if all of body is JSON.
func (r *Request) Answer(model string, version int64, resp *batch.Response, ids wire.Naming) (body []byte, headerLength int, err error) {
	return nil, -1, problem.New(problem.Internal, "not built yet")
}

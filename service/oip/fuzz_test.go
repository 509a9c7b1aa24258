package oip

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"thresher/service/oip/inferencepb"
	"thresher/service/problem"
	"thresher/service/wire"
)

// FuzzDecodeMessage: any message received over gRPC is a search of whole rows, or a problem.
func FuzzDecodeMessage(f *testing.F) {
	shape := []int64{1, 2}
	for _, m := range []*inferencepb.ModelInferRequest{
		{},
		{Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "queries", Datatype: "FP32", Shape: shape, Contents: &inferencepb.InferTensorContents{Fp32Contents: []float32{1, 2}}}}},
		{Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "queries", Datatype: "FP32", Shape: shape}}, RawInputContents: [][]byte{make([]byte, 8)}},
		{Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "k", Datatype: "INT32", Shape: shape[:1], Contents: &inferencepb.InferTensorContents{IntContents: []int32{3}}}, nil}},
		{
			Parameters: map[string]*inferencepb.InferParameter{"k": {ParameterChoice: &inferencepb.InferParameter_Uint64Param{Uint64Param: 1 << 63}}, "allow": {ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: "1,2"}}, "delta": nil},
			Outputs:    []*inferencepb.ModelInferRequest_InferRequestedOutputTensor{{Name: "ids"}, nil},
		},
		{Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{
			{Name: "queries", Datatype: "FP32", Shape: shape, Contents: &inferencepb.InferTensorContents{Fp32Contents: []float32{1, 2}}},
			{Name: "floors", Datatype: "FP32", Shape: shape[:1], Contents: &inferencepb.InferTensorContents{Fp32Contents: []float32{1}}},
			{Name: "exclude", Datatype: "INT64", Shape: shape, Contents: &inferencepb.InferTensorContents{Int64Contents: []int64{1, -1}}},
			{Name: "candidates", Datatype: "BYTES", Shape: shape, Contents: &inferencepb.InferTensorContents{BytesContents: [][]byte{{65}, nil}}},
		}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m inferencepb.ModelInferRequest
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		r, err := DecodeMessage(&m, 2, wire.Limits{Queries: 8, K: 5})
		var p *problem.Problem
		switch {
		case err != nil && !errors.As(err, &p):
			t.Errorf("%T: %v", err, err)
		case err == nil && (len(r.Search.Queries) != 2*r.Search.M || r.Search.M < 1 || r.Search.M > 8 || r.Search.K < 1 || r.Search.K > 5):
			t.Errorf("%+v", r.Search)
		}
	})
}

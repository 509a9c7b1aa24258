package service

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"thresher/service/oip/inferencepb"
)

// calls returns a gRPC client.
func (s *site) calls(o ...connect.ClientOption) inferencepb.GRPCInferenceServiceClient {
	return inferencepb.NewGRPCInferenceServiceClient(s.http2(), s.grpc, append(o, connect.WithGRPC())...)
}

// http2 returns a client of HTTP/2 without TLS.
func (s *site) http2() *http.Client {
	t := &http.Transport{Protocols: &http.Protocols{}}
	t.Protocols.SetUnencryptedHTTP2(true)
	s.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: &bearing{t, s.token}}
}

// bearing sends a token with each request.
type bearing struct {
	http.RoundTripper
	token string
}

func (b *bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.RoundTripper.RoundTrip(r)
}

// asking returns a request for the best atoms of queries.
func asking(model string, queries []float32) *inferencepb.ModelInferRequest {
	return &inferencepb.ModelInferRequest{
		ModelName: model, Id: "7",
		Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{
			{Name: "queries", Datatype: "FP32", Shape: []int64{int64(len(queries) / dim), dim}, Contents: &inferencepb.InferTensorContents{Fp32Contents: queries}},
		},
		Outputs: []*inferencepb.ModelInferRequest_InferRequestedOutputTensor{{Name: "ids"}, {Name: "scores"}},
	}
}

// raw moves the contents of a request's inputs to raw_input_contents.
func raw(m *inferencepb.ModelInferRequest) *inferencepb.ModelInferRequest {
	for _, in := range m.Inputs {
		b := floats(in.Contents.GetFp32Contents())
		for _, k := range in.Contents.GetIntContents() {
			b = binary.LittleEndian.AppendUint32(b, uint32(k))
		}
		m.RawInputContents = append(m.RawInputContents, b)
		in.Contents = nil
	}
	return m
}

func with(m *inferencepb.ModelInferRequest, parameters map[string]*inferencepb.InferParameter) *inferencepb.ModelInferRequest {
	m.Parameters = parameters
	return m
}

func wholeParam(n int64) *inferencepb.InferParameter {
	return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: n}}
}

func textParam(s string) *inferencepb.InferParameter {
	return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: s}}
}

func numberParam(x float64) *inferencepb.InferParameter {
	return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_DoubleParam{DoubleParam: x}}
}

// idsOf returns the ids of an answer in which they come first.
func idsOf(t testing.TB, a *inferencepb.ModelInferResponse) []int64 {
	t.Helper()
	if len(a.GetOutputs()) == 0 || a.Outputs[0].Name != "ids" || a.Outputs[0].Datatype != "INT64" || len(a.RawOutputContents) != len(a.Outputs) {
		t.Fatalf("%v", a)
	}
	var ids []int64
	for b := a.RawOutputContents[0]; len(b) > 0; b = b[8:] {
		ids = append(ids, int64(binary.LittleEndian.Uint64(b)))
	}
	return ids
}

// TestRPC: requests over gRPC get the same answers as over HTTP, with typed contents and raw
// ones, compressed or not.
func TestRPC(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	q := gaussian(3, 2*dim)
	want := []int64{best(rows, q[:dim]), best(rows, q[dim:])}
	parameters := map[string]*inferencepb.InferParameter{"k": wholeParam(3), "method": textParam("exact"), "delta": numberParam(.1), "timeout": wholeParam(0), "priority": wholeParam(1), "triton_x": nil}
	k := &inferencepb.ModelInferRequest_InferInputTensor{Name: "k", Datatype: "INT32", Shape: []int64{1}, Contents: &inferencepb.InferTensorContents{IntContents: []int32{3}}}
	withK := asking("films", q)
	withK.Inputs = append(withK.Inputs, k)
	rawK := asking("films", q)
	rawK.Inputs = append(rawK.Inputs, &inferencepb.ModelInferRequest_InferInputTensor{Name: "k", Datatype: "INT32", Shape: []int64{1}, Contents: k.Contents})
	for name, ask := range map[string]*inferencepb.ModelInferRequest{
		"typed": with(asking("films", q), parameters), "raw": raw(with(asking("films", q), parameters)), "k": withK, "raw k": raw(rawK),
	} {
		for _, client := range []inferencepb.GRPCInferenceServiceClient{s.calls(), s.calls(connect.WithSendGzip())} {
			a, err := client.ModelInfer(t.Context(), ask)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			ids := idsOf(t, a)
			if a.Id != "7" || a.ModelName != "films" || a.ModelVersion != "1" || len(ids) != 6 || ids[0] != want[0] || ids[3] != want[1] {
				t.Errorf("%s: %v, want %v", name, ids, want)
			}
			if scores := a.Outputs[1]; scores.Datatype != "FP32" || fmt.Sprint(scores.Shape) != "[2 3]" || len(a.RawOutputContents[1]) != 24 {
				t.Errorf("%s: %v", name, scores)
			}
		}
	}
	all := asking("films", q)
	all.Outputs, all.ModelVersion = nil, "1"
	if a, err := s.calls().ModelInfer(t.Context(), all); err != nil || len(a.Outputs) != 10 || a.Parameters["answers_version"].GetInt64Param() != 2 {
		t.Errorf("%v %v", a, err)
	}
	var counted statisticsAnswer
	s.do("GET", "/v2/models/stats", nil).want(200).into(&counted)
	if m := counted.Models[0]; m.Inference.Success.Count != 9 || m.InferenceCount != 18 {
		t.Errorf("%+v", m)
	}
	s.stopAll()
	if bodies, answers := s.bodies.Used(), s.answers.Used(); bodies != 0 || answers != 0 {
		t.Errorf("calls that are over hold %d bytes of bodies, %d of answers", bodies, answers)
	}
}

// TestRPCMessagesThatDoNotCome: an announced message takes no memory before it arrives, and
// must arrive.
func TestRPCMessagesThatDoNotCome(t *testing.T) {
	s := start(t, nil)
	s.fill()
	usual := s.pace.grace
	for name, sent := range map[string][]byte{
		"stalled":  append(binary.BigEndian.AppendUint32([]byte{0}, 1<<20), make([]byte, 100)...),
		"no gzip":  append(binary.BigEndian.AppendUint32([]byte{1}, 4), "none"...),
		"a prefix": binary.BigEndian.AppendUint32([]byte{0}, 60<<20),
	} {
		if s.pace.grace = time.Second; name == "no gzip" { // all of it comes
			s.pace.grace = usual
		}
		r, w := io.Pipe()
		ask, err := http.NewRequestWithContext(t.Context(), "POST", s.grpc+inferencepb.GRPCInferenceServiceModelInferProcedure, r)
		if err != nil {
			t.Fatal(err)
		}
		ask.Header.Set("Content-Type", "application/grpc")
		ask.Header.Set("Grpc-Encoding", "gzip")
		go func() { _, _ = w.Write(sent) }()
		a, err := s.http2().Do(ask)
		if err != nil {
			t.Fatal(name, err)
		}
		_, _ = io.Copy(io.Discard, a.Body)
		a.Body.Close()
		w.Close()
		want := map[string]string{"stalled": "4", "no gzip": "3", "a prefix": "4"}[name]
		if got := a.Trailer.Get("Grpc-Status") + a.Header.Get("Grpc-Status"); got != want {
			t.Errorf("%s: status %q, want %s: %v %v", name, got, want, a.Header, a.Trailer)
		}
	}
}

// TestRPCDescribes: descriptions of the server and its models are the same as over HTTP.
func TestRPCDescribes(t *testing.T) {
	s := start(t, nil)
	s.fill()
	ctx, c := t.Context(), s.calls()
	if a, err := c.ServerLive(ctx, &inferencepb.ServerLiveRequest{}); err != nil || !a.Live {
		t.Error(a, err)
	}
	if a, err := c.ServerReady(ctx, &inferencepb.ServerReadyRequest{}); err != nil || !a.Ready {
		t.Error(a, err)
	}
	if a, err := c.ServerMetadata(ctx, &inferencepb.ServerMetadataRequest{}); err != nil || a.Name != "thresher" || a.Version != "(test)" || len(a.Extensions) == 0 {
		t.Error(a, err)
	}
	for name, ready := range map[string]bool{"films": true, "nobody": false} {
		if a, err := c.ModelReady(ctx, &inferencepb.ModelReadyRequest{Name: name}); err != nil || a.Ready != ready {
			t.Error(name, a, err)
		}
	}
	if a, err := c.ModelMetadata(ctx, &inferencepb.ModelMetadataRequest{Name: "films", Version: "1"}); err != nil || len(a.Inputs) != 8 || a.Inputs[0].Shape[1] != dim || len(a.Outputs) != 10 {
		t.Error(a, err)
	}
	if a, err := c.ModelConfig(ctx, &inferencepb.ModelConfigRequest{Name: "films"}); err != nil || a.Config.Input[0].DataType != inferencepb.DataType_TYPE_FP32 ||
		!a.Config.Input[1].Optional || a.Config.VersionPolicy.GetLatest().GetNumVersions() != 1 {
		t.Error(a, err)
	}
	for _, name := range []string{"", "films"} {
		if a, err := c.ModelStatistics(ctx, &inferencepb.ModelStatisticsRequest{Name: name}); err != nil || len(a.ModelStats) != 1 || a.ModelStats[0].Name != "films" {
			t.Error(a, err)
		}
	}
	if a, err := c.RepositoryIndex(ctx, &inferencepb.RepositoryIndexRequest{}); err != nil || len(a.Models) != 1 || a.Models[0].State != "READY" {
		t.Error(a, err)
	}
	health := connect.NewClient[inferencepb.HealthCheckRequest, inferencepb.HealthCheckResponse](s.http2(), s.grpc+healthProcedure, connect.WithGRPC())
	for _, service := range []string{"", "inference.GRPCInferenceService"} {
		a, err := health.CallUnary(ctx, connect.NewRequest(&inferencepb.HealthCheckRequest{Service: service}))
		if err != nil || a.Msg.Status != inferencepb.HealthCheckResponse_SERVING {
			t.Error(a, err)
		}
	}
	if _, err := health.CallUnary(ctx, connect.NewRequest(&inferencepb.HealthCheckRequest{Service: "x"})); connect.CodeOf(err) != connect.CodeNotFound {
		t.Error(err)
	}
}

// TestRPCErrors: each error has its code and the text of the problem over HTTP, and is logged
// and counted.
func TestRPCErrors(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Body, o.Limits.K, o.Limits.Queries = 1<<20, 50, 1000 })
	s.fill()
	q := gaussian(3, 2*dim)
	change := func(f func(*inferencepb.ModelInferRequest)) *inferencepb.ModelInferRequest {
		m := asking("films", append([]float32(nil), q...))
		f(m)
		return m
	}
	for name, c := range map[string]struct {
		ask  *inferencepb.ModelInferRequest
		code connect.Code
		kind string
		says string
	}{
		"model":     {asking("nobody", q), connect.CodeNotFound, "unknown-collection", "nobody"},
		"version":   {change(func(m *inferencepb.ModelInferRequest) { m.ModelVersion = "9" }), connect.CodeNotFound, "unknown-collection", "version 9"},
		"dimension": {change(func(m *inferencepb.ModelInferRequest) { m.Inputs[0].Shape[1]-- }), connect.CodeInvalidArgument, "wrong-dimension", "dimensions"},
		"datatype":  {change(func(m *inferencepb.ModelInferRequest) { m.Inputs[0].Datatype = "FP64" }), connect.CodeInvalidArgument, "invalid-value", "inputs[0] (queries): datatype is \"FP64\""},
		"input":     {change(func(m *inferencepb.ModelInferRequest) { m.Inputs[0].Name = "x" }), connect.CodeInvalidArgument, "unknown-field", "there is no input \"x\""},
		"contents":  {change(func(m *inferencepb.ModelInferRequest) { m.Inputs[0].Contents.Fp32Contents = q[1:] }), connect.CodeInvalidArgument, "invalid-value", "takes 16 values"},
		"too few":   {change(func(m *inferencepb.ModelInferRequest) { raw(m).RawInputContents[0] = []byte{1, 2, 3} }), connect.CodeInvalidArgument, "invalid-value", "takes 64 bytes, raw_input_contents has 3"},
		"raws":      {change(func(m *inferencepb.ModelInferRequest) { raw(m).RawInputContents = make([][]byte, 2) }), connect.CodeInvalidArgument, "malformed-body", "1 inputs and 2 raw_input_contents"},
		"both":      {change(func(m *inferencepb.ModelInferRequest) { c := m.Inputs[0].Contents; raw(m).Inputs[0].Contents = c }), connect.CodeInvalidArgument, "invalid-value", "contents and raw"},
		"negative":  {change(func(m *inferencepb.ModelInferRequest) { m.Inputs[0].Shape = []int64{-2, dim} }), connect.CodeInvalidArgument, "invalid-value", "negative"},
		"huge":      {change(func(m *inferencepb.ModelInferRequest) { m.Inputs[0].Shape = []int64{1 << 62, dim} }), connect.CodeInvalidArgument, "over-limit", "queries"},
		"NaN":       {change(func(m *inferencepb.ModelInferRequest) { m.Inputs[0].Contents.Fp32Contents[dim+1] = float32(math.NaN()) }), connect.CodeInvalidArgument, "not-finite", "query 1, coordinate 1"},
		"nothing":   {change(func(m *inferencepb.ModelInferRequest) { m.Inputs = nil }), connect.CodeInvalidArgument, "no-queries", "missing"},
		"twice":     {change(func(m *inferencepb.ModelInferRequest) { m.Inputs = append(m.Inputs, m.Inputs[0]) }), connect.CodeInvalidArgument, "invalid-value", "twice"},
		"k":         {with(asking("films", q), map[string]*inferencepb.InferParameter{"k": wholeParam(51)}), connect.CodeInvalidArgument, "over-limit", "at most 50 is accepted"},
		"parameter": {with(asking("films", q), map[string]*inferencepb.InferParameter{"kk": wholeParam(51)}), connect.CodeInvalidArgument, "unknown-field", "kk"},
		"delta":     {with(asking("films", q), map[string]*inferencepb.InferParameter{"delta": numberParam(math.NaN())}), connect.CodeInvalidArgument, "invalid-value", "delta"},
		"timeout":   {with(asking("films", q), map[string]*inferencepb.InferParameter{"timeout": textParam("soon")}), connect.CodeInvalidArgument, "invalid-value", "microseconds"},
		"output":    {change(func(m *inferencepb.ModelInferRequest) { m.Outputs[0].Name = "x" }), connect.CodeInvalidArgument, "unknown-field", "there is no output \"x\""},
		"names":     {change(func(m *inferencepb.ModelInferRequest) { m.Outputs[0].Name = "names" }), connect.CodeInvalidArgument, "unknown-field", "are numbers"},
		"size":      {asking("films", make([]float32, 1<<20)), connect.CodeResourceExhausted, "body-too-large", "at most 1048576 are accepted"},
	} {
		_, err := s.calls().ModelInfer(t.Context(), c.ask)
		var e *connect.Error
		if !errors.As(err, &e) || e.Code() != c.code || !strings.Contains(e.Message(), c.says) || c.kind != "" && e.Meta().Get("problem-type") != "/problems/"+c.kind {
			t.Errorf("%s: %v (%v), want %v %s", name, err, e, c.code, c.says)
		}
	}
	// A decompression bomb is refused while it is decompressed.
	zeros := with(asking("films", nil), nil)
	zeros.RawInputContents = [][]byte{make([]byte, 8<<20)}
	if _, err := s.calls(connect.WithSendGzip()).ModelInfer(t.Context(), zeros); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Error(err)
	}
	_, err := connect.NewClient[inferencepb.ServerLiveRequest, inferencepb.ServerLiveResponse](s.http2(), s.grpc+"/inference.GRPCInferenceService/Dance", connect.WithGRPC()).CallUnary(t.Context(), connect.NewRequest(&inferencepb.ServerLiveRequest{}))
	if connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Error(err)
	}
	s.stopAll()
	if text := s.log.String(); !strings.Contains(text, `no input \"x\"`) || !strings.Contains(text, "at most 1048576 are accepted") || strings.Contains(text, `"level":"ERROR"`) {
		t.Errorf("%s", text)
	}
}

// TestRPCStream: one answer for each message, in order; an invalid message does not affect
// the others.
func TestRPCStream(t *testing.T) {
	s := start(t, nil)
	rows := s.fill()
	stream, err := s.calls().ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		q := gaussian(uint64(i), dim)
		ask := asking("films", q)
		if i == 2 {
			ask.ModelName = "nobody"
		}
		if err := stream.Send(ask); err != nil {
			t.Fatal(err)
		}
		a, err := stream.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			if !strings.Contains(a.ErrorMessage, "nobody") || a.InferResponse.GetId() != "7" {
				t.Errorf("%v", a)
			}
			continue
		}
		if ids := idsOf(t, a.InferResponse); a.ErrorMessage != "" || ids[0] != best(rows, q) {
			t.Errorf("%v", a)
		}
	}
	if err := stream.CloseRequest(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Receive(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestRPCTokens: calls need the same tokens as requests.
func TestRPCTokens(t *testing.T) {
	s := start(t, guarded)
	if _, err := s.calls().ServerMetadata(t.Context(), &inferencepb.ServerMetadataRequest{}); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Error(err)
	}
	if _, err := s.calls().ServerLive(t.Context(), &inferencepb.ServerLiveRequest{}); err != nil {
		t.Error(err)
	}
	s.token = "r-secret"
	if _, err := s.calls().ServerMetadata(t.Context(), &inferencepb.ServerMetadataRequest{}); err != nil {
		t.Error(err)
	}
}

// TestRPCDeadline: the deadline of a call applies to its search, whose best so far is sent
// before the deadline.
func TestRPCDeadline(t *testing.T) {
	s := start(t, nil)
	s.fill()
	s.hooks.halve(2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	inTime(t, func(deadline time.Duration) (late bool) {
		ask := with(asking("films", gaussian(3, 2*dim)), map[string]*inferencepb.InferParameter{"timeout": wholeParam(deadline.Microseconds()), "method": textParam("exact")})
		ask.Outputs = []*inferencepb.ModelInferRequest_InferRequestedOutputTensor{{Name: "complete"}}
		a, err := s.calls().ModelInfer(ctx, ask)
		if connect.CodeOf(err) == connect.CodeDeadlineExceeded {
			return true
		}
		if err != nil {
			t.Fatal(err)
		}
		complete := a.RawOutputContents[0]
		if late = bytes.Equal(complete, []byte{0, 0}); !late && !bytes.Equal(complete, []byte{1, 0}) {
			t.Errorf("%v", a)
		}
		return late
	})
	s.hooks.halve(0)
	s.hooks.set(untilStopped, nil)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.calls().ModelInfer(short, asking("films", gaussian(3, dim))); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Error(err)
	}
	if left, err := beforeDeadline(0, 80*time.Millisecond, time.Second); err != nil || left != time.Second+70*time.Millisecond {
		t.Error(left, err)
	}
	if left, err := beforeDeadline(time.Minute, time.Second, 0); err != nil || left != time.Second-maxAhead {
		t.Error(left, err)
	}
	if left, err := beforeDeadline(time.Millisecond, time.Second, 0); err != nil || left != time.Millisecond {
		t.Error(left, err)
	}
	if _, err := beforeDeadline(0, -1, 0); err == nil {
		t.Error("there was no time")
	}
}

// TestRPCAnswersNothingElse: browsers and clients of other protocols are told what the
// address is for.
func TestRPCAnswersNothingElse(t *testing.T) {
	s := start(t, nil)
	for _, kind := range []string{"application/json", "application/proto", "application/grpc-web"} {
		r, err := s.http2().Post(s.grpc+inferencepb.GRPCInferenceServiceServerLiveProcedure, kind, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != http.StatusUnsupportedMediaType || !strings.Contains(string(text), "gRPC") {
			t.Errorf("%s: %d %s", kind, r.StatusCode, text)
		}
	}
}

// TestRPCTakesDeflate: deflate is accepted as gRPC's own clients send it.
func TestRPCTakesDeflate(t *testing.T) {
	s := start(t, nil)
	s.fill()
	deflate := connect.WithAcceptCompression("deflate", func() connect.Decompressor { return &inflater{} }, newDeflater)
	for range 2 { // the second time with reused decompressors
		a, err := s.calls(deflate, connect.WithSendCompression("deflate")).ModelInfer(t.Context(), asking("films", gaussian(3, dim)))
		if err != nil || len(idsOf(t, a)) != 10 {
			t.Errorf("%v %v", a, err)
		}
	}
}

// inflater decompresses zlib for connect.
type inflater struct{ io.ReadCloser }

func (i *inflater) Reset(r io.Reader) (err error) {
	i.ReadCloser = nil
	if i.ReadCloser, err = zlib.NewReader(r); err == io.EOF { // connect resets it to an empty reader when it returns it to its pool
		err = nil
	}
	return err
}

func (i *inflater) Close() error { return nil }

package oip

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"thresher/batch"
	"thresher/dataset"
	"thresher/service/oip/inferencepb"
	"thresher/service/problem"
	"thresher/service/wire"
)

// DecodeMessage reads the request of ModelInfer to a collection of dimension dim, by the
// rules of Decode. Queries may share m's memory. Errors are of type *problem.Problem.
//
// A parameter that is a list elsewhere (filter, exclude) is a string here, its elements separated
// by commas.
func DecodeMessage(m *inferencepb.ModelInferRequest, dim int, l wire.Limits) (*Request, error) {
	d := &decoder{draft: wire.NewDraft(dim, l), limits: l, dim: dim, request: Request{ID: m.GetId(), Binary: true}}
	d.draft.Single() // FP32 is the type that inputs state
	for _, name := range slices.Sorted(maps.Keys(m.GetParameters())) {
		if err := d.messageParameter(name, m.GetParameters()[name]); err != nil {
			return nil, inField(err, cut([]byte(name)))
		}
	}
	raw := m.GetRawInputContents()
	if len(raw) > 0 && len(raw) != len(m.GetInputs()) {
		return nil, problem.New(problem.Malformed, "there are %d inputs and %d raw_input_contents", len(m.GetInputs()), len(raw)).
			In("raw_input_contents").Within(len(m.GetInputs()))
	}
	for i, in := range m.GetInputs() {
		t := input{at: i, name: in.GetName(), datatype: in.GetDatatype(), shape: in.GetShape(), size: -1}
		var b []byte
		if len(raw) > 0 {
			b, t.size = raw[i], int64(len(raw[i]))
		}
		if err := d.message(&t, in, b); err != nil {
			return nil, t.wrong(err)
		}
	}
	for i, o := range m.GetOutputs() {
		if err := d.want(o.GetName(), o.GetParameters()); err != nil {
			return nil, nth(err, "outputs", i)
		}
	}
	return d.complete()
}

// messageParameter reads one parameter of a request.
func (d *decoder) messageParameter(name string, p *inferencepb.InferParameter) error {
	switch {
	case name == "timeout":
		us, err := microseconds(p)
		if err == nil && us != 0 { // 0 means the default
			err = d.draft.Number("deadline_ms", float64(us)/1000)
		}
		return err
	case ignored(name):
		return nil
	case name == "include":
		return problem.New(problem.UnknownField, "include: in this protocol the request lists outputs instead")
	}
	var value any
	switch v := p.GetParameterChoice().(type) {
	case *inferencepb.InferParameter_StringParam:
		return d.draft.Text(name, []string{v.StringParam})
	case *inferencepb.InferParameter_BoolParam:
		value = v.BoolParam
	case *inferencepb.InferParameter_Int64Param:
		value = v.Int64Param
	case *inferencepb.InferParameter_Uint64Param:
		value = v.Uint64Param
	case *inferencepb.InferParameter_DoubleParam:
		value = v.DoubleParam
	}
	text, err := json.Marshal(value)
	if err != nil || value == nil { // NaN and infinities have no JSON
		return problem.New(problem.InvalidValue, "%s is %v, which it cannot have", name, value)
	}
	_, err = d.draft.Option(name, text, 0)
	return err
}

// ignored lists the parameters without meaning here: those of sequences, priorities and the
// transfer of answers.
func ignored(name string) bool {
	switch name {
	case "priority", "sequence_id", "sequence_start", "sequence_end", "headers", "binary_data_output":
		return true
	}
	return strings.HasPrefix(name, "triton_")
}

func microseconds(p *inferencepb.InferParameter) (int64, error) {
	switch v := p.GetParameterChoice().(type) {
	case *inferencepb.InferParameter_Int64Param:
		return v.Int64Param, nil
	case *inferencepb.InferParameter_Uint64Param:
		return int64(min(v.Uint64Param, math.MaxInt64)), nil
	case *inferencepb.InferParameter_StringParam:
		if us, err := strconv.ParseInt(v.StringParam, 10, 64); err == nil {
			return us, nil
		}
	}
	return 0, problem.New(problem.InvalidValue, "timeout is %v, a whole number of microseconds is wanted", p)
}

// message reads an input whose bytes are b, or whose elements are in the message.
func (d *decoder) message(t *input, in *inferencepb.ModelInferRequest_InferInputTensor, b []byte) error {
	if err := known(t.name); err != nil {
		return err
	}
	for name := range in.GetParameters() {
		return problem.New(problem.UnknownField, "there is no parameter %q", cut([]byte(name))).Within([]string{})
	}
	if len(t.shape) > 2 {
		return problem.New(problem.InvalidValue, "shape has more than 2 dimensions").Within(2)
	}
	if i := slices.IndexFunc(t.shape, func(size int64) bool { return size < 0 }); i >= 0 {
		return problem.New(problem.InvalidValue, "shape has the negative size %d", t.shape[i]).Within(0)
	}
	if err := d.check(t); err != nil {
		return err
	}
	c := in.GetContents()
	switch {
	case t.size >= 0 && c != nil:
		return problem.New(problem.InvalidValue, "there are contents and raw_input_contents").In(t.name)
	case t.size >= 0:
		if err := t.checkSize("raw_input_contents has"); err != nil {
			return err
		}
		return d.tensor(t, b)
	}
	return d.contents(t, c)
}

// contents reads the elements of an input.
func (d *decoder) contents(t *input, c *inferencepb.InferTensorContents) error {
	if t.perQuery() {
		t.contentEntries(c)
		return d.setEntries(t)
	}
	have := len(c.GetFp32Contents())
	if t.name == "k" {
		have = len(c.GetIntContents())
	}
	if need, ok := product(t.shape); !ok || need != int64(have) {
		return problem.New(problem.InvalidValue, "shape %v takes %s values, contents of %s have %d", t.shape, figure(need, ok), t.datatype, have).
			In(t.name).Within(figure(need, ok))
	}
	switch t.name {
	case "k":
		return d.draft.Integer(t.name, int64(c.GetIntContents()[0]))
	case "delta":
		return d.draft.Number(t.name, widen(c.GetFp32Contents()[0]))
	}
	return d.draft.Floats(c.GetFp32Contents())
}

// want records a requested output by its name.
func (d *decoder) want(name string, parameters map[string]*inferencepb.InferParameter) error {
	for p := range parameters {
		if p != "binary_data" {
			return problem.New(problem.UnknownField, "there is no parameter %q", cut([]byte(p))).Within([]string{"binary_data"})
		}
	}
	return d.wantOutput(Output{Name: name, Binary: true})
}

// Message encodes resp as Answer does; all outputs are raw.
func (r *Request) Message(model string, version int64, resp *batch.Response, ids wire.Naming) (*inferencepb.ModelInferResponse, error) {
	wanted, err := r.wanted(ids)
	if err != nil {
		return nil, err
	}
	m := &inferencepb.ModelInferResponse{ModelName: model, ModelVersion: strconv.FormatInt(version, 10), Id: r.ID,
		Parameters: map[string]*inferencepb.InferParameter{"answers_version": {ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: dataset.AnswersVersion}}}}
	k := longest(resp)
	for i := range wanted {
		o := &wanted[i].output
		shape := []int64{int64(len(resp.Answers))}
		columns := 1
		if o.wide {
			columns, shape = k, append(shape, int64(k))
		}
		data := make([]byte, 0, 8*columns*len(resp.Answers))
		for a := range resp.Answers {
			for j := range columns {
				data = o.binary(data, o.cell(&resp.Answers[a], j, ids))
			}
		}
		m.Outputs = append(m.Outputs, &inferencepb.ModelInferResponse_InferOutputTensor{Name: o.name, Datatype: o.datatype, Shape: shape})
		m.RawOutputContents = append(m.RawOutputContents, data)
	}
	return m, nil
}

// Messages that describe a server and its models, with the content of the corresponding
// bodies.

// Message is s as a message.
func (s ServerMetadata) Message() *inferencepb.ServerMetadataResponse {
	return &inferencepb.ServerMetadataResponse{Name: s.Name, Version: s.Version, Extensions: s.Extensions}
}

// Message is m as a message.
func (m Model) Message() *inferencepb.ModelMetadataResponse {
	tensors := func(from []Tensor) (to []*inferencepb.ModelMetadataResponse_TensorMetadata) {
		for _, t := range from {
			to = append(to, &inferencepb.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Datatype, Shape: t.Shape})
		}
		return to
	}
	return &inferencepb.ModelMetadataResponse{Name: m.Name, Versions: m.Versions, Platform: m.Platform, Inputs: tensors(m.Inputs), Outputs: tensors(m.Outputs)}
}

// Message is c as a message.
func (c ModelConfig) Message() *inferencepb.ModelConfigResponse {
	m := &inferencepb.ModelConfig{
		Name: c.Name, Platform: c.Platform, Backend: c.Backend, MaxBatchSize: int32(c.MaxBatchSize),
		VersionPolicy: &inferencepb.ModelVersionPolicy{PolicyChoice: &inferencepb.ModelVersionPolicy_Latest_{
			Latest: &inferencepb.ModelVersionPolicy_Latest{NumVersions: uint32(c.VersionPolicy.Latest.NumVersions)},
		}},
	}
	for _, t := range c.Input {
		m.Input = append(m.Input, &inferencepb.ModelInput{Name: t.Name, DataType: dataType(t.DataType), Dims: t.Dims, Optional: t.Optional})
	}
	for _, t := range c.Output {
		m.Output = append(m.Output, &inferencepb.ModelOutput{Name: t.Name, DataType: dataType(t.DataType), Dims: t.Dims})
	}
	return &inferencepb.ModelConfigResponse{Config: m}
}

func dataType(name string) inferencepb.DataType {
	return inferencepb.DataType(inferencepb.DataType_value[name])
}

// Message is m as a message.
func (m ModelStatistics) Message() *inferencepb.ModelStatistics {
	duration := func(d DurationStat) *inferencepb.StatisticDuration {
		return &inferencepb.StatisticDuration{Count: uint64(d.Count), Ns: uint64(max(d.NS, 0))}
	}
	in := m.Inference
	return &inferencepb.ModelStatistics{
		Name: m.Name, Version: m.Version, LastInference: uint64(m.LastInference),
		InferenceCount: uint64(m.InferenceCount), ExecutionCount: uint64(m.ExecutionCount),
		InferenceStats: &inferencepb.InferStatistics{
			Success: duration(in.Success), Fail: duration(in.Fail), Queue: duration(in.Queue),
			ComputeInput: duration(in.ComputeInput), ComputeInfer: duration(in.ComputeInfer), ComputeOutput: duration(in.ComputeOutput),
			CacheHit: duration(in.CacheHit), CacheMiss: duration(in.CacheMiss),
		},
	}
}

// Message is m as a message.
func (m ModelIndex) Message() *inferencepb.RepositoryIndexResponse_ModelIndex {
	return &inferencepb.RepositoryIndexResponse_ModelIndex{Name: m.Name, Version: m.Version, State: m.State, Reason: m.Reason}
}

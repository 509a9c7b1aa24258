package oip

import (
	"fmt"
	"slices"
	"strings"

	"thresher/dataset/jsonscan"
	"thresher/service/problem"
	"thresher/service/wire"
)

// HeaderLength is the HTTP header with the length of a body's JSON, if binary tensors follow
// it.
const HeaderLength = "Inference-Header-Content-Length"

// Request is an inference request.
type Request struct {
	ID      string // repeated in the answer
	Search  *wire.Search
	Outputs []Output // requested outputs, in order; nil for all
	Binary  bool     // outputs that are not listed are binary
}

// Output is one requested tensor.
type Output struct {
	Name   string
	Binary bool
}

// Decode reads a request to a collection of dimension dim. headerLength is the value of the
// header Inference-Header-Content-Length, -1 without one: then all of body is JSON; 0 means
// that body consists of the queries only, little-endian float32. Queries may share body's
// memory. Errors are of type *problem.Problem.
//
// Inputs are queries FP32 [m, dim], and optionally k INT32 [1] and delta FP32 [1], and with an
// entry for each query ks INT32 [m], floors and ceilings FP64 or FP32 [m], exclude and candidates
// INT64 [m, c], or BYTES [m, c] where ids are strings. The other fields of a search's JSON
// body, except include, are parameters of the request, as k and delta may be, and timeout in
// microseconds. Parameters for sequences and priorities are ignored.
func Decode(body []byte, headerLength, dim int, l wire.Limits) (*Request, error) {
	d := &decoder{body: body, draft: wire.NewDraft(dim, l), limits: l, dim: dim}
	d.draft.Single() // FP32 is the type that inputs state
	if headerLength > len(body) {
		return nil, problem.New(problem.Malformed, "%s is %d, the body has %d bytes", HeaderLength, headerLength, len(body)).In(HeaderLength).Within(len(body))
	}
	var err error
	switch {
	case headerLength < 0:
		err = d.json(body)
	case headerLength == 0:
		err = d.rawQueries(body)
	default:
		if err = d.json(body[:headerLength]); err == nil {
			err = d.tensors(body[headerLength:])
		}
	}
	if err == nil && headerLength < 0 {
		err = d.withoutTensors()
	}
	if err != nil {
		return nil, problem.Unreadable(err)
	}
	for i := range d.request.Outputs {
		if !slices.Contains(d.stated, i) {
			d.request.Outputs[i].Binary = d.request.Binary
		}
	}
	return d.complete()
}

// complete returns the request with its search, which finds what the outputs need.
func (d *decoder) complete() (*Request, error) {
	var err error
	if d.request.Search, err = d.draft.Search(); err != nil {
		return nil, err
	}
	d.request.Search.Scores64 = len(d.request.Outputs) == 0 || slices.ContainsFunc(d.request.Outputs, func(o Output) bool { return o.Name == scores64 })
	return &d.request, nil
}

// decoder reads one request.
type decoder struct {
	body    []byte
	draft   *wire.Draft
	limits  wire.Limits
	dim     int
	request Request
	// binary lists the inputs whose data follow the JSON, in the order of the data.
	binary []input
	// stated lists the outputs that say themselves whether they are binary.
	stated []int
}

// json reads the request's JSON.
func (d *decoder) json(b []byte) error {
	seen := map[string]bool{}
	end, err := jsonscan.Fields(b, jsonscan.Space(b, 0), func(key []byte, at int) (int, error) {
		name := cut(key)
		if seen[name] {
			return at, problem.New(problem.InvalidValue, "%s is given twice", name).In(name)
		}
		seen[name] = true
		next, err := d.field(name, b, at)
		return next, inField(err, name)
	})
	if err != nil {
		return err
	}
	if end = jsonscan.Space(b, end); end < len(b) {
		return jsonscan.Wanted(b, end, "the end of the JSON")
	}
	return nil
}

func (d *decoder) field(name string, b []byte, at int) (next int, err error) {
	switch name {
	case "id":
		d.request.ID, next, err = text(name, b, at)
		return next, err
	case "model_name", "model_version": // some clients repeat them from the path
		return jsonscan.Value(b, at)
	case "parameters":
		return jsonscan.Fields(b, at, func(key []byte, at int) (int, error) {
			next, err := d.parameter(string(key), b, at)
			return next, inField(err, cut(key))
		})
	case "inputs":
		return jsonscan.Elements(b, at, func(n, at int) (int, error) {
			return d.input(n, b, at)
		})
	case "outputs":
		return jsonscan.Elements(b, at, func(n, at int) (int, error) {
			next, err := d.output(n, b, at)
			return next, nth(err, name, n)
		})
	}
	return at, problem.New(problem.UnknownField, "there is no field %q", name).In(name).
		Within([]string{"id", "parameters", "inputs", "outputs"})
}

func (d *decoder) parameter(name string, b []byte, at int) (next int, err error) {
	switch name {
	case "binary_data_output":
		d.request.Binary, next, err = flag(name, b, at)
		return next, err
	case "timeout":
		us, next, err := parseInt(name, b, at)
		if err == nil && us != 0 { // 0 means the default
			err = d.draft.Number("deadline_ms", float64(us)/1000)
		}
		return next, err
	case "priority", "sequence_id", "sequence_start", "sequence_end", "headers":
		return jsonscan.Value(b, at)
	case "include":
		return at, problem.New(problem.UnknownField, "include: in this protocol the request lists outputs instead")
	}
	return d.draft.Option(name, b, at)
}

// output reads the n-th requested output.
func (d *decoder) output(n int, b []byte, at int) (int, error) {
	var o Output
	next, err := jsonscan.Fields(b, at, func(key []byte, at int) (next int, err error) {
		switch name := cut(key); name {
		case "name":
			o.Name, next, err = text("name", b, at)
			return next, err
		case "parameters":
			return jsonscan.Fields(b, at, func(key []byte, at int) (next int, err error) {
				if name := cut(key); name != "binary_data" {
					return at, problem.New(problem.UnknownField, "there is no parameter %q", name).Within([]string{"binary_data"})
				}
				d.stated = append(d.stated, n)
				o.Binary, next, err = flag("binary_data", b, at)
				return next, err
			})
		default:
			return at, problem.New(problem.UnknownField, "there is no field %q", name).Within([]string{"name", "parameters"})
		}
	})
	if err != nil {
		return next, err
	}
	if err := d.wantOutput(o); err != nil {
		return at, err
	}
	return next, nil
}

// wantOutput records a requested output.
func (d *decoder) wantOutput(o Output) error {
	if names := outputNames(); !slices.Contains(names, o.Name) {
		return problem.New(problem.UnknownField, "there is no output %q", cut([]byte(o.Name))).Within(names)
	}
	if slices.ContainsFunc(d.request.Outputs, func(other Output) bool { return other.Name == o.Name }) {
		return problem.New(problem.InvalidValue, "%s is requested twice", o.Name)
	}
	d.request.Outputs = append(d.request.Outputs, o)
	return nil
}

// inField is problem.Unreadable with the name of the field, unless one is named.
func inField(err error, field string) error {
	if err == nil {
		return nil
	}
	p := problem.Unreadable(err)
	if p.Field == "" {
		p.Field = field
		if !strings.HasPrefix(p.Detail, field) {
			p.Detail = field + ": " + p.Detail
		}
	}
	return p
}

// nth is inField for an element of the field.
func nth(err error, field string, n int) error {
	if err == nil {
		return nil
	}
	p := problem.Unreadable(err)
	if p.Field == "" {
		p.Detail = fmt.Sprintf("%s[%d]: %s", field, n, p.Detail)
		p.At(field, n)
	}
	return p
}

// cut shortens text of a body for a message.
func cut(s []byte) string { return fmt.Sprintf("%.60s", s) }

package oip

import (
	"strconv"

	"thresher/batch"
	"thresher/service/problem"
	"thresher/service/wire"
)

// Answer encodes resp as the answer of model to r. headerLength is the length of its JSON, to
// be sent as the header Inference-Header-Content-Length with the type
// application/octet-stream, or -1 if all of body is JSON. The only error, a *problem.Problem,
// is a request for names from a collection without string ids.
//
// k, the second dimension of outputs with a value for each id, is the length of the longest
// answer.
func (r *Request) Answer(model string, version int64, resp *batch.Response, ids wire.Naming) (body []byte, headerLength int, err error) {
	wanted, err := r.wanted(ids)
	if err != nil {
		return nil, -1, err
	}
	k := longest(resp)
	var tail []byte
	head := append([]byte(nil), `{"model_name":`...)
	head = wire.AppendString(head, model)
	head = append(head, `,"model_version":"`...)
	head = strconv.AppendInt(head, version, 10)
	head = append(head, '"')
	if r.ID != "" {
		head = append(head, `,"id":`...)
		head = wire.AppendString(head, r.ID)
	}
	head = append(wire.AppendVersion(append(head, `,"parameters":{`...)), `},"outputs":[`...)
	for i := range wanted {
		if i > 0 {
			head = append(head, ',')
		}
		head, tail = wanted[i].append(head, tail, resp, k, ids)
	}
	head = append(head, `]}`...)
	for i := range wanted {
		if wanted[i].asBinary {
			return append(head, tail...), len(head), nil
		}
	}
	return head, -1, nil
}

// longest returns the length of the longest answer.
func longest(resp *batch.Response) int {
	k := 0
	for i := range resp.Answers {
		k = max(k, len(resp.Answers[i].IDs))
	}
	return k
}

// tensor is an output in the requested format.
type tensor struct {
	output
	asBinary bool
}

// wanted lists the outputs that r requests, by default all.
func (r *Request) wanted(ids wire.Naming) ([]tensor, error) {
	var wanted []tensor
	if len(r.Outputs) == 0 {
		for _, o := range outputs() {
			if o.name != names || ids.Textual() {
				wanted = append(wanted, tensor{o, r.Binary})
			}
		}
		return wanted, nil
	}
	for i, x := range r.Outputs {
		if x.Name == names && !ids.Textual() {
			return nil, problem.New(problem.UnknownField, "output names: the ids of this collection are numbers").At("outputs", i)
		}
		for _, o := range outputs() {
			if o.name == x.Name {
				wanted = append(wanted, tensor{o, x.Binary})
			}
		}
	}
	return wanted, nil
}

// append appends the tensor to the JSON, and its data to that or to tail.
func (t *tensor) append(head, tail []byte, resp *batch.Response, k int, ids wire.Naming) (newHead, newTail []byte) {
	head = append(head, `{"name":"`...)
	head = append(head, t.name...)
	head = append(head, `","datatype":"`...)
	head = append(head, t.datatype...)
	head = append(head, `","shape":[`...)
	head = strconv.AppendInt(head, int64(len(resp.Answers)), 10)
	columns := 1
	if t.wide {
		columns = k
		head = append(head, ',')
		head = strconv.AppendInt(head, int64(k), 10)
	}
	before := len(tail)
	if !t.asBinary {
		head = append(head, `],"data":[`...)
	}
	for i := range resp.Answers {
		for j := range columns {
			c := t.cell(&resp.Answers[i], j, ids)
			if t.asBinary {
				tail = t.binary(tail, c)
				continue
			}
			if i+j > 0 {
				head = append(head, ',')
			}
			head = t.json(head, c)
		}
	}
	if t.asBinary {
		head = append(head, `],"parameters":{"binary_data_size":`...)
		head = strconv.AppendInt(head, int64(len(tail)-before), 10)
		return append(head, '}', '}'), tail
	}
	return append(head, ']', '}'), tail
}

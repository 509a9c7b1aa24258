package oip

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "thresher/internal/draws"
	"thresher/service/oip/inferencepb"
	"thresher/service/problem"
	"thresher/service/wire"
)

// drawnGoals are goals in the form of tensors, and what they stand for.
type drawnGoals struct {
	names, datatypes []string
	shapes           [][]int64
	data             []any // []int32, []float32, []float64, []int64 or []string
	want             []wire.QueryGoal
}

func drawGoals(t *rapid.T, m int) *drawnGoals {
	d := &drawnGoals{want: make([]wire.QueryGoal, m)}
	add := func(name, datatype string, shape []int64, data any) {
		d.names, d.datatypes, d.shapes, d.data = append(d.names, name), append(d.datatypes, datatype), append(d.shapes, shape), append(d.data, data)
	}
	for j := range d.want {
		d.want[j] = wire.QueryGoal{K: 5}
	}
	for _, name := range rapid.Permutation([]string{"ks", "floors", "ceilings", "exclude", "candidates"}).Draw(t, "inputs")[:rapid.IntRange(0, 5).Draw(t, "inputs given")] {
		switch name {
		case "ks":
			ks := rapid.SliceOfN(rapid.Int32Range(1, 40), m, m).Draw(t, name)
			for j, k := range ks {
				d.want[j].K = int(k)
			}
			add(name, "INT32", []int64{int64(m)}, ks)
		case "floors", "ceilings":
			if rapid.Bool().Draw(t, name+" in FP64") {
				limits := rapid.SliceOfN(rapid.OneOf(rapid.Float64(), rapid.Just(math.Inf(-1)), rapid.Just(math.Inf(1))), m, m).Draw(t, name)
				for j := range limits {
					d.limit(name, j, limits[j])
				}
				add(name, "FP64", []int64{int64(m)}, limits)
				continue
			}
			limits := rapid.SliceOfN(rapid.OneOf(rapid.Float32Range(-9, 9), rapid.Just(float32(math.Inf(-1))), rapid.Just(float32(math.Inf(1)))), m, m).Draw(t, name)
			for j, x := range limits {
				d.limit(name, j, widen(x))
			}
			add(name, "FP32", []int64{int64(m)}, limits)
		default:
			c := rapid.IntRange(1, 4).Draw(t, "columns")
			textual := rapid.Bool().Draw(t, name+" are text")
			var whole []int64
			var texts []string
			for j := range m {
				var l wire.IDList
				given := rapid.IntRange(0, c).Draw(t, "given")
				for i := range c {
					id := int64(-1)
					if i < given {
						id = rapid.Int64Range(0, 99).Draw(t, "id")
						if textual {
							l.Names = append(l.Names, fmt.Sprint("é", id))
						} else {
							l.Ints = append(l.Ints, id)
						}
					}
					whole = append(whole, id)
					texts = append(texts, map[bool]string{true: "", false: fmt.Sprint("é", id)}[id < 0])
				}
				switch to := &l; {
				case given == 0:
				case name == "exclude":
					d.want[j].Exclude = to
				default:
					d.want[j].Candidates = to
				}
			}
			if textual {
				add(name, "BYTES", []int64{int64(m), int64(c)}, texts)
			} else {
				add(name, "INT64", []int64{int64(m), int64(c)}, whole)
			}
		}
	}
	if len(d.names) == 0 {
		d.want = nil
	}
	return d
}

// limit sets a limit that is wanted; an infinite one is none.
func (d *drawnGoals) limit(name string, j int, x float64) {
	switch {
	case math.IsInf(x, 0):
	case name == "floors":
		d.want[j].MinScore = &x
	default:
		d.want[j].MaxScore = &x
	}
}

// binary returns the binary form of an input.
func (d *drawnGoals) binary(i int) []byte {
	texts, textual := d.data[i].([]string)
	if !textual {
		return bytesFrom(d.data[i])
	}
	var b []byte
	for _, s := range texts {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	return b
}

// TestGoalsComeBack: goals arrive as they were sent, as JSON, as binary data, and over gRPC in both
// of its forms.
func TestGoalsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 4).Draw(t, "m")
		d := drawGoals(t, m)
		inputs := []any{map[string]any{"name": "queries", "datatype": "FP32", "shape": []int{m, dim}, "data": make([]float32, m*dim)}}
		var tail []byte
		message := &inferencepb.ModelInferRequest{
			Parameters: map[string]*inferencepb.InferParameter{"k": {ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: 5}}},
			Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{
				Name: "queries", Datatype: "FP32", Shape: []int64{int64(m), dim}, Contents: &inferencepb.InferTensorContents{Fp32Contents: make([]float32, m*dim)},
			}},
		}
		raw := rapid.Bool().Draw(t, "raw")
		if raw {
			message.Inputs[0].Contents = nil
			message.RawInputContents = [][]byte{make([]byte, 4*m*dim)}
		}
		for i, name := range d.names {
			in := map[string]any{"name": name, "datatype": d.datatypes[i], "shape": d.shapes[i]}
			if rapid.Bool().Draw(t, name+" binary") {
				b := d.binary(i)
				in["parameters"] = map[string]any{"binary_data_size": len(b)}
				tail = append(tail, b...)
			} else {
				in["data"] = d.json(t, i)
			}
			inputs = append(inputs, in)
			tensor := &inferencepb.ModelInferRequest_InferInputTensor{Name: name, Datatype: d.datatypes[i], Shape: d.shapes[i]}
			if raw {
				message.RawInputContents = append(message.RawInputContents, d.binary(i))
			} else {
				tensor.Contents = d.contents(i)
			}
			message.Inputs = append(message.Inputs, tensor)
		}
		head, err := json.Marshal(map[string]any{"parameters": map[string]any{"k": 5}, "inputs": inputs})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(append(head, tail...), len(head), dim, wire.Limits{Queries: 4})
		if err != nil {
			t.Fatalf("%s: %v", head, err)
		}
		if diff := cmp.Diff(d.want, got.Search.Goals); diff != "" {
			t.Fatalf("%s: %s", head, diff)
		}
		if got, err = DecodeMessage(message, dim, wire.Limits{Queries: 4}); err != nil {
			t.Fatalf("%v: %v", message, err)
		}
		if diff := cmp.Diff(d.want, got.Search.Goals); diff != "" {
			t.Fatalf("%v: %s", message, diff)
		}
	})
}

// json returns the JSON data of an input, flat or nested.
func (d *drawnGoals) json(t *rapid.T, i int) any {
	var flat []any
	switch data := d.data[i].(type) {
	case []float32:
		for _, x := range data {
			if math.IsInf(float64(x), 0) {
				flat = append(flat, nil)
			} else {
				flat = append(flat, x)
			}
		}
	case []float64:
		for _, x := range data {
			if math.IsInf(x, 0) {
				flat = append(flat, nil)
			} else {
				flat = append(flat, x)
			}
		}
	case []int32:
		return data
	case []int64:
		for _, x := range data {
			flat = append(flat, x)
		}
	case []string:
		for _, x := range data {
			flat = append(flat, x)
		}
	}
	if len(d.shapes[i]) == 1 || rapid.Bool().Draw(t, "flat") {
		return flat
	}
	var rows []any
	for c := int(d.shapes[i][1]); len(flat) > 0; flat = flat[c:] {
		rows = append(rows, flat[:c])
	}
	return rows
}

func (d *drawnGoals) contents(i int) *inferencepb.InferTensorContents {
	c := &inferencepb.InferTensorContents{}
	switch data := d.data[i].(type) {
	case []float32:
		c.Fp32Contents = data
	case []float64:
		c.Fp64Contents = data
	case []int32:
		c.IntContents = data
	case []int64:
		c.Int64Contents = data
	case []string:
		for _, s := range data {
			c.BytesContents = append(c.BytesContents, []byte(s))
		}
	}
	return c
}

func TestBadGoals(t *testing.T) {
	const q = `{"name":"queries","shape":[2,3],"datatype":"FP32","data":[1,2,3,4,5,6]}`
	nan := float32(math.NaN())
	l := limits()
	l.Listed = 3
	for _, x := range []struct {
		input string
		tail  []byte
		kind  problem.Kind
		field string
		index int
		says  string
	}{
		{`{"name":"floors","shape":[1],"datatype":"FP32","data":[1]}`, nil, problem.InvalidValue, "floors", -1, "floors has 1 entries for 2 queries"},
		{`{"name":"floors","shape":[2,1],"datatype":"FP32","data":[1,2]}`, nil, problem.InvalidValue, "floors", -1, "inputs[1] (floors): shape is [2 1], [m] is wanted"},
		{`{"name":"floors","shape":[2],"datatype":"FP32","data":[1]}`, nil, problem.InvalidValue, "floors", -1, "inputs[1] (floors): shape [2] takes 2 values, data has 1"},
		{`{"name":"floors","shape":[2],"datatype":"INT64","data":[1,2]}`, nil, problem.InvalidValue, "floors", -1, `datatype is "INT64", FP64 or FP32 is wanted`},
		{`{"name":"floors","shape":[2],"datatype":"FP64","parameters":{"binary_data_size":8}}`, make([]byte, 8), problem.InvalidValue, "floors", -1, "shape [2] of FP64 takes 16 bytes, binary_data_size is 8"},
		{`{"name":"floors","shape":[2],"datatype":"FP32","data":[1,"2"]}`, nil, problem.InvalidValue, "floors", -1, `floors[1] is "2", a number, or null for no limit, is wanted`},
		{`{"name":"ceilings","shape":[2],"datatype":"FP32","data":[1,1e999]}`, nil, problem.InvalidValue, "ceilings", 1, "ceilings[1] is 1e999, beyond"},
		{`{"name":"ceilings","shape":[2],"datatype":"FP32","parameters":{"binary_data_size":8}}`, bytesFrom([]float32{1, nan}), problem.InvalidValue, "ceilings", 1, "ceilings[1] is NaN; an infinite value sets no limit"},
		{`{"name":"ceilings","shape":[5],"datatype":"FP32","data":[1,2,3,4,5]}`, nil, problem.OverLimit, "ceilings", -1, "ceilings has 5 entries; a search may have at most 4 queries"},
		{`{"name":"ks","shape":[2],"datatype":"INT32","data":[1,51]}`, nil, problem.OverLimit, "ks", 1, "ks[1]: k is 51, at most 50"},
		{`{"name":"ks","shape":[2],"datatype":"INT32","parameters":{"binary_data_size":8}}`, bytesFrom([]int32{0, 1}), problem.InvalidValue, "ks", 0, "ks[0]: k is 0, at least 1"},
		{`{"name":"exclude","shape":[2],"datatype":"INT64","data":[1,2]}`, nil, problem.InvalidValue, "exclude", -1, "shape is [2], [m, c] is wanted"},
		{`{"name":"exclude","shape":[2,0],"datatype":"INT64","data":[]}`, nil, problem.InvalidValue, "exclude", -1, "c at least 1"},
		{`{"name":"exclude","shape":[2,2],"datatype":"INT32","data":[1,2,3,4]}`, nil, problem.InvalidValue, "exclude", -1, `datatype is "INT32", INT64 or BYTES is wanted`},
		{`{"name":"exclude","shape":[2,2],"datatype":"INT64","data":[[1,2],[3]]}`, nil, problem.InvalidValue, "exclude", 1, "row 1 has 1 ids, those before it 2; shorter lists end in -1"},
		{`{"name":"exclude","shape":[2,2],"datatype":"INT64","data":[[1,2,3,4]]}`, nil, problem.InvalidValue, "exclude", -1, "shape is [2 2], and rows have 4 ids"},
		{`{"name":"exclude","shape":[2,1],"datatype":"INT64","data":[[1],2]}`, nil, problem.InvalidValue, "exclude", 1, "data mixes arrays and values"},
		{`{"name":"exclude","shape":[2,1],"datatype":"INT64","data":["a","b"]}`, nil, problem.InvalidValue, "exclude", -1, "they are not all of INT64"},
		{`{"name":"exclude","shape":[2,1],"datatype":"BYTES","data":["a",1]}`, nil, problem.InvalidValue, "exclude", -1, "they are not all of BYTES"},
		{`{"name":"candidates","shape":[2,2],"datatype":"INT64","data":[1,2,3,4]}`, nil, problem.OverLimit, "candidates", 1, "candidates[1]: the goals up to this one list 4 ids, those of a search at most 3"},
		{`{"name":"candidates","shape":[2,1],"datatype":"INT64","parameters":{"binary_data_size":8}}`, make([]byte, 8), problem.InvalidValue, "candidates", -1, "shape [2 1] of INT64 takes 16 bytes, binary_data_size is 8"},
		{`{"name":"candidates","shape":[2,1],"datatype":"BYTES","parameters":{"binary_data_size":9}}`, bytesFrom(uint32(1), []byte("a"), uint32(5)), problem.Malformed, "candidates", -1, "the data end within text 1"},
		{`{"name":"candidates","shape":[2,1],"datatype":"BYTES","parameters":{"binary_data_size":5}}`, bytesFrom(uint32(1), []byte("a")), problem.InvalidValue, "candidates", -1, "shape [2 1] takes 2 values, data has 1"},
		{`{"name":"floors","shape":[2],"datatype":"FP32","data":[1,2]},{"name":"exclude","shape":[1,2],"datatype":"INT64","data":[1,2]}`, nil, problem.InvalidValue, "exclude", -1, "exclude has 1 entries, floors has 2"},
		{`{"name":"floors","shape":[2],"datatype":"FP32","data":[1,2]},{"name":"floors","shape":[2],"datatype":"FP32","data":[1,2]}`, nil, problem.InvalidValue, "floors", -1, "floors is given twice"},
	} {
		head := fmt.Sprintf(`{"inputs":[%s,%s]}`, q, x.input)
		length := -1
		if x.tail != nil {
			length = len(head)
		}
		_, err := Decode(append([]byte(head), x.tail...), length, dim, l)
		checkProblem(t, err, x.kind, x.field, x.index, x.says)
	}
	_, err := Decode([]byte(`{"parameters":{"goals":[{},{}]},"inputs":[`+q+`,{"name":"floors","shape":[2],"datatype":"FP32","data":[1,2]}]}`), -1, dim, l)
	checkProblem(t, err, problem.InvalidValue, "floors", -1, "goals and floors are both given")
	got, err := Decode([]byte(`{"parameters":{"goals":[{},{"k":3}]},"inputs":[`+q+`]}`), -1, dim, l)
	if err != nil || got.Search.Goals[1].K != 3 {
		t.Error(err)
	}
}

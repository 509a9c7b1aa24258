package oip

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/service/problem"
	"thresher/service/wire"
)

// bytesFrom returns values as in a binary body.
func bytesFrom(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// limits of most tests; collections have 3 dimensions.
func limits() wire.Limits { return wire.Limits{Queries: 4, K: 50} }

const dim = 3

// TestDecode reads the same search in every form that clients send.
func TestDecode(t *testing.T) {
	data := []float32{1, -2.5, 0.1, 4, 5, 6}
	raw := bytesFrom(data)
	for _, x := range []struct {
		name   string
		header string // the JSON; tail follows
		tail   []byte
		want   Request
	}{
		{"flat", `{"inputs":[{"name":"queries","shape":[2,3],"datatype":"FP32","data":[1,-2.5,0.1,4,5,6]}]}`, nil,
			Request{Search: &wire.Search{K: 10, CutK: true}}},
		{"nested", `{"inputs":[{"name":"queries","shape":[2,3],"datatype":"FP32","data":[ [1,-2.5,0.1], [4,5,6] ]}]}`, nil,
			Request{Search: &wire.Search{K: 10, CutK: true}}},
		{"data first", `{"inputs":[{"data":[1,-2.5,0.1,4,5,6],"datatype":"FP32","shape":[2,3],"name":"queries"}]}`, nil,
			Request{Search: &wire.Search{K: 10, CutK: true}}},
		{"all in JSON", `{"id":"a\"b","model_name":"m","parameters":{"binary_data_output":true,"timeout":1500,"priority":1,"method":"certain","cut_k":true,"epsilon":0.5},
			"inputs":[{"name":"k","shape":[1],"datatype":"INT32","data":[7]},{"name":"delta","shape":[1],"datatype":"FP32","data":[0.05]},
			{"name":"queries","shape":[2,3],"datatype":"FP32","data":[1,-2.5,0.1,4,5,6]}],
			"outputs":[{"name":"scores","parameters":{"binary_data":false}},{"name":"ids"}]}`, nil,
			Request{ID: `a"b`, Binary: true, Outputs: []Output{{"scores", false}, {"ids", true}},
				Search: &wire.Search{K: 7, CutK: true, Delta: 0.05, Epsilon: .5, Method: batch.Certain, Deadline: 1500 * time.Microsecond}}},
		{"k as parameter", `{"parameters":{"k":3,"delta":0.2},"inputs":[{"name":"queries","shape":[2,3],"datatype":"FP32","data":[1,-2.5,0.1,4,5,6]}]}`, nil,
			Request{Search: &wire.Search{K: 3, Delta: .2}}},
		{"binary", `{"inputs":[{"name":"queries","shape":[2,3],"datatype":"FP32","parameters":{"binary_data_size":24}}]}`, raw,
			Request{Search: &wire.Search{K: 10, CutK: true}}},
		{"all binary", `{"inputs":[{"name":"delta","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}},
			{"name":"queries","shape":[2,3],"datatype":"FP32","parameters":{"binary_data_size":24}},
			{"name":"k","shape":[1],"datatype":"INT32","parameters":{"binary_data_size":4}}],
			"outputs":[{"name":"ids","parameters":{"binary_data":true}},{"name":"pulls"}]}`,
			slices.Concat(bytesFrom(float32(.01)), raw, bytesFrom(int32(7))),
			Request{Outputs: []Output{{"ids", true}, {"pulls", false}}, Search: &wire.Search{K: 7, Delta: 0.01}}},
		{"scores64", `{"inputs":[{"name":"queries","shape":[2,3],"datatype":"FP32","data":[1,-2.5,0.1,4,5,6]}],"outputs":[{"name":"scores64"}]}`, nil,
			Request{Outputs: []Output{{"scores64", false}}, Search: &wire.Search{K: 10, CutK: true}}},
		{"mixed", `{"inputs":[{"name":"k","shape":[1],"datatype":"INT32","data":[7]},
			{"name":"queries","shape":[2,3],"datatype":"FP32","parameters":{"binary_data_size":24}}]}`, raw,
			Request{Search: &wire.Search{K: 7}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			// Every alignment: zero to three spaces before the JSON.
			for shift := range 4 {
				head := strings.Repeat(" ", shift) + x.header
				length := -1
				if x.tail != nil {
					length = len(head)
				}
				got, err := Decode(append([]byte(head), x.tail...), length, dim, limits())
				if err != nil {
					t.Fatal(err)
				}
				want := x.want
				s := *want.Search
				s.Queries, s.M, s.Dim, s.Scores64 = data, 2, 3, want.Outputs == nil || want.Outputs[0].Name == "scores64"
				want.Search = &s
				if diff := cmp.Diff(&want, got); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
	got, err := Decode(raw, 0, dim, limits())
	if err != nil || !slices.Equal(got.Search.Queries, data) || got.Search.M != 2 {
		t.Errorf("raw body: %+v (%v)", got, err)
	}
}

// TestDecodeRefuses fixes kind, field and text of every refusal.
func TestDecodeRefuses(t *testing.T) {
	const q = `{"name":"queries","shape":[1,3],"datatype":"FP32","data":[1,2,3]}`
	input := func(s string) string { return `{"inputs":[` + s + `]}` }
	with := func(s string) string { return `{"inputs":[` + q + `],` + s + `}` }
	nan := float32(math.NaN())
	// as tritonclient writes an input whose data follow
	triton := func(name, shape, datatype string, size int) string {
		return fmt.Sprintf(`{"name":%q,"shape":[%s],"datatype":%q,"parameters":{"binary_data_size":%d}}`, name, shape, datatype, size)
	}
	for _, x := range []struct {
		name, json string
		tail       []byte // nil: no header
		kind       problem.Kind
		field      string
		index      int
		says       string
	}{
		{"empty", ``, nil, problem.Malformed, "", -1, "text ends where an object is wanted"},
		{"array", `[]`, nil, problem.Malformed, "", -1, `"[" at byte 0 where an object is wanted`},
		{"cut", `{"inputs":[{"name":"queries"`, nil, problem.Malformed, "inputs", 0, `inputs[0] (queries): text ends where "," or "}" is wanted`},
		{"behind", with(`"id":"a"`) + "x", nil, problem.Malformed, "", -1, `"x" at byte 87 where the end of the JSON is wanted`},
		{"unknown field", with(`"foo":1`), nil, problem.UnknownField, "foo", -1, `there is no field "foo"`},
		{"field twice", with(`"id":"a","id":"b"`), nil, problem.InvalidValue, "id", -1, "id is given twice"},
		{"id", with(`"id":7`), nil, problem.InvalidValue, "id", -1, "id is 7, a string is wanted"},
		{"no inputs", `{}`, nil, problem.NoQueries, "queries", -1, "queries is missing"},
		{"inputs no array", `{"inputs":{}}`, nil, problem.Malformed, "inputs", -1, `inputs: "{" at byte 10 where an array is wanted`},
		{"input no object", input(`1`), nil, problem.Malformed, "inputs", 0, `inputs[0]: "1" at byte 11 where an object is wanted`},
		{"unknown input", input(q + `,{"name":"kk","shape":[1],"datatype":"INT32","data":[1]}`), nil, problem.UnknownField, "inputs", 1, `inputs[1]: there is no input "kk"`},
		{"nameless", input(`{"shape":[1,3],"datatype":"FP32","data":[1,2,3]}`), nil, problem.InvalidValue, "inputs", 0, "inputs[0]: name is missing"},
		{"input field", input(`{"name":"k","foo":[1]}`), nil, problem.UnknownField, "inputs", 0, `inputs[0] (k): there is no field "foo"`},
		{"input field twice", input(`{"name":"k","name":"k"}`), nil, problem.InvalidValue, "inputs", 0, `inputs[0] (k): name is given twice`},
		{"input parameter", input(`{"name":"k","parameters":{"shared_memory_region":"x"}}`), nil, problem.UnknownField, "inputs", 0, `inputs[0] (k): there is no parameter "shared_memory_region"`},
		{"input twice", input(q + `,` + q), nil, problem.InvalidValue, "queries", -1, "inputs[1] (queries): queries is given twice"},
		{"datatype", input(`{"name":"queries","shape":[1,3],"datatype":"FP64","data":[1,2,3]}`), nil, problem.InvalidValue, "queries", -1, `inputs[0] (queries): datatype is "FP64", FP32 is wanted`},
		{"datatype of k", input(`{"name":"k","shape":[1],"datatype":"INT64","data":[1]}`), nil, problem.InvalidValue, "k", -1, `inputs[0] (k): datatype is "INT64", INT32 is wanted`},
		{"no datatype", input(`{"name":"queries","shape":[1,3],"data":[1,2,3]}`), nil, problem.InvalidValue, "queries", -1, `inputs[0] (queries): datatype is "", FP32 is wanted`},
		{"no shape", input(`{"name":"queries","datatype":"FP32","data":[1,2,3]}`), nil, problem.InvalidValue, "queries", -1, `inputs[0] (queries): shape is [], [m, 3] is wanted`},
		{"flat shape", input(`{"name":"queries","shape":[3],"datatype":"FP32","data":[1,2,3]}`), nil, problem.InvalidValue, "queries", -1, `inputs[0] (queries): shape is [3], [m, 3] is wanted`},
		{"deep shape", input(`{"name":"queries","shape":[1,1,3],"datatype":"FP32","data":[1,2,3]}`), nil, problem.InvalidValue, "inputs", 0, `inputs[0] (queries): shape has more than 2 dimensions`},
		{"negative shape", input(`{"name":"queries","shape":[-1,3],"datatype":"FP32","data":[1,2,3]}`), nil, problem.InvalidValue, "inputs", 0, `inputs[0] (queries): shape has the negative size -1`},
		{"broken shape", input(`{"name":"queries","shape":[1.5,3],"datatype":"FP32","data":[1,2,3]}`), nil, problem.InvalidValue, "inputs", 0, `inputs[0] (queries): shape is 1.5, a whole number is wanted`},
		{"huge size", input(`{"name":"queries","shape":[99999999999999999999,3],"datatype":"FP32","data":[1,2,3]}`), nil, problem.InvalidValue, "inputs", 0, `inputs[0] (queries): shape is 99999999999999999999, beyond the integers of 64 bits`},
		{"dimension", input(`{"name":"queries","shape":[1,4],"datatype":"FP32","data":[1,2,3,4]}`), nil, problem.WrongDimension, "queries", 0, `inputs[0] (queries): query 0 has 4 values, the collection 3 dimensions`},
		{"many queries", input(`{"name":"queries","shape":[5,3],"datatype":"FP32","data":[]}`), nil, problem.OverLimit, "queries", -1, `inputs[0] (queries): 5 queries, a search may have at most 4`},
		{"shape of k", input(`{"name":"k","shape":[2],"datatype":"INT32","data":[1,2]}`), nil, problem.InvalidValue, "k", 1, `inputs[0] (k): there is more than one value`},
		{"shape of k alone", input(`{"name":"k","shape":[1,1],"datatype":"INT32","data":[1]}`), nil, problem.InvalidValue, "k", -1, `inputs[0] (k): shape is [1 1], [1] is wanted`},
		{"no value of k", input(`{"name":"k","shape":[1],"datatype":"INT32","data":[]}`), nil, problem.InvalidValue, "k", -1, `inputs[0] (k): there is no value`},
		{"k 0", input(`{"name":"k","shape":[1],"datatype":"INT32","data":[0]}`), nil, problem.InvalidValue, "k", -1, `inputs[0] (k): k is 0, at least 1 is wanted`},
		{"k text", input(`{"name":"k","shape":[1],"datatype":"INT32","data":["1"]}`), nil, problem.InvalidValue, "k", -1, `inputs[0] (k): k is a string, a whole number is wanted`},
		{"k over the limit", with(`"parameters":{"k":1000000000}`), nil, problem.OverLimit, "k", -1, `k is 1000000000, at most 50 is accepted`},
		{"k twice", `{"parameters":{"k":1},"inputs":[{"name":"k","shape":[1],"datatype":"INT32","data":[1]}]}`, nil, problem.InvalidValue, "k", -1, `inputs[0] (k): k is given twice`},
		{"delta", input(`{"name":"delta","shape":[1],"datatype":"FP32","data":[1]}`), nil, problem.InvalidValue, "delta", -1, `inputs[0] (delta): delta is 1, a probability inside (0, 1) is wanted`},
		{"parameter", with(`"parameters":{"detla":0.1}`), nil, problem.UnknownField, "detla", -1, `there is no field "detla"`},
		{"parameters no object", with(`"parameters":[]`), nil, problem.Malformed, "parameters", -1, `parameters: "[" at byte 91 where an object is wanted`},
		{"include", with(`"parameters":{"include":["certificate"]}`), nil, problem.UnknownField, "include", -1, `include: in this protocol`},
		{"timeout", with(`"parameters":{"timeout":-5}`), nil, problem.InvalidValue, "deadline_ms", -1, `deadline_ms is -0.005, at least 0.001`},
		{"binary output", with(`"parameters":{"binary_data_output":1}`), nil, problem.InvalidValue, "binary_data_output", -1, `binary_data_output is 1, true or false is wanted`},
		{"too few values", input(`{"name":"queries","shape":[2,3],"datatype":"FP32","data":[1,2,3,4,5]}`), nil, problem.InvalidValue, "queries", -1, `inputs[0] (queries): shape [2 3] takes 6 values, data has 5`},
		{"too many rows", input(`{"name":"queries","shape":[1,3],"datatype":"FP32","data":[[1,2,3],[4,5,6]]}`), nil, problem.InvalidValue, "queries", -1, `inputs[0] (queries): shape [1 3] takes 3 values, data has 6`},
		{"short row", input(`{"name":"queries","shape":[2,3],"datatype":"FP32","data":[[1,2,3],[4,5]]}`), nil, problem.WrongDimension, "queries", 1, `inputs[0] (queries): query 1 has 2 values, the collection 3 dimensions`},
		{"NaN in a row", input(`{"name":"queries","shape":[2,3],"datatype":"FP32","data":[[1,2,3],[4,NaN,6]]}`), nil, problem.NotFinite, "queries", 1, `inputs[0] (queries): query 1, coordinate 1: value is NaN`},
		{"NaN", input(`{"name":"queries","shape":[2,3],"datatype":"FP32","data":[1,2,3,4,5,NaN]}`), nil, problem.NotFinite, "queries", 1, `inputs[0] (queries): query 1, coordinate 2: value is NaN`},
		{"overflow", input(`{"name":"queries","shape":[1,3],"datatype":"FP32","data":[1,2,1e39]}`), nil, problem.NotFinite, "queries", 0, `inputs[0] (queries): query 0, coordinate 2: value 1e39 is beyond`},
		{"no queries", input(`{"name":"queries","shape":[0,3],"datatype":"FP32","data":[]}`), nil, problem.NoQueries, "queries", -1, "queries is empty"},
		{"data is text", input(`{"name":"queries","shape":[1,3],"datatype":"FP32","data":"AAAA"}`), nil, problem.Malformed, "queries", -1, `inputs[0] (queries): "\"" at byte 68 where an array is wanted`},
		{"no data", input(`{"name":"queries","shape":[1,3],"datatype":"FP32"}`), nil, problem.InvalidValue, "queries", -1, `inputs[0] (queries): there is neither data nor binary_data_size`},
		{"no header", input(`{"name":"queries","shape":[1,3],"datatype":"FP32","parameters":{"binary_data_size":12}}`), nil, problem.Malformed, "queries", -1, `inputs[0] (queries): binary_data_size is 12 but the request lacks the header Inference-Header-Content-Length`},
		{"data and size", input(`{"name":"queries","shape":[1,3],"datatype":"FP32","data":[1,2,3],"parameters":{"binary_data_size":12}}`), []byte{}, problem.InvalidValue, "queries", -1, `inputs[0] (queries): there are data and binary_data_size`},
		{"size and shape", input(`{"name":"queries","shape":[1,3],"datatype":"FP32","parameters":{"binary_data_size":16}}`), bytesFrom([4]float32{}), problem.InvalidValue, "queries", -1, `inputs[0] (queries): shape [1 3] of FP32 takes 12 bytes, binary_data_size is 16`},
		{"negative size", input(`{"name":"queries","shape":[1,3],"datatype":"FP32","parameters":{"binary_data_size":-12}}`), []byte{}, problem.InvalidValue, "inputs", 0, `inputs[0] (queries): binary_data_size is -12`},
		{"cut data", input(`{"name":"queries","shape":[1,3],"datatype":"FP32","parameters":{"binary_data_size":12}}`), make([]byte, 11), problem.Malformed, "queries", -1, `inputs[0] (queries): binary_data_size is 12, the body has 11 bytes left`},
		{"data behind", input(`{"name":"queries","shape":[1,3],"datatype":"FP32","parameters":{"binary_data_size":12}}`), make([]byte, 13), problem.Malformed, "inputs", -1, `1 bytes follow the binary data of the inputs`},
		{"binary NaN", input(`{"name":"queries","shape":[2,3],"datatype":"FP32","parameters":{"binary_data_size":24}}`), bytesFrom([5]float32{}, nan), problem.NotFinite, "queries", 1, `inputs[0] (queries): query 1, coordinate 2: value is NaN`},
		{"binary k", input(`{"name":"k","shape":[1],"datatype":"INT32","parameters":{"binary_data_size":4}}`), bytesFrom(int32(-1)), problem.InvalidValue, "k", -1, `inputs[0] (k): k is -1, at least 1 is wanted`},
		{"binary delta", input(`{"name":"delta","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}`), bytesFrom(nan), problem.InvalidValue, "delta", -1, `inputs[0] (delta): delta is NaN, a probability`},
		{"second of two binary", input(triton("queries", "1,3", "FP32", 12) + "," + triton("k", "1", "INT32", 4)), bytesFrom([3]float32{}, int32(0)), problem.InvalidValue, "k", -1, `inputs[1] (k): k is 0, at least 1 is wanted`},
		{"second is cut", input(triton("k", "1", "INT32", 4) + "," + triton("queries", "1,3", "FP32", 12)), bytesFrom(int32(1), [2]float32{}), problem.Malformed, "queries", -1, `inputs[1] (queries): binary_data_size is 12, the body has 8 bytes left`},
		{"second has a NaN", input(triton("k", "1", "INT32", 4) + "," + triton("queries", "2,3", "FP32", 24)), bytesFrom(int32(1), [4]float32{}, nan, nan), problem.NotFinite, "queries", 1, `inputs[1] (queries): query 1, coordinate 1: value is NaN`},
		{"second has another dimension", input(triton("k", "1", "INT32", 4) + "," + triton("queries", "2,4", "FP32", 32)), bytesFrom(int32(1), [8]float32{}), problem.WrongDimension, "queries", 0, `inputs[1] (queries): query 0 has 4 values, the collection 3 dimensions`},
		{"second is unknown", input(triton("queries", "1,3", "FP32", 12) + "," + triton("top_k", "1", "INT32", 4)), bytesFrom([4]float32{}), problem.UnknownField, "inputs", 1, `inputs[1]: there is no input "top_k"`},
		{"second has another type", input(triton("queries", "1,3", "FP32", 12) + "," + triton("k", "1", "INT64", 8)), bytesFrom([5]float32{}), problem.InvalidValue, "k", -1, `inputs[1] (k): datatype is "INT64", INT32 is wanted`},
		{"unknown output", with(`"outputs":[{"name":"ids"},{"name":"labels"}]`), nil, problem.UnknownField, "outputs", 1, `outputs[1]: there is no output "labels"`},
		{"output twice", with(`"outputs":[{"name":"ids"},{"name":"ids"}]`), nil, problem.InvalidValue, "outputs", 1, `outputs[1]: ids is requested twice`},
		{"output field", with(`"outputs":[{"name":"ids","x":1}]`), nil, problem.UnknownField, "outputs", 0, `outputs[0]: there is no field "x"`},
		{"output parameter", with(`"outputs":[{"name":"ids","parameters":{"classification":3}}]`), nil, problem.UnknownField, "outputs", 0, `outputs[0]: there is no parameter "classification"`},
		{"output flag", with(`"outputs":[{"name":"ids","parameters":{"binary_data":"yes"}}]`), nil, problem.InvalidValue, "outputs", 0, `outputs[0]: binary_data is "yes", true or false is wanted`},
		{"output name", with(`"outputs":[{"name":5}]`), nil, problem.InvalidValue, "outputs", 0, `outputs[0]: name is 5, a string is wanted`},
	} {
		t.Run(x.name, func(t *testing.T) {
			length := -1
			if x.tail != nil {
				length = len(x.json)
			}
			_, err := Decode(append([]byte(x.json), x.tail...), length, dim, limits())
			checkProblem(t, err, x.kind, x.field, x.index, x.says)
		})
	}
	_, err := Decode([]byte("{}"), 3, dim, limits())
	checkProblem(t, err, problem.Malformed, HeaderLength, -1, "Inference-Header-Content-Length is 3, the body has 2 bytes")
	_, err = Decode(make([]byte, 13), 0, dim, limits())
	checkProblem(t, err, problem.WrongDimension, "queries", -1, "input queries: 13 bytes do not make whole rows of 3 float32")
	_, err = Decode(nil, 0, dim, limits())
	checkProblem(t, err, problem.NoQueries, "queries", -1, "queries is empty")
	_, err = Decode(make([]byte, 12*5), 0, dim, limits())
	checkProblem(t, err, problem.OverLimit, "queries", -1, "5 queries, a search may have at most 4")
	// A shape whose product overflows 64 bits, if nothing limits it.
	huge := `{"inputs":[{"name":"queries","shape":[9223372036854775807,3],"datatype":"FP32","parameters":{"binary_data_size":12}}]}`
	_, err = Decode([]byte(huge), len(huge), dim, wire.Limits{})
	checkProblem(t, err, problem.InvalidValue, "queries", -1, "takes more than 2^63 bytes")
}

func checkProblem(t *testing.T, err error, kind problem.Kind, field string, index int, says string) {
	t.Helper()
	p, ok := err.(*problem.Problem)
	if !ok {
		t.Fatalf("error %v, want a problem", err)
	}
	if p.Kind != kind || p.Field != field || p.Index != index || !strings.Contains(p.Detail, says) {
		t.Errorf("%s, field %q, index %d: %s\nwant %s, %q, %d: %s", p.Kind, p.Field, p.Index, p.Detail, kind, field, index, says)
	}
}

// response has a complete answer of two atoms, and one interrupted by a deadline.
func response() *batch.Response {
	open := 17.25
	return &batch.Response{Answers: []batch.Answer{
		{IDs: []int64{7, 1}, Scores: []float32{2.5, 0.1}, SearchScores: []float64{-1.25, -.1 / 2}, Certificate: batch.Certificate{Guarantee: batch.GuaranteeCertain, StoppedBy: batch.Done, Exact: true, Pulls: 1 << 40}},
		{IDs: []int64{3}, Scores: []float32{-1e-9}, SearchScores: []float64{-1 << 60}, Certificate: batch.Certificate{Guarantee: batch.GuaranteeBound, StoppedBy: batch.Deadline, Pulls: 5, OpenBound: &open, Delta: .25}},
	}}
}

func TestAnswerJSON(t *testing.T) {
	r := &Request{ID: "a<\"b"}
	body, length, err := r.Answer("movies", 12, response(), wire.Naming{Int: func(row int64) int64 { return 100 * row }, Metric: collection.Euclidean})
	want := `{"model_name":"movies","model_version":"12","id":"a\u003c\"b","parameters":{"answers_version":2},"outputs":[` +
		`{"name":"ids","datatype":"INT64","shape":[2,2],"data":[700,100,300,-1]},` +
		`{"name":"scores","datatype":"FP32","shape":[2,2],"data":[2.5,0.1,-1e-09,null]},` +
		`{"name":"rows","datatype":"INT64","shape":[2,2],"data":[7,1,3,-1]},` +
		`{"name":"scores64","datatype":"FP64","shape":[2,2],"data":[2.5,0.1,2.305843009213694e+18,null]},` +
		`{"name":"exact","datatype":"BOOL","shape":[2],"data":[true,false]},` +
		`{"name":"pulls","datatype":"INT64","shape":[2],"data":[1099511627776,5]},` +
		`{"name":"complete","datatype":"BOOL","shape":[2],"data":[true,false]},` +
		`{"name":"guarantee","datatype":"BYTES","shape":[2],"data":["certain","bound"]},` +
		`{"name":"delta","datatype":"FP64","shape":[2],"data":[0,0.25]},` +
		`{"name":"open_bound","datatype":"FP64","shape":[2],"data":[null,17.25]}]}`
	if err != nil || length != -1 || !json.Valid(body) {
		t.Fatal(length, err)
	}
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Error(diff)
	}
}

func TestAnswerBinary(t *testing.T) {
	name := func(row int64) string { return fmt.Sprint("é", row) }
	r := &Request{Outputs: []Output{{"names", true}, {"exact", true}, {"pulls", false}, {"scores", true}, {"ids", true}, {"open_bound", true}, {"scores64", true}}}
	body, length, err := r.Answer("m", 1, response(), wire.Naming{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	head := `{"model_name":"m","model_version":"1","parameters":{"answers_version":2},"outputs":[` +
		`{"name":"names","datatype":"BYTES","shape":[2,2],"parameters":{"binary_data_size":25}},` +
		`{"name":"exact","datatype":"BOOL","shape":[2],"parameters":{"binary_data_size":2}},` +
		`{"name":"pulls","datatype":"INT64","shape":[2],"data":[1099511627776,5]},` +
		`{"name":"scores","datatype":"FP32","shape":[2,2],"parameters":{"binary_data_size":16}},` +
		`{"name":"ids","datatype":"INT64","shape":[2,2],"parameters":{"binary_data_size":32}},` +
		`{"name":"open_bound","datatype":"FP64","shape":[2],"parameters":{"binary_data_size":16}},` +
		`{"name":"scores64","datatype":"FP64","shape":[2,2],"parameters":{"binary_data_size":32}}]}`
	if diff := cmp.Diff(head, string(body[:length])); diff != "" {
		t.Error(diff)
	}
	inf := float32(math.Inf(-1))
	want := bytesFrom(uint32(3), []byte("é7"), uint32(3), []byte("é1"), uint32(3), []byte("é3"), uint32(0),
		[]byte{1, 0}, []float32{2.5, 0.1, -1e-9, inf}, []int64{7, 1, 3, -1}, []float64{math.NaN(), 17.25}, []float64{-1.25, -.1 / 2, -1 << 60, math.Inf(-1)})
	if diff := cmp.Diff(want, body[length:]); diff != "" {
		t.Error(diff)
	}
}

func TestAnswerNames(t *testing.T) {
	// Names are requested from a collection without string ids.
	r := &Request{Outputs: []Output{{"ids", true}, {"names", true}}}
	_, _, err := r.Answer("m", 1, response(), wire.Naming{})
	checkProblem(t, err, problem.UnknownField, "outputs", 1, "output names: the ids of this collection are numbers")
	// They are among the outputs of a collection with string ids.
	body, length, err := (&Request{Binary: true}).Answer("m", 1, response(), wire.Naming{Name: func(int64) string { return "x" }})
	if err != nil || length < 0 || !strings.Contains(string(body[:length]), `"names"`) {
		t.Errorf("%s (%v)", body, err)
	}
}

// TestAnswerOfNothing: an empty answer has no ids.
func TestAnswerOfNothing(t *testing.T) {
	empty := &batch.Response{Answers: make([]batch.Answer, 2)}
	body, _, err := (&Request{Outputs: []Output{{"ids", false}}}).Answer("m", 1, empty, wire.Naming{})
	if want := `{"model_name":"m","model_version":"1","parameters":{"answers_version":2},"outputs":[{"name":"ids","datatype":"INT64","shape":[2,0],"data":[]}]}`; err != nil || string(body) != want {
		t.Errorf("%s (%v), want %s", body, err, want)
	}
}

func TestMetadata(t *testing.T) {
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, x := range []struct{ got, want string }{
		{text(NewServerMetadata("thresher", "1.2")), `{"name":"thresher","version":"1.2","extensions":["binary_tensor_data","model_configuration","statistics"]}`},
		{text(Live{true}), `{"live":true}`},
		{text(Ready{Ready: true}), `{"ready":true}`},
		{text(Ready{"m", false}), `{"name":"m","ready":false}`},
		{text(NewModel("m", []int64{3, 4}, 768, wire.Naming{Name: func(int64) string { return "" }})),
			`{"name":"m","versions":["3","4"],"platform":"thresher","inputs":[{"name":"queries","datatype":"FP32","shape":[-1,768]},` +
				`{"name":"k","datatype":"INT32","shape":[1]},{"name":"delta","datatype":"FP32","shape":[1]},` +
				`{"name":"ks","datatype":"INT32","shape":[-1]},{"name":"floors","datatype":"FP64","shape":[-1]},{"name":"ceilings","datatype":"FP64","shape":[-1]},` +
				`{"name":"exclude","datatype":"BYTES","shape":[-1,-1]},{"name":"candidates","datatype":"BYTES","shape":[-1,-1]}],` +
				`"outputs":[{"name":"ids","datatype":"INT64","shape":[-1,-1]},{"name":"scores","datatype":"FP32","shape":[-1,-1]},` +
				`{"name":"rows","datatype":"INT64","shape":[-1,-1]},{"name":"scores64","datatype":"FP64","shape":[-1,-1]},` +
				`{"name":"exact","datatype":"BOOL","shape":[-1]},{"name":"pulls","datatype":"INT64","shape":[-1]},` +
				`{"name":"complete","datatype":"BOOL","shape":[-1]},{"name":"guarantee","datatype":"BYTES","shape":[-1]},{"name":"delta","datatype":"FP64","shape":[-1]},{"name":"open_bound","datatype":"FP64","shape":[-1]},` +
				`{"name":"names","datatype":"BYTES","shape":[-1,-1]}]}`},
	} {
		if diff := cmp.Diff(x.want, x.got); diff != "" {
			t.Error(diff)
		}
	}
	if m := NewModel("m", nil, 2, wire.Naming{}); len(m.Outputs) != 10 || m.Inputs[7].Datatype != "INT64" || text(m.Versions) != "[]" {
		t.Errorf("%+v", m)
	}
}

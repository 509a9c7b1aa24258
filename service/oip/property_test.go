package oip

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"runtime/metrics"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/service/problem"
	"thresher/service/wire"
)

// TestRequestsComeBack: a request encoded as clients do is decoded to the same request,
// whichever of its tensors are binary and in any order.
func TestRequestsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 5).Draw(t, "dim")
		m := rapid.IntRange(1, 4).Draw(t, "m")
		q := rapid.SliceOfN(rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32), m*dim, m*dim).Draw(t, "queries")
		k := rapid.Int32Range(1, 1e6).Draw(t, "k")
		delta := rapid.Float32Range(1e-30, .999).Draw(t, "delta")
		var tail []byte
		var inputs []any
		add := func(name, datatype string, shape []int, data any) {
			in := map[string]any{"name": name, "datatype": datatype, "shape": shape}
			if rapid.Bool().Draw(t, name+" binary") {
				b := bytesFrom(data)
				in["parameters"] = map[string]any{"binary_data_size": len(b)}
				tail = append(tail, b...)
			} else {
				in["data"] = data
			}
			inputs = append(inputs, in)
		}
		for _, name := range rapid.Permutation([]string{"queries", "k", "delta"}).Draw(t, "order") {
			switch name {
			case "queries":
				add(name, "FP32", []int{m, dim}, q)
			case "k":
				add(name, "INT32", []int{1}, []int32{k})
			default:
				add(name, "FP32", []int{1}, []float32{delta})
			}
		}
		id := rapid.String().Draw(t, "id")
		head, err := json.Marshal(map[string]any{"id": id, "inputs": inputs})
		if err != nil {
			t.Fatal(err)
		}
		length := len(head)
		if len(tail) == 0 && rapid.Bool().Draw(t, "no header") {
			length = -1
		}
		got, err := Decode(append(head, tail...), length, dim, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		want := &Request{ID: id, Search: &wire.Search{Queries: q, M: m, Dim: dim, K: int(k), Delta: widen(delta), Scores64: true}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestAnswersComeBack decodes answers as a client does: the tensors are in the tail in the
// order of the outputs.
func TestAnswersComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		resp := &batch.Response{Answers: make([]batch.Answer, rapid.IntRange(0, 4).Draw(t, "m"))}
		k := 0
		for i := range resp.Answers {
			a := &resp.Answers[i]
			a.IDs = rapid.SliceOfN(rapid.Int64(), 0, 4).Draw(t, "ids")
			a.Scores = rapid.SliceOfN(rapid.Float32(), len(a.IDs), len(a.IDs)).Draw(t, "scores")
			a.SearchScores = rapid.SliceOfN(rapid.Float64(), len(a.IDs), len(a.IDs)).Draw(t, "scores64")
			a.Certificate.Delta = rapid.Float64Range(0, 1).Draw(t, "delta")
			a.Certificate.Exact = rapid.Bool().Draw(t, "exact")
			a.Certificate.Pulls = rapid.Int64().Draw(t, "pulls")
			k = max(k, len(a.IDs))
		}
		name := func(row int64) string { return fmt.Sprint("row ", row) }
		r := &Request{Binary: rapid.Bool().Draw(t, "default")}
		for _, o := range rapid.Permutation(outputNames()).Draw(t, "outputs")[:rapid.IntRange(0, len(outputNames())).Draw(t, "wanted")] {
			r.Outputs = append(r.Outputs, Output{o, rapid.Bool().Draw(t, o+" binary")})
		}
		body, length, err := r.Answer("m", 3, resp, wire.Naming{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		var tail []byte
		if length >= 0 {
			body, tail = body[:length], body[length:]
		}
		var got struct {
			Outputs []struct {
				Name, Datatype string
				Shape          []int
				Data           []json.RawMessage
				Parameters     struct {
					Size *int `json:"binary_data_size"`
				}
			}
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if len(r.Outputs) > 0 && len(got.Outputs) != len(r.Outputs) {
			t.Fatalf("%d outputs, %d were wanted", len(got.Outputs), len(r.Outputs))
		}
		for n, o := range got.Outputs {
			asBinary := r.Binary
			if len(r.Outputs) > 0 {
				asBinary = r.Outputs[n].Binary
				if o.Name != r.Outputs[n].Name {
					t.Fatalf("output %d is %s, %s was wanted", n, o.Name, r.Outputs[n].Name)
				}
			}
			if asBinary != (o.Parameters.Size != nil) {
				t.Fatalf("%s is binary: %v", o.Name, !asBinary)
			}
			shape := []int{len(resp.Answers), k}[:len(o.Shape)]
			if !slices.Equal(o.Shape, shape) {
				t.Fatalf("%s has shape %v, want %v", o.Name, o.Shape, shape)
			}
			count := shape[0]
			if len(shape) == 2 {
				count *= k
			}
			var part []byte
			if asBinary {
				part, tail = tail[:*o.Parameters.Size], tail[*o.Parameters.Size:]
			} else if len(o.Data) != count {
				t.Fatalf("%s has %d values, shape %v", o.Name, len(o.Data), o.Shape)
			}
			for i := range count {
				columns := count / len(resp.Answers)
				a, j := &resp.Answers[i/columns], i%columns
				var text string
				if asBinary {
					text, part = element(o.Datatype, part)
				} else {
					text = string(o.Data[i])
				}
				if want := expected(o.Name, a, j, asBinary); text != want {
					t.Fatalf("%s[%d] is %s, want %s", o.Name, i, text, want)
				}
			}
			if len(part) > 0 {
				t.Fatalf("%s: %d bytes too many", o.Name, len(part))
			}
		}
		if len(tail) > 0 {
			t.Fatalf("%d bytes behind the tensors", len(tail))
		}
	})
}

// element decodes one value of a tensor, as text.
func element(datatype string, b []byte) (string, []byte) {
	le := binary.LittleEndian
	switch datatype {
	case "INT64":
		return fmt.Sprint(int64(le.Uint64(b))), b[8:]
	case "FP32":
		return fmt.Sprint(math.Float32frombits(le.Uint32(b))), b[4:]
	case "FP64":
		return fmt.Sprint(math.Float64frombits(le.Uint64(b))), b[8:]
	case "BOOL":
		return fmt.Sprint(b[0] == 1), b[1:]
	}
	n := le.Uint32(b)
	return fmt.Sprintf("%q", b[4:4+n]), b[4+n:]
}

// expected is value j of a in an output, as element or JSON returns it.
func expected(output string, a *batch.Answer, j int, asBinary bool) string {
	there := j < len(a.IDs)
	switch output {
	case "ids", "rows":
		if there {
			return fmt.Sprint(a.IDs[j])
		}
		return "-1"
	case "scores64":
		switch {
		case there && asBinary:
			return fmt.Sprint(a.SearchScores[j])
		case there:
			return string(wire.AppendDouble(nil, a.SearchScores[j]))
		case asBinary:
			return "-Inf"
		}
		return "null"
	case "delta":
		if asBinary {
			return fmt.Sprint(a.Certificate.Delta)
		}
		return string(wire.AppendDouble(nil, a.Certificate.Delta))
	case "names":
		if there {
			return fmt.Sprintf("%q", fmt.Sprint("row ", a.IDs[j]))
		}
		return `""`
	case "scores":
		switch {
		case there && asBinary:
			return fmt.Sprint(a.Scores[j])
		case there:
			return string(wire.AppendFloat(nil, a.Scores[j]))
		case asBinary:
			return "-Inf"
		}
		return "null"
	case "exact":
		return fmt.Sprint(a.Certificate.Exact)
	case "complete":
		return "false"
	case "guarantee":
		return `""`
	case "pulls":
		return fmt.Sprint(a.Certificate.Pulls)
	}
	if asBinary {
		return "NaN"
	}
	return "null"
}

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// FuzzDecode splits the input into JSON and tensors at any point.
func FuzzDecode(f *testing.F) {
	q := `{"name":"queries","shape":[1,3],"datatype":"FP32","data":[1,2,3]}`
	tensor := `{"inputs":[{"name":"queries","shape":[1,3],"datatype":"FP32","parameters":{"binary_data_size":12}},` +
		`{"name":"k","shape":[1],"datatype":"INT32","parameters":{"binary_data_size":4}}],"outputs":[{"name":"ids","parameters":{"binary_data":true}}]}`
	for _, s := range []string{
		`{"id":"a","inputs":[` + q + `],"parameters":{"binary_data_output":true,"k":3,"timeout":5}}`,
		`{"inputs":[{"data":[[1,2,3],[4,5,6]],"name":"queries","shape":[2,3],"datatype":"FP32"},{"name":"delta","shape":[1],"datatype":"FP32","data":[0.1]}]}`,
		`{"inputs":[{"name":"queries","shape":[9223372036854775807,3],"datatype":"FP32","data":[]}]}`,
		`{"inputs":[{"name":"queries","data":[[[[[[`, `{"parameters":{"allow":[1,"a"]}}`, `{"outputs":[{"name":"ids"},{"name":"ids"}]}`,
	} {
		f.Add([]byte(s), -1)
	}
	f.Add(append([]byte(tensor), bytesFrom([]float32{1, 2, 3}, int32(4))...), len(tensor))
	f.Add(append([]byte(tensor), bytesFrom([]float32{1, 2, float32(math.NaN())}, int32(-4))...), len(tensor))
	f.Add(append([]byte(tensor), 1, 2, 3), len(tensor))
	f.Add(bytesFrom([]float32{1, 2, 3}), 0)
	lists := `{"inputs":[` + q + `,{"name":"ks","shape":[1],"datatype":"INT32","data":[2]},{"name":"ceilings","shape":[1],"datatype":"FP32","data":[null]},` +
		`{"name":"exclude","shape":[1,2],"datatype":"BYTES","data":[["a",""]]},{"name":"candidates","shape":[1,2],"datatype":"INT64","parameters":{"binary_data_size":16}}]}`
	f.Add(append([]byte(lists), bytesFrom([]int64{4, -1})...), len(lists))
	f.Add([]byte(`{"inputs":[`+q+`,{"name":"floors","shape":[4611686018427387904],"datatype":"FP32","data":[]}],"parameters":{"goals":[{}]}}`), -1)
	f.Fuzz(func(t *testing.T, body []byte, length int) {
		before := allocated()
		r, err := Decode(body, max(length, -1), dim, wire.Limits{Queries: 1 << 12})
		if used := allocated() - before; used > 1<<20+64*uint64(len(body)) {
			t.Fatalf("%d bytes of memory for %d bytes of body", used, len(body))
		}
		if err != nil {
			if p := problem.Of(err); p.Kind.Status() >= 500 || p.Detail == "" {
				t.Fatalf("%v is status %d", err, p.Kind.Status())
			}
			return
		}
		s := r.Search
		if s.M < 1 || len(s.Queries) != s.M*dim || slices.ContainsFunc(s.Queries, func(v float32) bool { return v-v != 0 }) || s.K < 1 && s.MinScore == nil || s.Delta < 0 || s.Delta >= 1 || s.Goals != nil && len(s.Goals) != s.M {
			t.Fatalf("%+v", s)
		}
		if _, _, err := r.Answer("m", 1, response(), wire.Naming{Name: func(int64) string { return "" }}); err != nil {
			t.Fatal(err)
		}
	})
}

package service

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"thresher/collection"
	"thresher/service/oip/inferencepb"
	"thresher/tasks"
)

// TestFloors: a score of scores64, given back as the least or the greatest score wanted, lets its row
// through, and not the next one that float32 does not tell from it: in every form that a search has, of
// every metric, and beyond 2^53.
func TestFloors(t *testing.T) {
	for _, metric := range []string{"ip", "cosine", "l2"} {
		m, err := collection.ParseMetric(metric)
		if err != nil {
			t.Fatal(err)
		}
		near, far := tasks.LimitNames(m)
		for _, scale := range []float32{1, 3e8} {
			t.Run(fmt.Sprint(metric, " ", scale), func(t *testing.T) {
				s := start(t, nil)
				rows, q := gaussian(1, 50*dim), gaussian(2, dim)
				for i := range rows {
					rows[i] *= scale
				}
				for i := range 50 { // that differ by little
					twin := slices.Clone(rows[i*dim : (i+1)*dim])
					twin[0] = math.Nextafter32(twin[0], 0)
					rows = append(rows, twin...)
				}
				for i := range q {
					q[i] *= scale
				}
				s.do("PUT", "/v1/collections/films?wait&metric="+metric, npy(rows, dim), "Content-Type", npyType).want(201)
				queries, err := json.Marshal([][]float32{q})
				if err != nil {
					t.Fatal(err)
				}
				var best struct{ Results []floored }
				s.do("POST", searchFilms, fmt.Sprintf(`{"queries":%s,"k":20,"method":"exact","include":["rows","scores64"]}`, queries)).want(200).into(&best)
				all, k := best.Results[0], 1
				for all.Scores[k-1] != all.Scores[k] || all.Scores64[k-1] == all.Scores64[k] {
					k++
				}
				text, last := string(all.Scores64[k-1]), all.Rows[k-1]
				limit, err := all.Scores64[k-1].Float64()
				if err != nil {
					t.Fatal(err)
				}
				if metric != "cosine" && (scale > 1) != (math.Abs(limit) > 1<<53) {
					t.Fatalf("score %s", text)
				}
				digits := strconv.FormatFloat(limit, 'f', -1, 64) // as JavaScript prints it
				check := func(form string, rows []int64) {
					t.Helper()
					if len(rows) != k || rows[k-1] != last {
						t.Errorf("%s: at least %s returns %v, want %v", form, text, rows, all.Rows[:k])
					}
				}
				for form, body := range map[string]string{
					"search": `"` + near + `":` + text, "goals": `"goals":[{"` + near + `":` + text + `}]`, "digits": `"` + near + `":` + digits,
				} {
					var found struct{ Results []floored }
					s.do("POST", searchFilms, fmt.Sprintf(`{"queries":%s,"method":"exact","include":["rows"],%s}`, queries, body)).want(200).into(&found)
					check(form, found.Results[0].Rows)
				}
				var most struct{ Results []floored }
				s.do("POST", searchFilms, fmt.Sprintf(`{"queries":%s,"k":1,"method":"exact","include":["rows"],%q:%s}`, queries, far, text)).want(200).into(&most)
				if rows := most.Results[0].Rows; len(rows) != 1 || rows[0] != last {
					t.Errorf("at most %s returns %v, want %d", text, rows, last)
				}
				var npyFound struct{ Results []floored }
				params := url.Values{near: {text}, "method": {"exact"}, "include": {"rows"}}
				s.do("POST", searchFilms+"?"+params.Encode(), npy(q, dim), "Content-Type", npyType).want(200).into(&npyFound)
				check("parameter", npyFound.Results[0].Rows)

				for form, floor := range map[string]string{"FP64": text, "FP32": text} {
					var a struct {
						Outputs []struct{ Data []int64 }
					}
					s.do("POST", "/v2/models/films/infer", fmt.Sprintf(`{"inputs":[{"name":"queries","datatype":"FP32","shape":[1,%d],"data":%s},
						{"name":"floors","datatype":%q,"shape":[1],"data":[%s]}],"outputs":[{"name":"rows"}],"parameters":{"method":"exact"}}`, dim, queries, form, floor)).want(200).into(&a)
					check("tensor of "+form, a.Outputs[0].Data)
				}
				ask := func(change func(*inferencepb.ModelInferRequest)) []int64 {
					m := with(asking("films", q), map[string]*inferencepb.InferParameter{"method": textParam("exact")})
					change(m)
					a, err := s.calls().ModelInfer(t.Context(), m)
					if err != nil {
						t.Fatal(err)
					}
					return idsOf(t, a)
				}
				floors := &inferencepb.ModelInferRequest_InferInputTensor{Name: "floors", Datatype: "FP64", Shape: []int64{1}, Contents: &inferencepb.InferTensorContents{Fp64Contents: []float64{limit}}}
				check("contents", ask(func(m *inferencepb.ModelInferRequest) { m.Inputs = append(m.Inputs, floors) }))
				check("raw contents", ask(func(m *inferencepb.ModelInferRequest) {
					raw(m)
					m.Inputs = append(m.Inputs, &inferencepb.ModelInferRequest_InferInputTensor{Name: "floors", Datatype: "FP64", Shape: []int64{1}})
					m.RawInputContents = append(m.RawInputContents, binary.LittleEndian.AppendUint64(nil, math.Float64bits(limit)))
				}))
				check("parameter of a call", ask(func(m *inferencepb.ModelInferRequest) { m.Parameters[near] = numberParam(limit) }))
			})
		}
	}
}

// floored is a result with its scores as they are written.
type floored struct {
	Rows             []int64
	Scores, Scores64 []json.Number
}

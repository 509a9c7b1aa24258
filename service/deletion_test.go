package service

import (
	"slices"
	"strings"
	"testing"

	"thresher/dataset"
	"thresher/service/api"
)

// TestFilterThatDeletesAll: a filter without a condition deletes nothing, however its emptiness is nested; one of nothing is no error.
func TestFilterThatDeletesAll(t *testing.T) {
	s := start(t, nil)
	s.do("PUT", "/v1/collections/two?wait", `{"metric":"ip","source":{"vectors":[[1,2],[3,4]],"ids":[1,2]}}`).want(201)
	const rows = "/v1/collections/two/rows"
	for _, filter := range []string{`{}`, `{"must":[]}`, `{"must":[{"should":[]}]}`, `{"must_not":[{"has_id":[]}]}`, `{"min_should":{"conditions":[{"has_id":[1]}],"min_count":0}}`} {
		p := s.do("DELETE", rows, `{"filter":`+filter+`}`).problem(400, "invalid-value")
		if p.Field != "filter" || !strings.Contains(p.Detail, "would delete all rows") {
			t.Errorf("%s: %+v", filter, p)
		}
	}
	var info api.Collection
	s.do("DELETE", rows, `{"filter":{"must":[{"has_id":[]}]}}`).want(200)
	s.do("GET", "/v1/collections/two", nil).want(200).into(&info)
	if info.Count != 2 {
		t.Errorf("%d rows are left", info.Count)
	}
	s.do("DELETE", rows, `{"filter":{"must":[{"has_id":[1,2]}]}}`).want(200).into(&info)
	if info.Count != 0 {
		t.Errorf("%d rows are left of those of which each was named", info.Count)
	}
}

// TestAskedFloat64: a collection made with dtype float64 is kept so whatever its first values are, and later values are not rounded.
func TestAskedFloat64(t *testing.T) {
	s := start(t, nil)
	for kind, body := range map[string]any{
		jsonType: `{"source":{"vectors":[[1,2],[3,4]]}}`, csvType: "a,b\n1,2\n3,4\n", "application/x-ndjson": "{\"v\":[1,2]}\n{\"v\":[3,4]}\n",
		npyType: npy([]float32{1, 2, 3, 4}, 2),
	} {
		for _, metric := range []string{"ip", "l2", "cosine"} {
			var info api.Collection
			name := "/v1/collections/" + metric + strings.NewReplacer("/", "-", "+", "-").Replace(kind)
			s.do("PUT", name+"?wait&dtype=float64&metric="+metric, body, "Content-Type", kind).want(201).into(&info)
			if info.DType != dataset.ElemFloat64.String() || info.Rounded != nil {
				t.Errorf("%s, %s: %+v", metric, kind, info)
			}
			s.do("PUT", name+"/rows", `{"source":{"vectors":[[0.3,0.7]],"ids":[0]}}`).want(200)
			s.do("POST", name+"/rows?wait", `{"source":{"vectors":[[0.1,0.2]]}}`).want(200).into(&info)
			for row, want := range map[string][]float64{"0": {.3, .7}, "1": {3, 4}, "2": {.1, .2}} {
				var got struct{ Vector []float64 }
				s.do("GET", name+"/rows/"+row, nil).want(200).into(&got)
				if !slices.Equal(got.Vector, want) {
					t.Errorf("%s, %s: row %s is %v", metric, kind, row, got.Vector)
				}
			}
			if info.Rounded != nil || info.DType != dataset.ElemFloat64.String() {
				t.Errorf("%s, %s, of which more are: %+v", metric, kind, info)
			}
		}
	}
}

// TestIDsBeyondIntegers: ids of 2^63 and more, which a collection of integers has none of, are refused as such and not as texts.
func TestIDsBeyondIntegers(t *testing.T) {
	for _, changes := range []bool{true, false} { // by rows, or by versions
		const name = "/v1/collections/numbers"
		s := start(t, func(o *Options) {
			if !changes {
				o.Place = nil
			}
		})
		s.do("PUT", name+"?wait&metric=ip", `{"source":{"vectors":[[1,2],[3,4]],"ids":[5,7]}}`).want(201)
		const beyond = "ids[1] is 9223372036854775808, and the ids of the collection are integers below 2^63"
		const added = `{"source":{"vectors":[[1,2],[3,4]],"ids":[5,9223372036854775808]}}`
		bad := []*answer{
			s.do("DELETE", name+"/rows", `{"ids":[5,9223372036854775808]}`), s.do("DELETE", name+"/rows?ids=5,9223372036854775808", nil),
			s.do("POST", name+"/rows", added),
		}
		if changes {
			bad = append(bad, s.do("PUT", name+"/rows", added))
		}
		for i, a := range bad {
			p := a.problem([]int{404, 404, 400, 400}[i], []string{"unknown-row", "unknown-row", "invalid-value", "invalid-value"}[i])
			if !strings.Contains(p.Detail, beyond) {
				t.Errorf("%s, %d: %+v", name, i, p)
			}
		}
		if p := s.do("DELETE", name+"/rows", `{"ids":["a"]}`).problem(404, "unknown-row"); !strings.Contains(p.Detail, "are strings") {
			t.Errorf("texts: %+v", p)
		}
	}
}

// TestDeleteOfTwo: the ids 0 and 1 of two rows can be a mask in a list of JSON, which is refused with what cannot be; as a parameter they are ids.
func TestDeleteOfTwo(t *testing.T) {
	s := start(t, nil)
	const two = "/v1/collections/two"
	s.do("PUT", two+"?wait&metric=ip", `{"source":{"vectors":[[1,2],[3,4]],"ids":[0,1]}}`).want(201)
	p := s.do("DELETE", two+"/rows", `{"ids":[0,1]}`).problem(400, "invalid-value")
	if p.Field != "ids" || !strings.Contains(p.Detail, "the parameter ids=0,1 is the ids") || strings.Contains(p.Detail, "repeated") {
		t.Errorf("%+v", p)
	}
	s.do("DELETE", two+"/rows?ids=1,1", nil).problem(400, "invalid-value")
	var info api.Collection
	s.do("DELETE", two+"/rows?ids=0,1", nil).want(200).into(&info)
	if info.Count != 0 || info.Change == nil || info.Change.Deleted != 2 {
		t.Errorf("%+v", info)
	}
}

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
			s.do("PUT", name+"/rows", `{"source":{"vectors":[[0.1,0.2]],"ids":[0]}}`).problem(409, "conflict")
			s.do("POST", name+"/rows?wait", `{"source":{"vectors":[[0.1,0.2]]}}`).want(200).into(&info)
			for row, want := range map[string][]float64{"1": {3, 4}, "2": {.1, .2}} {
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

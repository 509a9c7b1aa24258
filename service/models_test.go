package service

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/service/oip"
)

// TestModelConfig: a collection is described as Triton describes a model.
func TestModelConfig(t *testing.T) {
	s := start(t, nil)
	s.fill()
	s.do("PUT", "/v1/collections/named?metric=ip&wait&ids=key", "{\"key\":\"a\",\"vector\":[1,2]}\n{\"key\":\"b\",\"vector\":[2,1]}\n", "Content-Type", "application/x-ndjson").want(http.StatusCreated)
	var c oip.ModelConfig
	s.do("GET", "/v2/models/films/config", nil).want(200).into(&c)
	want := []oip.ConfigInput{
		{Name: "queries", DataType: "TYPE_FP32", Format: "FORMAT_NONE", Dims: []int64{-1, dim}},
		{Name: "k", DataType: "TYPE_INT32", Format: "FORMAT_NONE", Dims: []int64{1}, Optional: true},
		{Name: "delta", DataType: "TYPE_FP32", Format: "FORMAT_NONE", Dims: []int64{1}, Optional: true},
		{Name: "ks", DataType: "TYPE_INT32", Format: "FORMAT_NONE", Dims: []int64{-1}, Optional: true},
		{Name: "floors", DataType: "TYPE_FP64", Format: "FORMAT_NONE", Dims: []int64{-1}, Optional: true},
		{Name: "ceilings", DataType: "TYPE_FP64", Format: "FORMAT_NONE", Dims: []int64{-1}, Optional: true},
		{Name: "exclude", DataType: "TYPE_INT64", Format: "FORMAT_NONE", Dims: []int64{-1, -1}, Optional: true},
		{Name: "candidates", DataType: "TYPE_INT64", Format: "FORMAT_NONE", Dims: []int64{-1, -1}, Optional: true},
	}
	if diff := cmp.Diff(want, c.Input); diff != "" || c.Name != "films" || c.MaxBatchSize != 0 || c.VersionPolicy.Latest.NumVersions != 1 || len(c.Output) != 10 {
		t.Errorf("%+v %s", c, diff)
	}
	s.do("GET", "/v2/models/named/versions/1/config", nil).want(200).into(&c)
	if last := c.Output[len(c.Output)-1]; last.Name != "names" || last.DataType != "TYPE_STRING" {
		t.Errorf("%+v", last)
	}
	s.do("GET", "/v2/models/nobody/config", nil).problem(404, "unknown-collection")
	s.do("GET", "/v2/models/films/versions/7/config", nil).problem(404, "unknown-collection")
}

// TestModelStatistics: every search counts, by any protocol, failed ones separately.
func TestModelStatistics(t *testing.T) {
	s := start(t, nil)
	stats := func(path string) oip.ModelStatistics {
		t.Helper()
		var a statisticsAnswer
		s.do("GET", path, nil).want(200).into(&a)
		if len(a.Models) != 1 {
			t.Fatalf("%+v", a)
		}
		return a.Models[0]
	}
	var none statisticsAnswer
	s.do("GET", "/v2/models/stats", nil).want(200).into(&none)
	if none.Models == nil || len(none.Models) > 0 {
		t.Errorf("%+v", none)
	}
	s.fill()
	if m := stats("/v2/models/films/stats"); m.Name != "films" || m.Version != "1" || m.LastInference != 0 || m.Inference.Success.Count != 0 {
		t.Errorf("%+v", m)
	}
	ones := strings.Repeat("1,", dim-1) + "1"
	s.do("POST", "/v1/collections/films/search", fmt.Sprintf(`{"queries":[[%s],[%s]]}`, ones, ones)).want(200)
	s.do("POST", "/v2/models/films/infer", fmt.Sprintf(`{"inputs":[{"name":"queries","datatype":"FP32","shape":[3,%d],"data":[%s,%s,%s]}]}`, dim, ones, ones, ones)).want(200)
	expired := int64(0) // of the searches that run alone, because they have little time
	for s.do("POST", "/v1/collections/films/search", fmt.Sprintf(`{"queries":[[%s]],"timeout_ms":49}`, ones)).status != 200 {
		expired++
	}
	s.do("POST", "/v2/models/films/infer", `{"inputs":[]}`).want(400)
	for _, path := range []string{"/v2/models/films/stats", "/v2/models/films/versions/1/stats", "/v2/models/stats"} {
		m := stats(path)
		in := m.Inference
		if m.InferenceCount != 6 || m.ExecutionCount < 3 || m.ExecutionCount > 3+expired || in.Success.Count != 3 || in.Fail.Count != 1+expired || m.LastInference == 0 {
			t.Errorf("%s: %+v", path, m)
		}
		for _, part := range []oip.DurationStat{in.Queue, in.ComputeInput, in.ComputeInfer, in.ComputeOutput} {
			if part.Count != 3 || part.NS < 0 || part.NS > in.Success.NS {
				t.Errorf("%s: %+v", path, in)
			}
		}
	}
	s.do("PUT", "/v1/collections/films?metric=ip&wait&replace", npy(gaussian(2, atoms*dim), dim), "Content-Type", npyType).want(http.StatusCreated)
	if m := stats("/v2/models/films/stats"); m.Version != "2" || m.InferenceCount != 0 {
		t.Errorf("a version begins with %+v", m)
	}
	s.do("GET", "/v2/models/nobody/stats", nil).problem(404, "unknown-collection")
}

// TestRepositoryIndex: failed collections are listed with the reason, unless only ready ones
// are requested.
func TestRepositoryIndex(t *testing.T) {
	s := start(t, nil)
	s.fill()
	s.do("PUT", "/v1/collections/broken?metric=ip&wait", "[1,2]\n[3]\n", "Content-Type", "application/x-ndjson").want(400)
	var all, ready []oip.ModelIndex
	s.do("POST", "/v2/repository/index", "").want(200).into(&all)
	films := oip.ModelIndex{Name: "films", Version: "1", State: oip.StateReady}
	if len(all) != 2 || all[0].Name != "broken" || all[0].State != oip.StateUnavailable || !strings.Contains(all[0].Reason, "row 1") || all[1] != films {
		t.Errorf("%+v", all)
	}
	s.do("POST", "/v2/repository/index", `{"ready":true}`).want(200).into(&ready)
	if len(ready) != 1 || ready[0] != films {
		t.Errorf("%+v", ready)
	}
	s.do("POST", "/v2/repository/index", `{"redy":true}`).problem(400, "unknown-field")
}

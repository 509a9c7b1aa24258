package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestRequests(t *testing.T) {
	r := prometheus.NewRegistry()
	m, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		m.Entered()
	}
	m.Left(RequestRecord{Route: "/v1/collections/{name}/search", Method: "POST", Status: 200, Took: time.Second, In: 10, Out: 100})
	m.Left(RequestRecord{Route: "/v1/collections/{name}/search", Method: "POST", Status: 200, Took: time.Second, In: 20, Out: 200})
	m.Left(RequestRecord{Method: "BREW", Status: 404, Out: 7})
	const want = `
# HELP thresher_http_request_bytes_total Bytes of bodies that were read, as they were sent.
# TYPE thresher_http_request_bytes_total counter
thresher_http_request_bytes_total{route="(other)"} 0
thresher_http_request_bytes_total{route="/v1/collections/{name}/search"} 30
# HELP thresher_http_requests_in_flight Requests under way.
# TYPE thresher_http_requests_in_flight gauge
thresher_http_requests_in_flight 1
# HELP thresher_http_requests_total Requests that were answered, by the pattern of their path.
# TYPE thresher_http_requests_total counter
thresher_http_requests_total{method="(other)",route="(other)",status="404"} 1
thresher_http_requests_total{method="POST",route="/v1/collections/{name}/search",status="200"} 2
# HELP thresher_http_response_bytes_total Bytes of answers, as they were sent.
# TYPE thresher_http_response_bytes_total counter
thresher_http_response_bytes_total{route="(other)"} 7
thresher_http_response_bytes_total{route="/v1/collections/{name}/search"} 300
`
	names := []string{"thresher_http_requests_total", "thresher_http_requests_in_flight", "thresher_http_request_bytes_total", "thresher_http_response_bytes_total"}
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	if d := observations(t, r, "thresher_http_request_seconds", "route"); d["/v1/collections/{name}/search"] != 2 {
		t.Errorf("%v", d)
	}
}

// TestLabelsAreBounded: collections beyond the limit share one label, and forgetting one
// frees a label for another.
func TestLabelsAreBounded(t *testing.T) {
	r := prometheus.NewRegistry()
	m, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	m.LimitLabels(2)
	all := map[string]Collection{}
	for i := range 5 {
		all[fmt.Sprint("c", i)] = Collection{Bytes: 10, State: "ready"}
	}
	all["c4"] = Collection{Bytes: 3, State: "failed"}
	err = Watch(r, ServerState{Jobs: func() map[string]int { return nil }, Collections: func() map[string]Collection { return all }, Label: m.Label})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		name := fmt.Sprint("c", i)
		m.Answered(name, "", response())
		m.Runs(name).Began(1, 1)
	}
	const want = `
# HELP thresher_collection_bytes Memory of a collection.
# TYPE thresher_collection_bytes gauge
thresher_collection_bytes{collection="(other)"} 23
thresher_collection_bytes{collection="c0"} 10
thresher_collection_bytes{collection="c1"} 10
# HELP thresher_collection_state The state of a collection; always 1, or how many of those that share the label are in it.
# TYPE thresher_collection_state gauge
thresher_collection_state{collection="(other)",state="failed"} 1
thresher_collection_state{collection="(other)",state="ready"} 2
thresher_collection_state{collection="c0",state="ready"} 1
thresher_collection_state{collection="c1",state="ready"} 1
# HELP thresher_collections Collections by state.
# TYPE thresher_collections gauge
thresher_collections{state="building"} 0
thresher_collections{state="failed"} 1
thresher_collections{state="loading"} 0
thresher_collections{state="ready"} 4
thresher_collections{state="stale"} 0
thresher_collections{state="updating"} 0
# HELP thresher_pulls_total Coordinates of vectors read.
# TYPE thresher_pulls_total counter
thresher_pulls_total{collection="(other)",method="auto"} 210
thresher_pulls_total{collection="c0",method="auto"} 70
thresher_pulls_total{collection="c1",method="auto"} 70
`
	names := []string{"thresher_collection_bytes", "thresher_collection_state", "thresher_collections", "thresher_pulls_total"}
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}

	var told []string
	m.OnForget(func(collection string) { told = append(told, collection) })
	// Forgetting a collection without series of its own frees nothing.
	m.Forget("c4")
	m.Forget("c0")
	if len(told) != 1 || told[0] != "c0" {
		t.Errorf("others were told to forget %q", told)
	}
	m.Answered("c2", "", response())
	for label, want := range map[string]float64{other: 210, "c1": 70, "c2": 70} {
		if got := testutil.ToFloat64(m.pulls.WithLabelValues(label, "auto")); got != want {
			t.Errorf("%s has %v, want %v", label, got, want)
		}
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, series := range f.Metric {
			for _, l := range series.Label {
				if l.GetName() == "collection" && l.GetValue() == "c0" && !strings.HasPrefix(f.GetName(), "thresher_collection_") {
					t.Errorf("%s still has a series of c0", f.GetName())
				}
			}
		}
	}
}

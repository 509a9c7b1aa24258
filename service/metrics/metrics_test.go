package metrics

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"thresher/batch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func filled(t *testing.T) (*prometheus.Registry, *Metrics) {
	t.Helper()
	r := prometheus.NewRegistry()
	m, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	err = Watch(r, ServerState{
		Memory: func() (limits, used map[string]int64) {
			return map[string]int64{"answers": 1 << 20, "collections": 0}, map[string]int64{"answers": 5, "collections": 4096}
		},
		Jobs:        func() map[string]int { return map[string]int{"in_progress": 2, "failed": 1} },
		Collections: func() map[string]Collection { return map[string]Collection{"movies": {4096, "ready"}} },
		Waiting:     func() map[string]int { return map[string]int{"place": 2} },
		Version:     "v1.2.3", Revision: "abc", Go: "go1.26",
		Backend: "cpu", Device: "avx512",
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Answered("movies", "", response())
	runs := m.Runs("movies")
	runs.Waited(time.Millisecond)
	runs.Began(2, 5)
	m.Compared("movies", 9, 1)
	m.Rejected("queue-full")
	m.Waited("small", time.Millisecond)
	m.Entered()
	m.Left(RequestRecord{Route: "/v1/files", Method: "GET", Status: 200, Took: time.Millisecond, In: 3, Out: 70})
	m.Expired("files", 2)
	return r, m
}

// response answers three queries: one with the guarantee exact, two with probability, one of
// which was stopped; their looks saw 100 atoms each.
func response() *batch.Response {
	look := func(survivors int) batch.LookRecord { return batch.LookRecord{Seen: 100, Survivors: survivors} }
	return &batch.Response{
		Answers: []batch.Answer{
			{Certificate: batch.Certificate{Guarantee: batch.GuaranteeExact}},
			{Certificate: batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Looks: []batch.LookRecord{look(10), look(1)}}},
			{Certificate: batch.Certificate{Guarantee: batch.GuaranteeProbabilistic, Looks: slices.Repeat([]batch.LookRecord{look(50)}, 20)}},
		},
		Took:  3 * time.Millisecond,
		Stats: batch.Stats{Pulls: 70, DensePulls: 700, RowsScored: 9, Unfinished: 1},
	}
}

// TestNames fixes the names of metrics, on which dashboards depend.
func TestNames(t *testing.T) {
	r, _ := filled(t)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		got[f.GetName()] = strings.Join(labels, " ")
	}
	want := map[string]string{
		"thresher_search_seconds": "collection method", "thresher_queries_total": "collection guarantee method",
		"thresher_pulls_total": "collection method", "thresher_dense_pulls_total": "collection method",
		"thresher_round_survivor_ratio": "round", "thresher_rescored_rows_total": "collection method",
		"thresher_batch_size": "collection", "thresher_queue_seconds": "collection", "thresher_turn_seconds": "class", "thresher_rejected_total": "reason",
		"thresher_partial_answers_total": "collection method", "thresher_stated_atoms_total": "collection outcome", "thresher_stated_vectors_total": "collection outcome", "thresher_jobs": "status",
		"thresher_expired_total": "kind", "thresher_wrong_tokens_total": "outcome",
		"thresher_collections": "state", "thresher_collection_state": "collection state", "thresher_requests_waiting": "for", "thresher_build_info": "goversion revision version",
		"thresher_http_requests_total": "method route status", "thresher_http_request_seconds": "method route", "thresher_http_requests_in_flight": "", "thresher_unauthenticated_resets_total": "", "thresher_connection_errors_total": "",
		"thresher_http_request_bytes_total": "route", "thresher_http_response_bytes_total": "route",
		"thresher_memory_limit_bytes": "share", "thresher_memory_used_bytes": "share",
		"thresher_collection_bytes": "collection", "thresher_backend_info": "backend device",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	problems, err := testutil.GatherAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

func TestAnswered(t *testing.T) {
	r, _ := filled(t)
	const want = `
# HELP thresher_dense_pulls_total Coordinates that dense scans would have read for the same answers.
# TYPE thresher_dense_pulls_total counter
thresher_dense_pulls_total{collection="movies",method="auto"} 700
# HELP thresher_partial_answers_total Queries whose search was stopped before its end.
# TYPE thresher_partial_answers_total counter
thresher_partial_answers_total{collection="movies",method="auto"} 1
# HELP thresher_pulls_total Coordinates of vectors read.
# TYPE thresher_pulls_total counter
thresher_pulls_total{collection="movies",method="auto"} 70
# HELP thresher_queries_total Queries answered.
# TYPE thresher_queries_total counter
thresher_queries_total{collection="movies",guarantee="bound",method="auto"} 0
thresher_queries_total{collection="movies",guarantee="certain",method="auto"} 0
thresher_queries_total{collection="movies",guarantee="exact",method="auto"} 1
thresher_queries_total{collection="movies",guarantee="heuristic",method="auto"} 0
thresher_queries_total{collection="movies",guarantee="probabilistic",method="auto"} 2
# HELP thresher_rejected_total Requests that failed, by kind of problem.
# TYPE thresher_rejected_total counter
thresher_rejected_total{reason="queue-full"} 1
# HELP thresher_rescored_rows_total Rows scored in full.
# TYPE thresher_rescored_rows_total counter
thresher_rescored_rows_total{collection="movies",method="auto"} 9
# HELP thresher_stated_atoms_total The former name of thresher_stated_vectors_total.
# TYPE thresher_stated_atoms_total counter
thresher_stated_atoms_total{collection="movies",outcome="found"} 9
thresher_stated_atoms_total{collection="movies",outcome="missed"} 1
# HELP thresher_stated_vectors_total Best vectors of queries that answers of other programs had, or lacked.
# TYPE thresher_stated_vectors_total counter
thresher_stated_vectors_total{collection="movies",outcome="found"} 9
thresher_stated_vectors_total{collection="movies",outcome="missed"} 1
`
	names := []string{"thresher_dense_pulls_total", "thresher_partial_answers_total", "thresher_pulls_total", "thresher_queries_total", "thresher_rejected_total", "thresher_rescored_rows_total", "thresher_stated_atoms_total", "thresher_stated_vectors_total"}
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

// observations returns the number of observations of a histogram by the value of a label.
func observations(t *testing.T, r *prometheus.Registry, name, label string) map[string]uint64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if n := m.GetHistogram().GetSampleCount(); l.GetName() == label && n > 0 {
					got[l.GetValue()] = n
				}
			}
		}
	}
	return got
}

// TestRoundsShareTheLastLabel: a method with hundreds of looks has eight series.
func TestRoundsShareTheLastLabel(t *testing.T) {
	r, _ := filled(t)
	want := map[string]uint64{"1": 2, "2": 2, "3": 1, "4": 1, "5": 1, "6": 1, "7": 1, "8+": 13}
	if d := cmp.Diff(want, observations(t, r, "thresher_round_survivor_ratio", "round")); d != "" {
		t.Error(d)
	}
}

func TestForget(t *testing.T) {
	r, m := filled(t)
	m.Answered("books", batch.Exact, response())
	m.Forget("movies")
	got := observations(t, r, "thresher_search_seconds", "collection")
	if d := cmp.Diff([]string{"books"}, slices.Collect(maps.Keys(got))); d != "" {
		t.Error(d)
	}
	m.Answered("movies", batch.Exact, response()) // a new collection of the name starts at 0
	if got := observations(t, r, "thresher_search_seconds", "collection")["movies"]; got != 1 {
		t.Errorf("%d searches of the new collection, want 1", got)
	}
}

func TestNamesAreTaken(t *testing.T) {
	r, _ := filled(t)
	if _, err := New(r); err == nil {
		t.Error("no error for a registry that has the names")
	}
	if err := Watch(r, ServerState{}); err == nil {
		t.Error("no error for a second state")
	}
}

func TestHandler(t *testing.T) {
	r := NewRegistry()
	m, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	m.Rejected("draining")
	w := httptest.NewRecorder()
	Handler(r).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{"thresher_rejected_total{reason=\"draining\"} 1", "go_goroutines ", "process_"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("lacks %s", want)
		}
	}
}

func BenchmarkAnswered(b *testing.B) {
	m, err := New(prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	resp := response()
	resp.Answers = slices.Repeat(resp.Answers[1:2], 256)
	b.ReportAllocs()
	for b.Loop() {
		m.Answered("movies", batch.Auto, resp)
	}
}

// TestReadersPage: each metric either is withheld from readers or is known to tell nothing that
// certificates withhold from them; a new one must be put in one of the lists.
func TestReadersPage(t *testing.T) {
	r, m := filled(t)
	m.WrongToken(true)
	r.MustRegister(collectors.NewGoCollector())
	page := func(h http.Handler) (names []string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		for line := range strings.Lines(w.Body.String()) {
			if kind, ok := strings.CutPrefix(line, "# TYPE "); ok {
				names = append(names, strings.Fields(kind)[0])
			}
		}
		return names
	}
	pages := NewPages(r)
	all, told := page(pages.All()), page(pages.Readers())
	var held []string
	for _, name := range all {
		if !slices.Contains(told, name) && !strings.HasPrefix(name, "go_memstats_") {
			held = append(held, name)
		}
	}
	want := []string{"thresher_dense_pulls_total", "thresher_pulls_total", "thresher_rescored_rows_total", "thresher_round_survivor_ratio"}
	if diff := cmp.Diff(want, held); diff != "" {
		t.Error(diff)
	}
	harmless := []string{
		"thresher_backend_info", "thresher_batch_size", "thresher_build_info", "thresher_collection_bytes", "thresher_collection_state", "thresher_collections",
		"thresher_connection_errors_total", "thresher_expired_total", "thresher_http_request_bytes_total", "thresher_http_request_seconds",
		"thresher_http_requests_in_flight", "thresher_http_requests_total", "thresher_http_response_bytes_total", "thresher_jobs", "thresher_memory_limit_bytes", "thresher_memory_used_bytes", "thresher_partial_answers_total",
		"thresher_queries_total", "thresher_queue_seconds", "thresher_rejected_total", "thresher_requests_waiting", "thresher_search_seconds",
		"thresher_stated_atoms_total", "thresher_stated_vectors_total", "thresher_turn_seconds", "thresher_unauthenticated_resets_total", "thresher_wrong_tokens_total",
	}
	own := slices.DeleteFunc(slices.Clone(told), func(name string) bool { return !strings.HasPrefix(name, "thresher_") })
	if diff := cmp.Diff(harmless, own); diff != "" {
		t.Error(diff)
	}
	if slices.ContainsFunc(told, func(name string) bool { return strings.HasPrefix(name, "go_memstats_") }) || !slices.Contains(told, "go_goroutines") {
		t.Error(told)
	}
}

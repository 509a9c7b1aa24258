package service

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
)

// TestReadinessOfAll: collections=all requires that every collection is ready.
func TestReadinessOfAll(t *testing.T) {
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	proceed := make(chan struct{})
	s := start(t, func(o *Options) {
		o.Open = func(ctx context.Context, name string, c *collection.Collection) (*batch.Engine, error) {
			if name != "films" {
				select {
				case <-proceed:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				if name == "broken" {
					return nil, errors.New("no luck")
				}
			}
			return batch.Open(ctx, c, b, nil)
		}
	})
	defer s.stopAll() // before the backend
	s.fill()
	s.do("GET", "/readyz?collections=all", nil).want(200)
	for _, name := range []string{"slow", "broken"} {
		s.do("PUT", "/v1/collections/"+name+"?metric=ip", npy(gaussian(2, 4*dim), dim), "Content-Type", npyType).want(202)
	}
	s.do("GET", "/readyz", nil).want(200)
	p := s.do("GET", "/readyz?collections=all", nil).problem(503, "not-ready")
	if !strings.Contains(p.Detail, "broken is building, slow is building") {
		t.Errorf("%+v", p)
	}
	close(proceed)
	for _, name := range []string{"slow", "broken"} {
		if _, err := s.catalog.Wait(t.Context(), name, 0); err != nil {
			t.Fatal(err)
		}
	}
	p = s.do("GET", "/readyz?collections=all", nil).problem(503, "not-ready")
	if !strings.HasSuffix(p.Detail, ": broken is failed") {
		t.Errorf("%+v", p)
	}
	const want = `
# HELP thresher_collections Collections by state.
# TYPE thresher_collections gauge
thresher_collections{state="building"} 0
thresher_collections{state="failed"} 1
thresher_collections{state="loading"} 0
thresher_collections{state="ready"} 2
thresher_collections{state="stale"} 0
thresher_collections{state="updating"} 0
`
	if err := testutil.GatherAndCompare(s.scrape, strings.NewReader(want), "thresher_collections"); err != nil {
		t.Error(err)
	}
	s.do("DELETE", "/v1/collections/broken", nil).want(204)
	s.do("GET", "/readyz?collections=all", nil).want(200)
	s.do("GET", "/readyz?collections=some", nil).problem(400, "invalid-value")
}

// TestRequestsAreCounted by the pattern of their route and their status.
func TestRequestsAreCounted(t *testing.T) {
	s := start(t, nil)
	s.fill()
	s.do("POST", searchFilms, oneQuery("")).want(200)
	s.do("POST", "/v1/collections/none/search", oneQuery("")).want(404)
	s.do("GET", "/v1/no/such/path", nil).want(404)
	s.fetched("BREW", "/healthz", nil)
	counted := func(line string) bool {
		text := string(s.do("GET", "/metrics", nil).want(200).body)
		return strings.Contains(text, line+"\n")
	}
	for _, line := range []string{
		`thresher_http_requests_total{method="PUT",route="/v1/collections/{name}",status="201"} 1`,
		`thresher_http_requests_total{method="POST",route="/v1/collections/{name}/search",status="200"} 1`,
		`thresher_http_requests_total{method="POST",route="/v1/collections/{name}/search",status="404"} 1`,
		`thresher_http_requests_total{method="GET",route="(other)",status="404"} 1`,
		`thresher_http_requests_total{method="(other)",route="/healthz",status="405"} 1`,
		`thresher_http_request_seconds_count{method="POST",route="/v1/collections/{name}/search"} 2`,
		`thresher_http_requests_in_flight 1`, // the scrape itself
		`thresher_requests_waiting{for="processor"} 0`,
		`thresher_build_info{goversion="` + s.State().Go + `",revision="",version="(test)"} 1`,
	} {
		// A request is counted once its answer is sent, which may be after the client has it.
		for until := time.Now().Add(soon); !counted(line); {
			if time.Now().After(until) {
				t.Errorf("there is no %s in\n%s", line, s.do("GET", "/metrics", nil).body)
				break
			}
		}
	}
}

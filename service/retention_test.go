package service

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestRetention: what was kept long enough goes, is logged and counted, and its ids are unknown from then
// on; what is younger stays.
func TestRetention(t *testing.T) {
	s := start(t, func(o *Options) { o.Extensions = Extensions{&notes{keep: time.Hour}, &tallies{}} })
	s.fill()
	file := s.upload("in.jsonl", requests(2, nil), "batch")
	spec := map[string]any{"input_file_id": file, "endpoint": searchFilms, "completion_window": "24h"}
	var made job
	s.do("POST", "/v1/batches", spec).want(200).into(&made)
	ended := s.over(made.ID)
	written := s.write("short")

	s.o.Retention = Retention{Files: time.Hour, Batches: time.Hour}
	s.expire(t.Context(), time.Now())
	s.do("GET", "/v1/batches/"+made.ID, nil).want(200)
	s.do("GET", "/v1/files/"+file, nil).want(200)
	s.do("GET", "/v1/notes/"+written, nil).want(200)

	s.expire(t.Context(), time.Now().Add(2*time.Hour))
	s.do("GET", "/v1/batches/"+made.ID, nil).problem(404, "unknown-batch")
	s.do("GET", "/v1/files/"+file, nil).problem(404, "unknown-file")
	s.do("GET", "/v1/files/"+*ended.Output, nil).problem(404, "unknown-file")
	s.do("GET", "/v1/notes/"+written, nil).problem(404, "unknown-path")
	const want = `
# HELP thresher_expired_total What was removed because it had been kept long enough, by kind.
# TYPE thresher_expired_total counter
thresher_expired_total{kind="batches"} 1
thresher_expired_total{kind="files"} 2
thresher_expired_total{kind="notes"} 1
`
	if err := testutil.GatherAndCompare(s.scrape, strings.NewReader(want), "thresher_expired_total"); err != nil {
		t.Error(err)
	}
	for _, id := range []string{made.ID, file, *ended.Output, written} {
		if !strings.Contains(s.log.String(), `"id":"`+id+`","keep":"1h0m0s"`) {
			t.Errorf("the log does not say that %s went", id)
		}
	}
}

// TestRetentionOfServer: a server looks for what is too old by itself, as soon as it is opened.
func TestRetentionOfServer(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	file := s.upload("in.jsonl", requests(1, nil), "batch")
	s.stopAll()
	s = startIn(t, dir, func(o *Options) { o.Retention.Files = time.Nanosecond })
	for until := time.Now().Add(soon); ; runtime.Gosched() {
		answer := s.do("GET", "/v1/files/"+file, nil)
		if answer.status == http.StatusNotFound {
			return
		}
		if time.Now().After(until) {
			t.Fatal("the file is still there")
		}
	}
}

func TestRetentionInterval(t *testing.T) {
	for _, x := range []struct {
		keeps []time.Duration
		want  time.Duration
	}{
		{nil, 0},
		{[]time.Duration{0, 0}, 0},
		{[]time.Duration{time.Nanosecond}, time.Second},
		{[]time.Duration{0, 16 * time.Minute}, time.Minute},
		{[]time.Duration{1000 * time.Hour, 0, 32 * time.Minute}, 2 * time.Minute},
		{[]time.Duration{1000 * time.Hour}, time.Hour},
	} {
		if got := interval(x.keeps); got != x.want {
			t.Errorf("%v: %v, want %v", x.keeps, got, x.want)
		}
	}
}

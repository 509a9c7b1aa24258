package service

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestSparseLog: a line of the first event, and one a minute at most of those that follow, with their number.
func TestSparseLog(t *testing.T) {
	kept := &logged{}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := sparseLog{log: slog.New(slog.NewJSONHandler(kept, nil)), what: "it happened", now: func() time.Time { return now }}
	happen := func(n int, last string) {
		for range n - 1 {
			s.note(slog.String("last", "another"))
		}
		s.note(slog.String("last", last))
	}
	s.flush() // nothing happened yet
	happen(1, "first")
	happen(1000, "b")
	now = now.Add(sparseEvery - time.Nanosecond)
	happen(10, "c")
	now = now.Add(time.Nanosecond)
	happen(1, "d")
	happen(7, "e")
	s.flush()
	s.flush()
	want := []string{`"count":1,"last":"first"}`, `"count":1011,"last":"d"}`, `"count":7,"last":"e"}`}
	lines := strings.Split(strings.TrimSpace(kept.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), kept)
	}
	for i, line := range lines {
		if !strings.Contains(line, "it happened") || !strings.HasSuffix(line, want[i]) {
			t.Errorf("line %d is %s, want %s", i, line, want[i])
		}
	}
}

// count returns how often something happened by the lines of a sparse log.
func (s *site) count(msg string) (lines, events int) {
	s.t.Helper()
	for _, m := range s.lines(msg) {
		lines++
		events += int(m["count"].(float64))
	}
	return lines, events
}

// TestStrangersDoNotFillTheLog: requests without a token have no line each, neither over HTTP nor over
// gRPC; what is reset before a token was accepted is counted. Wrong tokens have a line each, and so has
// what comes with a right one.
func TestStrangersDoNotFillTheLog(t *testing.T) {
	s := start(t, guarded)
	const refused, probes, reset = 40, 20, 30
	calls := s.calls()
	for range refused {
		s.do("GET", "/v1/collections", nil).want(http.StatusUnauthorized)
		if _, err := calls.ModelInfer(t.Context(), asking("films", gaussian(1, dim))); err == nil {
			t.Fatal("a call without a token is answered")
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range reset { // as handlers see it, whenever the reset arrives
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, "GET", "/v1/collections", nil))
		s.RPC().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, "POST", "/inference.GRPCInferenceService/ModelInfer", nil))
	}
	s.do("GET", "/v1/collections", nil, "Authorization", "Bearer wrong").want(http.StatusUnauthorized)
	for range probes {
		s.do("GET", "/healthz", nil).want(200)
	}
	s.do("GET", "/v1/collections", nil, "Authorization", "Bearer r-secret").want(200)
	const counted = `
# HELP thresher_unauthenticated_resets_total Requests that were reset before a token was accepted.
# TYPE thresher_unauthenticated_resets_total counter
thresher_unauthenticated_resets_total 60
`
	if err := testutil.GatherAndCompare(s.scrape, strings.NewReader(counted), "thresher_unauthenticated_resets_total"); err != nil {
		t.Error(err)
	}
	s.stopAll() // everything is logged after this
	if all := s.lines("request"); len(all) != 2 {
		t.Errorf("%d lines, want 2: of the wrong token and of the right one: %v", len(all), all)
	}
	const want = 2*refused + probes + 2*reset
	if lines, events := s.count("requests came without a token"); lines > 4 || events != want {
		t.Errorf("%d lines tell of %d requests, want a few and %d", lines, events, want)
	}
}

// TestBrokenConnectionsDoNotFillTheLog: failed handshakes and broken frames are counted and told of
// sparsely; other errors of net/http have their lines.
func TestBrokenConnectionsDoNotFillTheLog(t *testing.T) {
	s := start(t, nil)
	errors := s.connectionErrors()
	for range 50 {
		errors.Print("http: TLS handshake error from 192.0.2.1:4711: EOF")
		errors.Print("http2: server connection error from 192.0.2.1:4711: connection error: PROTOCOL_ERROR")
	}
	errors.Print("http: superfluous response.WriteHeader call")
	const want = `
# HELP thresher_connection_errors_total Connections that failed without a request, such as by a handshake of TLS.
# TYPE thresher_connection_errors_total counter
thresher_connection_errors_total 100
`
	if err := testutil.GatherAndCompare(s.scrape, strings.NewReader(want), "thresher_connection_errors_total"); err != nil {
		t.Error(err)
	}
	s.stopAll()
	if lines, events := s.count("connections failed without a request"); lines > 4 || events != 100 {
		t.Errorf("%d lines tell of %d connections", lines, events)
	}
	if n := strings.Count(s.log.String(), "TLS handshake"); n > 4 {
		t.Errorf("%d lines about handshakes", n)
	}
	if n := len(s.lines("http: superfluous response.WriteHeader call")); n != 1 {
		t.Errorf("%d lines of another error", n)
	}
}

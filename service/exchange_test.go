package service

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestTraceparent(t *testing.T) {
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for header, want := range map[string]string{
		"00-" + trace + "-" + span + "-01":                    trace,
		"00-" + trace + "-" + span + "-00":                    trace,
		"cc-" + trace + "-" + span + "-01-what":               trace, // a later version may have more fields
		"00-" + trace + "-" + span + "-01-what":               "",
		"ff-" + trace + "-" + span + "-01":                    "",
		"00-" + strings.ToUpper(trace) + "-" + span + "-01":   "",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":  "",
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01": "",
		"00-" + trace + "-" + span:                            "", "": "", "00---": "", "00-xyz-" + span + "-01": "",
	} {
		got, parent := parseTraceparent(header)
		if got != want || want != "" && parent != span {
			t.Errorf("%q is %q, %q", header, got, parent)
		}
	}
}

// lines returns the log records with a message.
func (s *site) lines(msg string) []map[string]any {
	s.t.Helper()
	var all []map[string]any
	for line := range strings.Lines(s.log.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			s.t.Fatalf("%v: %s", err, line)
		}
		if m["msg"] == msg {
			all = append(all, m)
		}
	}
	return all
}

// TestTimesInTheLogHaveAUnit: the log says how long a request took, in milliseconds.
func TestTimesInTheLogHaveAUnit(t *testing.T) {
	s := start(t, nil)
	s.do("GET", "/healthz", nil).want(200)
	s.stopAll()
	line := s.lines("request")[0]
	if ms, ok := line["took_ms"].(float64); !ok || ms <= 0 || ms > 600_000 || line["took"] != nil {
		t.Errorf("%v", line)
	}
	if got := milliseconds(1500 * time.Microsecond); got != 1.5 {
		t.Errorf("1.5 ms are %v", got)
	}
}

func TestLog(t *testing.T) {
	s := start(t, nil)
	s.fill()
	s.do("POST", "/v1/collections/films/search?k=3&allow=1,2,77", npy(gaussian(5, dim), dim), "Content-Type", npyType,
		"X-Request-Id", "mine.1", "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").want(200)
	s.do("POST", "/v1/collections/films/search", `{"queries":[[0.123456,2,3,4,5,6,7,8]],"k":1,"delta":7}`, "X-Request-Id", "not fit for a log\t").problem(400, "invalid-value")
	s.stopAll() // everything is logged after this
	all := s.lines("request")
	if len(all) != 3 {
		t.Fatalf("%d lines", len(all))
	}
	last := all[1]
	if last["id"] != "mine.1" || last["trace_id"] != "4bf92f3577b34da6a3ce929d0e0e4736" || last["parent_id"] != "00f067aa0ba902b7" ||
		last["method"] != "POST" || last["path"] != "/v1/collections/films/search" || last["status"] != 200. || last["bytes"].(float64) < 50 {
		t.Errorf("%v", last)
	}
	if id := all[2]["id"].(string); strings.Contains(id, " ") || len(id) < 16 || all[2]["error"] == nil {
		t.Errorf("%v", all[2])
	}
	if text := s.log.String(); strings.Contains(text, "0.123456") || strings.Contains(text, "allow") {
		t.Error("the log has vectors or parameters")
	}
}

// TestPanic: a handler that panics affects one request, and clients see none of its details.
func TestPanic(t *testing.T) {
	s := start(t, nil)
	s.mux = s.newMux([]route{
		{method: "GET", pattern: "/panics", handle: func(*request, http.ResponseWriter) error { panic("at the disco") }},
		{method: "GET", pattern: "/half", handle: func(_ *request, w http.ResponseWriter) error {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("half"))
			panic("at the disco")
		}},
	})
	a := s.do("GET", "/panics", nil)
	p := a.problem(500, "internal")
	if strings.Contains(string(a.body), "disco") || strings.Contains(string(a.body), ".go") || p.Detail == "" {
		t.Errorf("%s", a.body)
	}
	resp, err := s.client.Get(s.url + "/half")
	if err == nil {
		var b [200]byte
		for err == nil {
			_, err = resp.Body.Read(b[:])
		}
		resp.Body.Close()
		if err.Error() == "EOF" {
			t.Error("half of an answer looks like a whole one")
		}
	}
	lines := s.lines("panic")
	if len(lines) < 2 || // the client retries
		!strings.Contains(lines[0]["stack"].(string), "exchange_test.go") || lines[0]["panic"] != "at the disco" {
		t.Errorf("%d panics logged", len(lines))
	}
}

func TestAccepted(t *testing.T) {
	offers := []string{jsonType, npzType}
	for accept, want := range map[string]string{
		"": jsonType, "*/*": jsonType, "application/*": jsonType, npzType: npzType, "text/html, " + npzType + ";q=0.1": npzType,
		"application/json;q=0.2, application/x-npz;q=0.3": npzType, "application/json;q=0, */*": npzType, "application/x-npz, application/json": jsonType,
		"text/html": "", "application/json;q=0": "", "application/json;q=x": "", "*/*;q=0": "",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", accept)
		got, err := accepted(r, offers...)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q takes %q (%v), want %q", accept, got, err, want)
		}
	}
}

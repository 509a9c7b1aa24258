package service

import (
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"thresher/service/trace"
)

// TestTraces: a request is a child of the client's span, named by its route, with children
// for waiting and searching; its log and its answer name it.
func TestTraces(t *testing.T) {
	var mu sync.Mutex
	var sent []*spans.Span
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var part collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(text, &part) != nil {
			t.Errorf("%d bytes, %v", len(text), err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, of := range part.ResourceSpans {
			for _, s := range of.ScopeSpans {
				sent = append(sent, s.Spans...)
			}
		}
	}))
	defer receiver.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
	tracer, err := trace.FromEnvironment(t.Context(), "(test)", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, func(o *Options) { o.Traces = tracer })
	s.fill()
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	a := s.do("POST", searchFilms, oneQuery(`,"k":3`), "Traceparent", "00-"+id+"-"+parent+"-01").want(200)
	s.do("GET", "/healthz", nil).want(200)
	s.do("GET", "/v1/collections/none", nil).want(404)
	s.stopAll() // all requests have ended
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	var request, search *spans.Span
	var names, below []string
	for _, span := range sent {
		if span.Kind == spans.Span_SPAN_KIND_SERVER {
			names = append(names, span.Name)
		}
		if span.Name == "POST /v1/collections/{name}/search" {
			request = span
		}
	}
	slices.Sort(names)
	if d := cmp.Diff([]string{"GET /v1/collections/{name}", "POST /v1/collections/{name}/search", "PUT /v1/collections/{name}"}, names); d != "" {
		t.Fatal(d)
	}
	for _, span := range sent {
		if string(span.ParentSpanId) == string(request.SpanId) {
			below = append(below, span.Name)
			if span.Name == "search" {
				search = span
			}
		}
	}
	if d := cmp.Diff([]string{"read the body", "wait for a place", "search"}, below); d != "" {
		t.Fatal(d)
	}
	attributes := map[string]any{}
	for _, a := range append(search.Attributes, request.Attributes...) {
		attributes[a.Key] = a.Value.GetStringValue()
		if a.Value.GetStringValue() == "" {
			attributes[a.Key] = a.Value.GetIntValue()
		}
	}
	for key, want := range map[string]any{
		"thresher.collection": "films", "thresher.queries": int64(1), "thresher.k": int64(3), "thresher.backend": "cpu",
		"http.route": "/v1/collections/{name}/search", "http.response.status_code": int64(200), "http.request.method": "POST",
	} {
		if attributes[key] != want {
			t.Errorf("%s is %v, want %v", key, attributes[key], want)
		}
	}
	if hex.EncodeToString(request.TraceId) != id || hex.EncodeToString(request.ParentSpanId) != parent {
		t.Errorf("trace %x below %x", request.TraceId, request.ParentSpanId)
	}
	if want := "00-" + id + "-" + hex.EncodeToString(request.SpanId) + "-01"; a.header.Get("Traceparent") != want {
		t.Errorf("the answer names %q, want %q", a.header.Get("Traceparent"), want)
	}
	for _, line := range s.lines("request") {
		if line["path"] != searchFilms {
			continue
		}
		if line["trace_id"] != id || line["parent_id"] != parent || line["span_id"] != hex.EncodeToString(request.SpanId) {
			t.Errorf("%v", line)
		}
	}
}

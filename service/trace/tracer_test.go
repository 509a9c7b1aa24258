package trace

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is a collector on loopback that keeps the received spans.
type receiver struct {
	*httptest.Server
	t        *testing.T
	mu       sync.Mutex
	spans    []*spans.Span
	resource map[string]string
}

func receive(t *testing.T) *receiver {
	r := &receiver{t: t, resource: map[string]string{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			r.t.Error(err)
			return
		}
	}
	text, err := io.ReadAll(body)
	var sent collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(text, &sent) != nil || req.URL.Path != "/v1/traces" || req.Method != http.MethodPost {
		r.t.Errorf("%s %s: %v, %d bytes", req.Method, req.URL, err, len(text))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range sent.ResourceSpans {
		for _, a := range of.Resource.Attributes {
			r.resource[a.Key] = a.Value.GetStringValue()
		}
		for _, s := range of.ScopeSpans {
			r.spans = append(r.spans, s.Spans...)
		}
	}
}

const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestSpans(t *testing.T) {
	r := receive(t)
	t.Setenv("OTEL_SERVICE_NAME", "thresher-of-tests")
	tracer, err := FromEnvironment(t.Context(), "v1.2.3", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, request := tracer.Request(t.Context(), http.Header{"Traceparent": {caller}})
	_, inner := Start(ctx, "search")
	inner.Text("thresher.collection", "films")
	inner.Number("thresher.k", 10)
	inner.Look("panels", 64, 100, 7)
	inner.Fail("internal")
	inner.End()
	request.Name("POST /v1/search")
	trace, id := request.IDs()
	told := http.Header{}
	request.Inject(told)
	request.End()
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.spans) != 2 {
		t.Fatalf("%d spans", len(r.spans))
	}
	search, whole := r.spans[0], r.spans[1]
	got := []any{
		whole.Name, hex(whole.TraceId), hex(whole.ParentSpanId), whole.Kind, hex(whole.SpanId), told.Get("Traceparent"),
		search.Name, hex(search.TraceId), hex(search.ParentSpanId), search.Status.Code, search.Status.Message, len(search.Attributes), search.Events[0].Name,
		r.resource["service.name"], r.resource["service.version"],
	}
	want := []any{
		"POST /v1/search", "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", spans.Span_SPAN_KIND_SERVER, id, "00-" + trace + "-" + id + "-01",
		"search", trace, id, spans.Status_STATUS_CODE_ERROR, "internal", 2, "look",
		"thresher-of-tests", "v1.2.3",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func hex(b []byte) string {
	const digits = "0123456789abcdef"
	var s []byte
	for _, c := range b {
		s = append(s, digits[c>>4], digits[c&15])
	}
	return string(s)
}

// TestNotAsked: without a collector there is no Tracer and no goroutine; methods of nil
// values do nothing and allocate nothing.
func TestNotAsked(t *testing.T) {
	for _, env := range []map[string]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		t.Run("", func(t *testing.T) {
			for k, v := range env {
				t.Setenv(k, v)
			}
			tracer, err := FromEnvironment(t.Context(), "", nil)
			if tracer != nil || err != nil {
				t.Errorf("%v: %v, %v", env, tracer, err)
			}
		})
	}
	var none *Tracer
	ctx := t.Context()
	h := http.Header{"Traceparent": {caller}}
	if n := testing.AllocsPerRun(100, func() {
		within, s := none.Request(ctx, h)
		_, inner := Start(within, "search")
		inner.Number("k", 1)
		inner.End()
		s.Inject(h)
		s.Name("x")
		s.Fail("x")
		s.End()
	}); n != 0 {
		t.Errorf("%v allocations without traces", n)
	}
	if err := none.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestAnotherProtocol(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if _, err := FromEnvironment(t.Context(), "", nil); err == nil {
		t.Error("gRPC is taken")
	}
}

// TestNotSampled: a span that the client does not record is not recorded here.
func TestNotSampled(t *testing.T) {
	r := receive(t)
	tracer, err := FromEnvironment(t.Context(), "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, s := tracer.Request(t.Context(), http.Header{"Traceparent": {caller[:len(caller)-1] + "0"}})
	if _, inner := Start(ctx, "search"); inner != nil {
		t.Error("a span below one that is not recorded")
	}
	s.End()
	if err := tracer.Close(context.Background()); err != nil || len(r.spans) != 0 {
		t.Errorf("%d spans, %v", len(r.spans), err)
	}
}

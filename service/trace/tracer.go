package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// scope is the instrumentation scope of the spans.
const scope = "thresher/service"

// Tracer sends spans to a collector. It is safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   api.Tracer
}

// configured reports whether the environment configures traces.
func configured() bool {
	return !strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") && os.Getenv("OTEL_TRACES_EXPORTER") != "none" &&
		(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "")
}

// FromEnvironment returns a Tracer configured by the variables of OpenTelemetry: the
// collector, its headers, the sampler and the resource; nil if they name no collector. log
// receives export errors. Close ends it.
func FromEnvironment(ctx context.Context, version string, log *slog.Logger) (*Tracer, error) {
	if !configured() {
		return nil, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := os.Getenv(name); p != "" && p != "http/protobuf" {
			return nil, fmt.Errorf("%s is %q: traces are sent by http/protobuf alone", name, p)
		}
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "thresher"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv()) // the last takes precedence
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, errors.Join(fmt.Errorf("traces: %w", err), exporter.Shutdown(ctx))
	}
	// The SDK reports the errors of its goroutines only through one handler of the process.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces", "error", err) }))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return &Tracer{provider, provider.Tracer(scope)}, nil
}

// Close sends the remaining spans, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Request begins the span of a request, as a child of the client's span if the headers name
// one (W3C Trace Context).
func (t *Tracer) Request(ctx context.Context, h http.Header) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(h))
	ctx, s := t.tracer.Start(ctx, "request", api.WithSpanKind(api.SpanKindServer))
	return ctx, &Span{s}
}

// Start begins a child of the span in ctx; nil if there is none that is recorded.
func Start(ctx context.Context, name string) (context.Context, *Span) {
	above := api.SpanFromContext(ctx)
	if !above.IsRecording() {
		return ctx, nil
	}
	ctx, s := above.TracerProvider().Tracer(scope).Start(ctx, name)
	return ctx, &Span{s}
}

// Span measures a piece of work. All methods of a nil Span do nothing.
type Span struct{ s api.Span }

// IDs returns the ids of the trace and of the span, in hexadecimal; "" for a nil Span.
func (s *Span) IDs() (trace, span string) {
	if s == nil {
		return "", ""
	}
	c := s.s.SpanContext()
	return c.TraceID().String(), c.SpanID().String()
}

// Inject writes the header by which a client finds the span.
func (s *Span) Inject(h http.Header) {
	if s != nil {
		propagation.TraceContext{}.Inject(api.ContextWithSpan(context.Background(), s.s), propagation.HeaderCarrier(h))
	}
}

// Name renames the span.
func (s *Span) Name(name string) {
	if s != nil {
		s.s.SetName(name)
	}
}

// Text sets an attribute.
func (s *Span) Text(key, value string) {
	if s != nil {
		s.s.SetAttributes(attribute.String(key, value))
	}
}

// Number sets an attribute.
func (s *Span) Number(key string, value int64) {
	if s != nil {
		s.s.SetAttributes(attribute.Int64(key, value))
	}
}

// Look records a look of an elimination: what it read up to which coordinate, how many atoms
// it saw and how many it kept.
func (s *Span) Look(reads string, width, seen, survivors int) {
	if s != nil {
		s.s.AddEvent("look", api.WithAttributes(attribute.String("reads", reads), attribute.Int("width", width),
			attribute.Int("seen", seen), attribute.Int("survivors", survivors)))
	}
}

// Fail marks the span as failed; why must contain nothing of the request.
func (s *Span) Fail(why string) {
	if s != nil {
		s.s.SetStatus(codes.Error, why)
	}
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.s.End()
	}
}

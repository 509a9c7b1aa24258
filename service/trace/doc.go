// Package trace sends traces of requests to an OpenTelemetry collector by OTLP over HTTP, if
// the environment names one.
//
// Without a Tracer there are no spans: all methods of a nil *Tracer and a nil *Span do
// nothing.
package trace

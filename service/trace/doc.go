// Package trace tells an OpenTelemetry collector what requests spend their time on, by
// OTLP over HTTP, if the environment names one.
//
// Without a Tracer there are no spans: a nil *Tracer and a nil *Span take all calls and
// do nothing.
package trace

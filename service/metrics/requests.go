package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// RequestRecord is one finished request.
type RequestRecord struct {
	Route  string // the matched pattern, never the path; "" for none
	Method string
	Status int
	Took   time.Duration
	// In and Out are the bytes of the bodies as transferred.
	In, Out int64
}

// requests holds the metrics of requests.
type requests struct {
	total    *prometheus.CounterVec   // route, method, status
	seconds  *prometheus.HistogramVec // route, method
	in, out  *prometheus.CounterVec   // route
	inFlight prometheus.Gauge
	// resets are requests that were reset before a token was accepted, broken connections without one.
	resets, broken prometheus.Counter
}

func newRequests() requests {
	return requests{
		total: counter("thresher_http_requests_total", "Requests that were answered, by the pattern of their path.", "route", "method", "status"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "thresher_http_request_seconds", Help: "Time of requests from their header to the end of the answer.",
			Buckets: prometheus.ExponentialBuckets(250e-6, 4, 10), // to 66 s
		}, []string{"route", "method"}),
		in:       counter("thresher_http_request_bytes_total", "Bytes of bodies that were read, as they were sent.", "route"),
		out:      counter("thresher_http_response_bytes_total", "Bytes of answers, as they were sent.", "route"),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "thresher_http_requests_in_flight", Help: "Requests under way."}),
		resets:   prometheus.NewCounter(prometheus.CounterOpts{Name: "thresher_unauthenticated_resets_total", Help: "Requests that were reset before a token was accepted."}),
		broken:   prometheus.NewCounter(prometheus.CounterOpts{Name: "thresher_connection_errors_total", Help: "Connections that failed without a request, such as by a handshake of TLS."}),
	}
}

func (r *requests) collectors() []prometheus.Collector {
	return []prometheus.Collector{r.total, r.seconds, r.in, r.out, r.inFlight, r.resets, r.broken}
}

// other is the shared label. No collection has this name, because names contain no brackets.
const other = "(other)"

// Entered counts a request that is being processed, until Left.
func (m *Metrics) Entered() { m.requests.inFlight.Inc() }

// ResetUnauthenticated counts a request that was reset before a token was accepted.
func (m *Metrics) ResetUnauthenticated() { m.requests.resets.Inc() }

// ConnectionFailed counts a connection that failed without a request.
func (m *Metrics) ConnectionFailed() { m.requests.broken.Inc() }

// Left counts a finished request that Entered counted.
func (m *Metrics) Left(r RequestRecord) {
	m.requests.inFlight.Dec()
	if r.Route == "" {
		r.Route = other
	}
	known := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions}
	if !slices.Contains(known, r.Method) {
		r.Method = other
	}
	m.requests.total.WithLabelValues(r.Route, r.Method, strconv.Itoa(r.Status)).Inc()
	m.requests.seconds.WithLabelValues(r.Route, r.Method).Observe(r.Took.Seconds())
	m.requests.in.WithLabelValues(r.Route).Add(float64(r.In))
	m.requests.out.WithLabelValues(r.Route).Add(float64(r.Out))
}

package service

import (
	"net/http"
	"strings"

	"thresher/batch"
	"thresher/service/problem"
	"thresher/service/trace"
)

// traced begins the span of a request, which the header of its answer names, except for
// requests by which machines monitor the server.
func (s *Server) traced(x *exchange, r *http.Request, h http.Header) *http.Request {
	switch path := r.URL.Path; {
	case s.o.Traces == nil, path == "/healthz", path == "/readyz", path == "/metrics", strings.HasPrefix(path, "/v2/health/"):
		return r
	}
	ctx, span := s.o.Traces.Request(r.Context(), r.Header)
	x.own = span
	x.trace, _ = span.IDs()
	span.Text("thresher.request_id", x.id)
	span.Inject(h)
	return r.WithContext(ctx)
}

// endTrace ends the span of a finished request.
func (s *Server) endTrace(x *exchange, r *http.Request, w *writer) {
	if x.own == nil {
		return
	}
	name := r.Method
	if x.route != "" {
		name += " " + x.route
		x.own.Text("http.route", x.route)
	}
	x.own.Name(name)
	x.own.Text("http.request.method", r.Method)
	x.own.Number("http.response.status_code", int64(w.status))
	x.own.Number("http.request.body.size", x.paced.read)
	x.own.Number("http.response.body.size", w.written)
	if x.err != nil {
		kind := string(problem.Of(x.err).Kind)
		x.own.Text("error.type", kind)
		if w.status >= http.StatusInternalServerError {
			x.own.Fail(kind)
		}
	}
	x.own.End()
}

// endSearch ends the span of a search, with its parameters and costs.
func endSearch(span *trace.Span, collection string, req *batch.Request, resp *batch.Response, err error) {
	if span == nil {
		return
	}
	defer span.End()
	span.Text("thresher.collection", collection)
	span.Text("thresher.method", string(req.Method))
	span.Number("thresher.k", int64(req.K))
	if err != nil {
		kind := problem.Of(err).Kind
		span.Text("error.type", string(kind))
		if kind.Status() >= http.StatusInternalServerError {
			span.Fail(string(kind))
		}
		return
	}
	span.Number("thresher.queries", int64(len(resp.Answers)))
	span.Number("thresher.run_ns", int64(resp.Took)) // the rest of the span is waiting
	span.Number("thresher.pulls", resp.Stats.Pulls)
	span.Number("thresher.dense_pulls", resp.Stats.DensePulls)
	span.Number("thresher.rows_scored", resp.Stats.RowsScored)
	if len(resp.Answers) > 0 {
		c := &resp.Answers[0].Certificate
		span.Text("thresher.plan", c.Plan)
		span.Text("thresher.backend", c.Backend)
		for i := range c.Looks {
			l := &c.Looks[i]
			span.Look(l.Reads, l.Width, l.Seen, l.Survivors)
		}
	}
}

package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"thresher/service/problem"
)

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(raw http.ResponseWriter, r *http.Request) {
	x, r := beginExchange(raw, r)
	r = s.traced(x, r, raw.Header())
	w := &writer{ResponseWriter: raw, control: http.NewResponseController(raw), pace: s.pace}
	x.w, x.paced = w, &paced{body: r.Body, control: w.control, pace: s.pace}
	r.Body = x.paced
	// Reads of a body that a handler refused, and writes of an answer's header, need a
	// deadline, too. On HTTP/2 a deadline that has passed ends the request for good.
	if r.ContentLength != 0 && r.ProtoMajor == 1 {
		_ = w.control.SetReadDeadline(time.Now().Add(s.pace.grace))
	}
	// There is nothing to write yet; the deadline of the connection's previous answer may
	// have passed.
	_ = w.control.SetWriteDeadline(time.Time{})
	defer s.watch(x, r, w)()
	defer s.recover(x, w, r)

	h := w.Header()
	h.Set("X-Request-Id", x.id)
	h.Set("X-Content-Type-Options", "nosniff")
	done, err := s.admit(w, r)
	if err == nil && !done {
		s.zip.ServeHTTP(w, r) // handlers store their errors in the exchange
		err = x.err
	}
	if err != nil {
		s.fail(x, w, r, err)
	}
}

// admit checks what all paths have in common.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (done bool, err error) {
	if err := s.checkHost(r); err != nil {
		return false, err
	}
	if done, err = s.crossOrigin(w, r); done || err != nil {
		if err != nil {
			err = problem.New(problem.Forbidden, "a web page of another origin may not send this request").In("Origin").Because(err)
		}
		return done, err
	}
	return false, decompress(w, r)
}

// recover converts a panic to a problem, or aborts the answer if it has begun.
func (s *Server) recover(x *exchange, w *writer, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	s.o.Log.Error("panic", "id", x.id, "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
	s.fail(x, w, r, fmt.Errorf("panic: %v", p))
}

// gone is the status, in logs, of requests whose client disconnected.
const gone = 499

// fail answers a request with an error.
func (s *Server) fail(x *exchange, w *writer, r *http.Request, err error) {
	x.err = err
	if w.status != 0 {
		// A truncated answer must not look complete.
		panic(http.ErrAbortHandler)
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil && s.stopped.Err() == nil {
		w.status = gone
		return
	}
	p := s.askForToken(w, r, problem.Of(err))
	if noDescriptors(err) {
		s.connections.warn("no file descriptor is free (ulimit -n, limits.connections)", "open", s.connections.open.Load(), "error", err)
	}
	if s.o.Metrics != nil {
		s.o.Metrics.Rejected(string(p.Kind))
	}
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Disposition", "ETag", "Location", "Last-Modified"} {
		h.Del(name) // of the intended answer
	}
	if p.Kind == problem.Draining || p.Kind == problem.Crowded {
		h.Set("Connection", "close")
		if p.RetryAfter == 0 {
			retry := *p
			retry.RetryAfter = retryAfter
			p = &retry
		}
	}
	if strings.HasPrefix(r.URL.Path, "/v2") {
		problem.WriteInference(w, p, x.id)
		return
	}
	problem.Write(w, p, x.id)
}

// cause is the text of an error for logs, including the cause that problems hide.
func cause(err error) string {
	var p *problem.Problem
	if errors.As(err, &p) && p.Err != nil && p.Err.Error() != p.Error() {
		return p.Error() + ": " + p.Err.Error()
	}
	return err.Error()
}

// newMux returns the handler of the table. Each pattern has one entry for all its methods, so
// that refusals are problems like any other.
func (s *Server) newMux(table []route) *http.ServeMux {
	byPattern := map[string]map[string]route{}
	for _, rt := range table {
		if byPattern[rt.pattern] == nil {
			byPattern[rt.pattern] = map[string]route{}
		}
		byPattern[rt.pattern][rt.method] = rt
	}
	mux := http.NewServeMux()
	for pattern, methods := range byPattern {
		mux.Handle(pattern, s.choose(pattern, methods))
	}
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		exchangeOf(r).err = problem.New(problem.UnknownPath, "there is no %s", r.URL.Path)
	})
	return mux
}

// choose returns the handler of one pattern.
func (s *Server) choose(pattern string, methods map[string]route) http.Handler {
	allow := slices.Collect(maps.Keys(methods))
	if _, ok := methods[http.MethodGet]; ok {
		allow = append(allow, http.MethodHead)
	}
	allow = append(allow, http.MethodOptions)
	slices.Sort(allow)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.route = pattern
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		rt, ok := methods[method]
		if !ok {
			w.Header().Set("Allow", strings.Join(allow, ", "))
			if method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			x.err = problem.New(problem.MethodNotAllowed, "%s does not support %s", r.URL.Path, r.Method).Within(allow)
			return
		}
		x.err = s.serve(x, rt, w, r)
	})
}

// serve runs a route's handler if the request is permitted.
func (s *Server) serve(x *exchange, rt route, w http.ResponseWriter, r *http.Request) error {
	if rt.scope == write && r.Method != http.MethodGet && r.Method != http.MethodHead {
		x.changes, x.object = true, objectOf(r)
	}
	if err := s.permit(x, w, r, rt.scope); err != nil {
		return err
	}
	if s.o.ReadOnly && x.changes {
		return problem.New(problem.ReadOnly, "this server is read-only: it serves collections as they are made elsewhere, and %s %s would change something here", r.Method, r.URL.Path)
	}
	x.client = s.clientOf(x, r)
	if !rt.always {
		if err := s.checkConnection(r.Context()); err != nil {
			return err
		}
		leave, err := s.enter()
		if err != nil {
			return err
		}
		defer leave()
	}
	paced := pacedWriter(w)
	r, leave, err := s.attend(x, paced, r, rt.scope)
	if err != nil {
		challenge(w)
		return err
	}
	defer leave()
	err = s.answer(x, rt, w, r)
	leave()
	paced.cut.Store(false) // what is complete, or a problem, may be sent
	if x.revoked.Load() && (err != nil || paced.broken) {
		challenge(w)
		return errRevoked()
	}
	return err
}

// answer runs a route's handler.
func (s *Server) answer(x *exchange, rt route, w http.ResponseWriter, r *http.Request) error {
	params, err := parametersOf(r, rt.params)
	if err != nil {
		return err
	}
	return rt.handle(&request{Request: r, x: x, params: params}, w)
}

func errDraining() error {
	return problem.New(problem.Draining, "the server is shutting down; accepted work is finished or continues after the restart")
}

// request is a request that was admitted.
type request struct {
	*http.Request
	x      *exchange
	params parameters
	queued time.Duration // time spent waiting for a slot
	lead   int           // bytes to leave free in memory before the body
}

// client returns the name by which the client shares the server.
func (r *request) client() string { return r.x.client }

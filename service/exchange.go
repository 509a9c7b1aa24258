package service

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"thresher/service/metrics"
	"thresher/service/trace"
)

// exchange is the server's view of one request.
type exchange struct {
	id    string // of the request: from the client, or generated
	trace string // W3C trace id, or ""
	span  string // of the client
	who   string // name of the token; "" if there is none
	// secret is the hash of the token, nil if there is none.
	secret *[sha256.Size]byte
	// revoked says that the tokens have changed and permit the request no longer.
	revoked atomic.Bool
	// client is the name by which the client shares the server: that of the token, or else
	// the address.
	client string
	paced  *paced // the body as it arrives
	began  time.Time
	raw    http.ResponseWriter // unwrapped
	w      *writer             // on raw
	own    *trace.Span         // nil without traces
	route  string              // the pattern that the path matched; "" for none
	err    error               // the handler's error
	// changes says that the request is one to change something, and object what it names.
	changes bool
	object  string
}

type exchangeKey struct{}

// exchangeOf returns the exchange that beginExchange stored in the request.
func exchangeOf(r *http.Request) *exchange {
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	return x
}

// beginExchange makes the exchange of a request.
func beginExchange(w http.ResponseWriter, r *http.Request) (*exchange, *http.Request) {
	x := &exchange{id: r.Header.Get("X-Request-Id"), began: time.Now(), raw: w}
	if !plain(x.id, 64) {
		x.id = rand.Text()
	}
	x.trace, x.span = parseTraceparent(r.Header.Get("Traceparent"))
	return x, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
}

// plain reports whether s consists of at most limit letters, digits, dots, dashes and
// underscores, which are safe in headers, logs and URLs.
func plain(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._-", c) >= 0) {
			return false
		}
	}
	return true
}

// parseTraceparent returns the ids of W3C Trace Context, section 3.2; both are "" if the
// header is invalid.
func parseTraceparent(h string) (trace, span string) {
	parts := strings.Split(h, "-")
	if len(parts) < 4 || !hexadecimal(parts[0], 2) || parts[0] == "ff" || parts[0] == "00" && len(parts) != 4 ||
		!hexadecimal(parts[1], 32) || !hexadecimal(parts[2], 16) || !hexadecimal(parts[3], 2) ||
		strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return "", ""
	}
	return parts[1], parts[2]
}

// hexadecimal reports whether s is n lower-case hexadecimal digits.
func hexadecimal(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// watch counts a request as being processed until over is called.
func (s *Server) watch(x *exchange, r *http.Request, w *writer) (over func()) {
	if s.o.Metrics != nil {
		s.o.Metrics.Entered()
	}
	return func() {
		s.log(x, r, w)
		s.audit(x, r, w)
		s.endTrace(x, r, w)
		if s.o.Metrics != nil {
			s.o.Metrics.Left(metrics.RequestRecord{
				Route: x.route, Method: r.Method, Status: w.status, Took: time.Since(x.began), In: x.paced.read, Out: w.written,
			})
		}
	}
}

// log writes the log line of a finished request. It contains neither parameters nor bodies,
// which may hold vectors and ids.
func (s *Server) log(x *exchange, r *http.Request, w *writer) {
	level := slog.LevelInfo
	if w.status >= 500 && w.status != http.StatusServiceUnavailable && w.status != http.StatusGatewayTimeout {
		level = slog.LevelError
	}
	if level == slog.LevelInfo && s.tellOfStranger(x, r) {
		return
	}
	ctx := context.WithoutCancel(r.Context())
	if !s.o.Log.Enabled(ctx, level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 12),
		slog.String("id", x.id), slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.Int("status", w.status), slog.Int64("bytes", w.written), slog.Float64("took_ms", milliseconds(time.Since(x.began))),
		slog.String("remote", r.RemoteAddr))
	if x.who != "" {
		attrs = append(attrs, slog.String("token", x.who))
	}
	if x.trace != "" {
		attrs = append(attrs, slog.String("trace_id", x.trace))
	}
	if x.span != "" {
		attrs = append(attrs, slog.String("parent_id", x.span))
	}
	if _, own := x.own.IDs(); own != "" {
		attrs = append(attrs, slog.String("span_id", own))
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("error", cause(x.err)))
	}
	s.o.Log.LogAttrs(ctx, level, "request", attrs...)
}

// tellOfStranger reports whether a request to a server with tokens came without one, and then notes it
// for the sparse log: it was refused, or needs none, or its client reset it before one was accepted. A
// request with a wrong token that waits for its answer is none of these; each has its line.
func (s *Server) tellOfStranger(x *exchange, r *http.Request) bool {
	if x.who != "" || len(s.tokens()) == 0 {
		return false
	}
	reset := r.Context().Err() != nil && s.stopped.Err() == nil
	if !reset && r.Header.Get("Authorization") != "" {
		return false
	}
	if reset && s.o.Metrics != nil {
		s.o.Metrics.ResetUnauthenticated()
	}
	s.strangers.note(slog.String("last_id", x.id), slog.String("last_path", r.URL.Path), slog.String("last_remote", r.RemoteAddr))
	return true
}

// milliseconds returns d in milliseconds, as answers and logs have it.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

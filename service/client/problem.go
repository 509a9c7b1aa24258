package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Problem is a refusal by the server, as RFC 9457 describes it, with the invalid field.
type Problem struct {
	Type     string `json:"type"` // "/problems/unknown-collection"
	Title    string `json:"title"`
	Status   int    `json:"status"` // of HTTP
	Detail   string `json:"detail"`
	Instance string `json:"instance"`
	// Field is the invalid field, Index its invalid element; "" and nil if there is none.
	Field string `json:"field"`
	Index *int   `json:"index"`
	// Limit is the limit that the value violates; nil if there is none.
	Limit json.RawMessage `json:"limit"`
	// RetryAfter is the delay before a retry; 0 if the server does not say.
	RetryAfter time.Duration `json:"-"`
}

// Kind is the last segment of the type.
func (p *Problem) Kind() string { return p.Type[strings.LastIndexByte(p.Type, '/')+1:] }

func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if p.Kind() == "" || p.Type == "about:blank" {
		return fmt.Sprintf("the server answers %d: %s", p.Status, text)
	}
	return fmt.Sprintf("%s (%d %s)", text, p.Status, p.Kind())
}

// Passing reports whether a retry may succeed: the server is busy, shutting down, or
// unreachable behind its proxy.
func (p *Problem) Passing() bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	case http.StatusGatewayTimeout:
		return p.Kind() != "deadline" // the search's own deadline
	}
	return false
}

// LostError says that no answer, or only a part of one, was received.
type LostError struct {
	Server string // host and port
	Err    error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("no answer from %s: %v", e.Server, e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

func isLost(err error) bool {
	var lost *LostError
	return errors.As(err, &lost)
}

func isNotFound(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

// isBehind reports whether a proxy answered that does not know whether the server executed
// the call.
func isBehind(err error) bool {
	var p *Problem
	return errors.As(err, &p) && (p.Status == http.StatusBadGateway || p.Status == http.StatusGatewayTimeout)
}

// maxProblem bounds the bytes read of a problem.
const maxProblem = 64 << 10

// readProblem decodes an answer of another status than 2xx.
func readProblem(resp *http.Response) *Problem {
	p := &Problem{}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem)) // a truncated problem is still a problem
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "application/problem+json" || json.Unmarshal(text, p) != nil {
		p = &Problem{Type: "about:blank", Title: http.StatusText(resp.StatusCode)}
		if kind == "text/plain" {
			p.Detail = strings.TrimSpace(string(text))
		}
	}
	p.Status = resp.StatusCode
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		p.RetryAfter = time.Duration(s) * time.Second
	}
	return p
}

// watched is a body that remembers the error of reading it before it was closed: an early
// answer closes it while it is being read.
type watched struct {
	io.ReadCloser
	closed atomic.Bool
	failed atomic.Pointer[error]
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	if err != nil && err != io.EOF && !w.closed.Load() {
		w.failed.Store(&err)
	}
	return n, err
}

func (w *watched) Close() error {
	w.closed.Store(true)
	return w.ReadCloser.Close()
}

func (w *watched) failure() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}

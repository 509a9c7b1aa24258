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

// Problem is how the server says that it refuses: RFC 9457, and where what was sent
// is wrong.
type Problem struct {
	Type     string `json:"type"` // "/problems/unknown-collection"
	Title    string `json:"title"`
	Status   int    `json:"status"` // of HTTP
	Detail   string `json:"detail"`
	Instance string `json:"instance"`
	// Field is what is wrong, Index the element of it; "" and nil if none is.
	Field string `json:"field"`
	Index *int   `json:"index"`
	// Limit is what the value had to keep to; nil if there is none.
	Limit json.RawMessage `json:"limit"`
	// RetryAfter is when to try again; 0 if the server does not say.
	RetryAfter time.Duration `json:"-"`
}

// Kind is the last part of the type.
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

// Passing reports whether trying again may help: the server is busy, ends, or is
// not there behind its proxy.
func (p *Problem) Passing() bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
		return true
	case http.StatusGatewayTimeout:
		return p.Kind() != "deadline" // that one is the search's own
	}
	return false
}

// LostError says that there was no answer, or half of one.
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

// isBehind reports whether a proxy answers that does not know what became of the call.
func isBehind(err error) bool {
	var p *Problem
	return errors.As(err, &p) && (p.Status == http.StatusBadGateway || p.Status == http.StatusGatewayTimeout)
}

// mostProblem bounds what is read of a problem, in bytes.
const mostProblem = 64 << 10

// readProblem makes an error of an answer that is none of 2xx.
func readProblem(resp *http.Response) *Problem {
	p := &Problem{}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, mostProblem)) // what is missing makes no problem less
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

// watched is a body that remembers what its reading failed with, before it was
// closed: an answer that comes early has it closed in mid-reading.
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

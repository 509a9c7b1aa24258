package problem

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Problem is the error of one request.
type Problem struct {
	Kind   Kind
	Detail string // one sentence with the relevant figures
	// Field is the invalid member, parameter or header; "" if there is none. Index is its
	// invalid element, or -1.
	Field string
	Index int
	// Limit, if not nil, is the limit that the value violates: a number, a range or the names
	// that exist.
	Limit any
	// RetryAfter, if positive, is the delay before a retry; it is sent in whole seconds.
	RetryAfter time.Duration
	// Err is the cause, for logs; it is never sent.
	Err error
}

// New returns a problem of a kind; format and args make its detail.
func New(k Kind, format string, args ...any) *Problem {
	return &Problem{Kind: k, Detail: fmt.Sprintf(format, args...), Index: -1}
}

// In sets the field and returns p.
func (p *Problem) In(field string) *Problem { p.Field = field; return p }

// At sets the field and the invalid element and returns p.
func (p *Problem) At(field string, index int) *Problem { p.Field, p.Index = field, index; return p }

// Within sets the limit and returns p.
func (p *Problem) Within(limit any) *Problem { p.Limit = limit; return p }

// Because sets the cause and returns p.
func (p *Problem) Because(err error) *Problem { p.Err = err; return p }

func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Kind.Title()
	}
	return p.Detail
}

func (p *Problem) Unwrap() error { return p.Err }

// MarshalJSON writes the members of RFC 9457, section 3.1, and the extensions
// field, index and limit.
func (p *Problem) MarshalJSON() ([]byte, error) { return json.Marshal(p.body("")) }

type body struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"`
	Field    string `json:"field,omitempty"`
	Index    *int   `json:"index,omitempty"`
	Limit    any    `json:"limit,omitempty"`
	// Error is for clients that do not know RFC 9457: an *apiError for those of the OpenAI
	// API, a string for those of the Open Inference Protocol.
	Error any `json:"error,omitempty"`
}

// apiError is an error in the format of the OpenAI API.
type apiError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Code    string  `json:"code"`
	Param   *string `json:"param"` // the invalid field, or null
}

// apiError returns p for clients of the OpenAI API; the kind is its code.
func (p *Problem) apiError() *apiError {
	e := &apiError{Message: p.Error(), Type: "invalid_request_error", Code: string(p.Kind)}
	switch status := p.Kind.Status(); {
	case status == http.StatusUnauthorized:
		e.Type = "authentication_error"
	case status == http.StatusForbidden:
		e.Type = "permission_error"
	case status == http.StatusTooManyRequests:
		e.Type = "rate_limit_error"
	case status >= 500:
		e.Type = "server_error"
	}
	if p.Field != "" {
		e.Param = &p.Field
	}
	return e
}

func (p *Problem) body(instance string) body {
	b := body{
		Type: TypePrefix + string(p.Kind), Title: p.Kind.Title(), Status: p.Kind.Status(), Detail: p.Detail,
		Instance: instance, Field: p.Field, Limit: p.Limit,
	}
	if p.Index >= 0 && p.Field != "" {
		b.Index = &p.Index
	}
	return b
}

// Write sends p, with the member error for clients of the OpenAI API. instance identifies the
// request; "" omits it.
func Write(w http.ResponseWriter, p *Problem, instance string) {
	b := p.body(instance)
	b.Error = p.apiError()
	write(w, p, b)
}

// WriteInference is Write with the member error for clients of the Open Inference Protocol.
func WriteInference(w http.ResponseWriter, p *Problem, instance string) {
	b := p.body(instance)
	b.Error = p.Error()
	write(w, p, b)
}

func write(w http.ResponseWriter, p *Problem, b body) {
	text, err := json.Marshal(b)
	if err != nil { // a limit that JSON cannot express
		b.Limit = nil
		text, _ = json.Marshal(b)
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((p.RetryAfter+time.Second-1)/time.Second), 10))
	}
	w.WriteHeader(p.Kind.Status())
	// The client may be gone; the error cannot be reported elsewhere.
	_, _ = w.Write(append(text, '\n'))
}

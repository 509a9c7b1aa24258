package service

import (
	"context"
	"net/http"
	"time"

	"thresher/service/extension"
)

// extensionCall is a request for a route of an extension. It implements extension.Call.
type extensionCall struct {
	*request
	s *Server
	w http.ResponseWriter
}

// extensionHandler returns the handler of a route of an extension.
func (s *Server) extensionHandler(r extension.Route) func(*request, http.ResponseWriter) error {
	return func(q *request, w http.ResponseWriter) error { return r.Handle(&extensionCall{q, s, w}, w) }
}

// Key implements extension.Call.
func (c *extensionCall) Key() (string, error) { return idempotencyKey(c.request) }

// Page implements extension.Call.
func (c *extensionCall) Page() (after string, limit int, err error) { return c.params.page() }

// Bool implements extension.Call.
func (c *extensionCall) Bool(name string) (bool, error) { return c.params.parseBool(name) }

// Decode implements extension.Call.
func (c *extensionCall) Decode(decode func(text []byte) error) error {
	_, err := decodeJSON(c.s, c.Request, func(text []byte) (struct{}, error) { return struct{}{}, decode(text) })
	return err
}

// InTurn implements extension.Call.
func (c *extensionCall) InTurn(do func(body []byte, queued time.Duration) error) error {
	if mediaType(c.Request) != jsonType {
		return unsupported(c.Request, jsonType)
	}
	return c.s.inTurn(c.request, func(in *input) error {
		body, err := in.all()
		if err != nil {
			return err
		}
		return do(body, c.queued)
	})
}

// Bounded implements extension.Call.
func (c *extensionCall) Bounded(room int64, do func(context.Context) error) error {
	if room <= smallBody {
		room = 0
	}
	return c.s.bounded(c.request, room, do)
}

// Within implements extension.Call.
func (c *extensionCall) Within(do func(context.Context) error) error {
	ctx, cancel := c.s.within(c.Context())
	defer cancel()
	return c.s.explainWait(do(ctx))
}

// Answer implements extension.Call.
func (c *extensionCall) Answer(status int, v any) error { return writeJSON(c.w, status, v) }

// AnswerText implements extension.Call.
func (c *extensionCall) AnswerText(text []byte, rate int64) error {
	if paced := pacedWriter(c.w); paced != nil && len(text) > smallBody {
		paced.pace.rate = max(paced.pace.rate, rate)
	}
	jsonHeader(c.w.Header())
	return send(c.w, http.StatusOK, append(text, '\n'))
}

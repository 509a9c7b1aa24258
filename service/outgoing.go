package service

import (
	"context"
	"errors"
	"net/http"
	"strconv"
)

// maxAtOnce is the part of an answer, in bytes, that is encoded before it is sent; it bounds
// the memory of the text.
const maxAtOnce = 1 << 20

// encoding is the time to encode or decode a byte of JSON, in ns of one core.
const (
	encodingByte = 8
	decodingByte = 4
)

// outgoing is an answer of any length being sent. Short ones are sent at once, with their
// length; of longer ones each piece is encoded in a turn at the processor, and sent outside
// of it.
type outgoing struct {
	ctx  context.Context
	w    http.ResponseWriter
	t    *turn
	buf  *buffer
	sent bool
	gone error // why sending failed
}

// errGone says that an answer could not be sent completely.
var errGone = errors.New("the client did not take the answer")

// outgoing begins the answer of a finished search: the turn keeps only the memory of the
// answer.
func (t *turn) outgoing(r *request, w http.ResponseWriter) *outgoing {
	t.w.begin()
	return &outgoing{ctx: r.Context(), w: w, t: t, buf: t.s.buffers.text()}
}

// Write appends a piece of the answer.
func (o *outgoing) Write(p []byte) (int, error) {
	o.buf.b = append(o.buf.b, p...)
	return len(p), o.step()
}

// step sends what is encoded if it is long enough.
func (o *outgoing) step() error {
	if len(o.buf.b) < maxAtOnce || o.gone != nil {
		return o.gone
	}
	if o.flush(); o.gone == nil {
		o.gone = o.t.w.wait(func() error { return o.t.compute(o.ctx, maxAtOnce, encodingByte) })
	}
	return o.gone
}

func (o *outgoing) flush() {
	o.t.End()
	if o.sent = true; o.gone != nil {
		return
	}
	if _, err := o.w.Write(o.buf.b); err != nil {
		o.gone = errors.Join(errGone, err)
	}
	o.buf.b = o.buf.b[:0]
}

// end sends the rest, and fails if the answer could not be sent completely.
func (o *outgoing) end() error {
	if !o.sent {
		return send(o.w, http.StatusOK, o.buf.b)
	}
	o.flush()
	return o.gone
}

// close releases the memory of the text.
func (o *outgoing) close() {
	o.t.End()
	o.t.s.buffers.freeText(o.buf)
}

// send writes a whole body. Errors are ignored, because the client is gone.
func send(w http.ResponseWriter, status int, body []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return nil
}

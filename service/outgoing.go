package service

import (
	"context"
	"errors"
	"net/http"
	"strconv"
)

// mostAtOnce is how much of an answer is encoded before it is sent, in bytes: the memory
// that its text takes however long it is.
const mostAtOnce = 1 << 20

// encoding is what a byte of JSON takes to be written or read, in ns of a core.
const (
	encodingByte = 8
	decodingByte = 4
)

// outgoing is an answer of any length on its way to the client. Short ones go whole, with
// their length; of longer ones each piece is encoded in its turn at the processor, and
// sent outside of it.
type outgoing struct {
	ctx  context.Context
	w    http.ResponseWriter
	t    *turn
	buf  *buffer
	sent bool
	gone error // the client, or its time
}

// errGone says that an answer could not be sent to its end.
var errGone = errors.New("the client did not take the answer")

// outgoing begins the answer to a search that has come to its end: the turn keeps nothing
// but its memory.
func (t *turn) outgoing(r *request, w http.ResponseWriter) *outgoing {
	t.rest()
	if w := pacedWriter(w); w != nil && t.answer != nil {
		w.hold = t.answer
		t.answer.Send(w.giveWay)
	}
	return &outgoing{ctx: r.Context(), w: w, t: t, buf: t.s.buffers.text()}
}

// Write takes a piece of the answer.
func (o *outgoing) Write(p []byte) (int, error) {
	o.buf.b = append(o.buf.b, p...)
	return len(p), o.step()
}

// step sends what was encoded if that is enough for now.
func (o *outgoing) step() error {
	if len(o.buf.b) < mostAtOnce || o.gone != nil {
		return o.gone
	}
	if o.flush(); o.gone == nil {
		o.gone = o.t.compute(o.ctx, mostAtOnce, encodingByte)
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

// end sends the rest, and fails if some of the answer could not be sent.
func (o *outgoing) end() error {
	if !o.sent {
		return send(o.w, http.StatusOK, o.buf.b)
	}
	o.flush()
	return o.gone
}

// close gives the memory of the text back.
func (o *outgoing) close() {
	o.t.End()
	o.t.s.buffers.freeText(o.buf)
}

// send writes a whole body. Nobody hears of a client that is gone.
func send(w http.ResponseWriter, status int, body []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return nil
}

package service

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"thresher/service/problem"
)

// paced reads a body whose sender must keep a pace: at least pace.rate bytes a second on
// average, after an allowance of pace.grace, and some bytes within every grace period.
type paced struct {
	body    io.ReadCloser
	control *http.ResponseController
	pace    pace
	began   time.Time
	read    int64
	gives   atomic.Bool // the body must give way to others, or its token was removed
	idle    atomic.Bool // nothing of a message has arrived, whose sender need not hurry
}

func (p *paced) Read(b []byte) (int, error) {
	now := time.Now()
	if p.began.IsZero() {
		p.began = now
	}
	deadline := now.Add(p.pace.grace)
	if slowest := p.began.Add(p.pace.grace + time.Duration(float64(p.read)/float64(p.pace.rate)*float64(time.Second))); slowest.Before(deadline) {
		deadline = slowest
	}
	p.until(deadline)
	n, err := p.body.Read(b)
	p.read += int64(n)
	if err == io.EOF {
		// From here on the server reads ahead to notice when the client disconnects.
		_ = p.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// until makes reads fail from a deadline on, or at once if the body must give way.
func (p *paced) until(deadline time.Time) {
	_ = p.control.SetReadDeadline(deadline)
	if p.gives.Load() {
		_ = p.control.SetReadDeadline(time.Now())
	}
}

func (p *paced) Close() error { return p.body.Close() }

// giveWay makes the current read fail, or else the next one. It may be called while another
// goroutine reads.
func (p *paced) giveWay() {
	p.gives.Store(true)
	_ = p.control.SetReadDeadline(time.Now())
}

// revoke is giveWay of a request whose token was removed; a wait for a message goes on, because
// its sender is told when it sends one.
func (p *paced) revoke() {
	p.gives.Store(true)
	if !p.idle.Load() {
		_ = p.control.SetReadDeadline(time.Now())
	}
}

// pause suspends the read deadline while the server does not read; resume continues the
// count, without charging the pause to the sender.
func (p *paced) pause() { _ = p.control.SetReadDeadline(time.Time{}) }

func (p *paced) resume(after time.Duration) {
	if !p.began.IsZero() {
		p.began = p.began.Add(after)
	}
}

// bodyOf returns the body of a request of at most limit bytes. A body whose announced length
// is greater is refused before anything is read.
func (s *Server) bodyOf(r *http.Request, limit int64) (io.Reader, error) {
	if r.ContentLength > limit {
		return nil, problem.New(problem.BodyTooLarge, "the body has %d bytes, at most %d are accepted", r.ContentLength, limit).Within(limit)
	}
	return body{http.MaxBytesReader(exchangeOf(r).raw, r.Body, limit)}, nil
}

// body turns the errors of reading a body into problems, so that they are reported as the
// client's however the body is wrapped.
type body struct{ io.Reader }

func (b body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = unread(err)
	}
	return n, err
}

// unread returns the problem of a body that could not be read.
func unread(err error) error {
	var known *problem.Problem
	if errors.As(err, &known) {
		return known
	}
	switch p := problem.Of(err); p.Kind {
	case problem.BodyTooLarge, problem.Slow:
		return p
	}
	return problem.New(problem.Malformed, "the body ends before it is complete").Because(err)
}

// smallJSON bounds JSON bodies other than searches and lists of ids, in bytes.
const smallJSON = 1 << 20

// decodeJSON reads the body of a request, at most smallJSON bytes of JSON, and decodes it.
// The decoded value must not share memory with the text.
func decodeJSON[T any](s *Server, r *http.Request, decode func(text []byte) (T, error)) (v T, err error) {
	if kind := mediaType(r); kind != jsonType {
		return v, unsupported(r, jsonType)
	}
	body, err := s.bodyOf(r, smallJSON)
	if err != nil {
		return v, err
	}
	in := s.plainInput(r, body, smallJSON)
	defer in.close()
	text, err := in.all()
	if err != nil {
		return v, err
	}
	return decode(text)
}

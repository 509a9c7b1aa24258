package service

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"thresher/service/fair"
	"thresher/service/problem"
)

// input is the body of a search. It is read before the search waits for a slot, into memory
// that is reserved as bytes arrive, so that slow senders do not delay other searches.
type input struct {
	io.Reader
	s         *Server
	ctx       context.Context
	turn      *turn
	announced int64 // Content-Length, or -1
	limit     int64 // greatest length
	// lead is the number of bytes of buf before the body, chosen so that numbers in the body
	// are aligned.
	lead int
	buf  *buffer
	read bool // the whole body is in buf
	hold *fair.Hold
	pace *paced // nil for bodies without a pace
}

// newInput returns the unread body of a search.
func (s *Server) newInput(r *request) (*input, error) {
	body, err := s.bodyOf(r.Request, s.o.Limits.Body)
	if err != nil {
		return nil, err
	}
	in := &input{Reader: body, s: s, ctx: r.Context(), announced: r.ContentLength, limit: s.o.Limits.Body, lead: r.lead, pace: r.x.paced}
	claim := in.limit
	if in.announced >= 0 {
		claim = in.announced
	}
	in.hold = s.bodies.Hold(r.client(), int64(bodySize(int(claim)+in.lead+1)), in.giveWay)
	return in, nil
}

// plainInput returns a body of at most limit bytes, which is small enough not to count
// towards memory.
func (s *Server) plainInput(r *http.Request, body io.Reader, limit int64) *input {
	return &input{Reader: body, s: s, ctx: r.Context(), announced: r.ContentLength, limit: limit}
}

// giveWay makes reading the body fail soon.
func (in *input) giveWay() {
	if in.pace != nil {
		in.pace.giveWay()
	}
}

const (
	// minBuffer is the capacity allocated before the body arrives, and smallBody the
	// capacity for its first bytes, which holds a small body completely.
	minBuffer = 4 << 10
	smallBody = 64 << 10
	// bufferGrowth is the factor by which the buffer grows.
	bufferGrowth = 4
)

// all returns the whole body, valid until close. The first call reads it.
func (in *input) all() ([]byte, error) {
	if !in.read {
		if err := in.fill(); err != nil {
			return nil, err
		}
		in.read = true
	}
	return in.buf.b[in.lead:], nil
}

// fill reads the whole body.
func (in *input) fill() error {
	if err := in.grow(in.fit(in.lead + minBuffer)); err != nil {
		return err
	}
	for in.buf.b = in.buf.b[:in.lead]; ; {
		b := in.buf.b
		if len(b) == cap(b) {
			if err := in.grow(in.fit(max(smallBody, bufferGrowth*cap(b)))); err != nil {
				return err
			}
			continue
		}
		n, err := in.Read(b[len(b):cap(b)])
		in.buf.b = b[:len(b)+n]
		if in.hold != nil {
			in.hold.Moved(int64(n))
		}
		switch {
		case err == io.EOF:
			return in.settle()
		case err != nil:
			return in.failed(err)
		}
	}
}

// fit returns how much of size bytes a body can use: its length and one byte to detect its
// end.
func (in *input) fit(size int) int {
	most := in.limit
	if in.announced >= 0 {
		most = in.announced
	}
	return min(size, in.lead+int(most)+1)
}

// grow increases the capacity of buf to size bytes.
func (in *input) grow(size int) error {
	old := in.buf
	if old == nil {
		old = &buffer{}
	}
	size = bodySize(max(size, cap(old.b)+1))
	if err := in.reserve(int64(size - cap(old.b))); err != nil {
		return err
	}
	in.buf = in.s.buffers.body(size)
	in.buf.b = append(in.buf.b, old.b...)
	in.s.buffers.freeBody(old)
	return nil
}

// reserve reserves n bytes of the memory of all bodies. Waiting for them does not count
// against the sender's pace.
func (in *input) reserve(n int64) error {
	if in.hold == nil {
		return nil
	}
	ctx, cancel := in.s.within(in.ctx)
	defer cancel()
	if in.pace != nil {
		in.pace.pause()
	}
	began := time.Now()
	err := in.hold.Grow(ctx, n)
	if in.pace != nil {
		in.pace.resume(time.Since(began))
	}
	return in.failed(err)
}

// settle records that the whole body has arrived.
func (in *input) settle() error {
	if in.hold == nil {
		return nil
	}
	return in.failed(in.hold.Settle())
}

// failed returns the problem of a body that could not be read: because of its sender, or
// because it was evicted.
func (in *input) failed(err error) error {
	var p *problem.Problem
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fair.ErrSlow), in.hold != nil && in.hold.Evicted() && errors.As(err, &p) && p.Kind == problem.Slow:
		p := problem.New(problem.Slow, "the body arrived at less than %d bytes a second while others waited for memory; send it again, faster", in.s.o.Limits.GiveWay).
			Within(in.s.o.Limits.GiveWay).Because(err)
		p.RetryAfter = retryAfter
		return p
	case errors.Is(err, context.DeadlineExceeded):
		return problem.New(problem.Deadline, "the deadline passed while the body waited for memory: the bodies of all searches may take %d bytes together (%s)", in.s.o.Limits.Bodies, in.s.o.bodiesKey()).
			Within(in.s.o.Limits.Bodies).Because(err)
	}
	return in.s.explainWait(err)
}

// waited returns how long the body has waited for memory.
func (in *input) waited() time.Duration {
	if in.hold == nil {
		return 0
	}
	return in.hold.Waited()
}

// close returns the body's memory. It may be called twice.
func (in *input) close() {
	if in.buf != nil {
		in.s.buffers.freeBody(in.buf)
		in.buf = nil
	}
	if in.hold != nil {
		in.hold.Release()
	}
}

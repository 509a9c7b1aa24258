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

// input is the body of a search. It is read before the search has its turn, into memory
// that is taken as it comes: who sends slowly keeps nobody from searching.
type input struct {
	io.Reader
	s         *Server
	ctx       context.Context
	turn      *turn
	announced int64 // bytes that the header announces, or -1
	limit     int64 // bytes that there may be
	// lead is how many bytes of buf come before the body: what lies in it shall be where
	// numbers may.
	lead int
	buf  *buffer
	read bool // all of it is in buf
	hold *fair.Hold
	pace *paced // nil for bodies without
}

// newInput is the body of a request that takes its turn, none of which was read.
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

// plainInput is a body of at most limit bytes that is small enough for its memory not to
// be counted.
func (s *Server) plainInput(r *http.Request, body io.Reader, limit int64) *input {
	return &input{Reader: body, s: s, ctx: r.Context(), announced: r.ContentLength, limit: limit}
}

// giveWay has the reading of a body end soon.
func (in *input) giveWay() {
	if in.pace != nil {
		in.pace.giveWay()
	}
}

const (
	// leastBuffer is what is set aside for a body before any of it has come, and
	// smallBody what for one that comes: a small one as a whole.
	leastBuffer = 4 << 10
	smallBody   = 64 << 10
	// bufferGrowth is by what factor memory grows with a body.
	bufferGrowth = 4
)

// all is the whole body, valid until close. The first call reads it.
func (in *input) all() ([]byte, error) {
	if !in.read {
		if err := in.fill(); err != nil {
			return nil, err
		}
		in.read = true
	}
	return in.buf.b[in.lead:], nil
}

// fill reads the body to its end.
func (in *input) fill() error {
	if err := in.grow(in.fit(in.lead + leastBuffer)); err != nil {
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

// fit is how much memory of a size a body has use for: its own, and one byte more to meet
// its end.
func (in *input) fit(size int) int {
	most := in.limit
	if in.announced >= 0 {
		most = in.announced
	}
	return min(size, in.lead+int(most)+1)
}

// grow has buf hold size bytes.
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

// reserve takes n bytes of the memory of all bodies. What the body waits for them is not its
// sender's doing.
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

// settle notes that all of the body has come.
func (in *input) settle() error {
	if in.hold == nil {
		return nil
	}
	return in.failed(in.hold.Settle())
}

// failed says why a body could not be read: its own fault, or that it had to give way.
func (in *input) failed(err error) error {
	var p *problem.Problem
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fair.ErrSlow), in.hold != nil && in.hold.Slow() && errors.As(err, &p) && p.Kind == problem.Slow:
		p := problem.New(problem.Slow, "the body came at less than %d bytes a second while others waited for memory; send it again, faster", in.s.o.Limits.GiveWay).
			Within(in.s.o.Limits.GiveWay).Because(err)
		p.RetryAfter = retryAfter
		return p
	case errors.Is(err, context.DeadlineExceeded):
		return problem.New(problem.Deadline, "the deadline passed while the body waited for memory: the bodies of searches have %d bytes together (limits.bodies)", in.s.o.Limits.Bodies).
			Within(in.s.o.Limits.Bodies).Because(err)
	}
	return in.s.explainWait(err)
}

// waited is how long the body has waited for memory.
func (in *input) waited() time.Duration {
	if in.hold == nil {
		return 0
	}
	return in.hold.Waited()
}

// close gives the memory of the body back. Closing twice is allowed.
func (in *input) close() {
	if in.buf != nil {
		in.s.buffers.freeBody(in.buf)
		in.buf = nil
	}
	if in.hold != nil {
		in.hold.Release()
	}
}

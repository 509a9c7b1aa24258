package service

import (
	"bytes"
	"io"
)

// input is the body of a search. A small one is read before the search has its turn,
// a large one as it is decoded.
type input struct {
	io.Reader
	s    *Server
	size int64 // bytes that the gate counts
	said int64 // bytes that the header announces, or -1
	// lead is how many bytes of buf come before the body: what lies in it shall be where
	// numbers may.
	lead int
	buf  *buffer
	read bool // all of it is in buf
}

func (s *Server) newInput(r *request) (*input, error) {
	body, err := s.bodyOf(r.Request, s.o.Limits.Body)
	if err != nil {
		return nil, err
	}
	in := &input{Reader: body, s: s, size: r.ContentLength, said: r.ContentLength}
	if in.size < 0 {
		in.size = s.o.Limits.Body
	}
	if in.size > smallBody {
		if p, ok := r.Body.(*paced); ok {
			p.pace.rate = max(p.pace.rate, turnRate)
		}
		return in, nil
	}
	text, err := in.all()
	if err != nil {
		in.close()
		return nil, err
	}
	in.Reader = bytes.NewReader(text)
	return in, nil
}

// turnRate is how many bytes a second a body must have at least that is read while its
// search has its turn: it takes room that others wait for.
const turnRate = 256 << 10

// Len is how many bytes are left of a body that was read, or -1.
func (in *input) Len() int {
	if l, ok := in.Reader.(*bytes.Reader); ok {
		return l.Len()
	}
	return -1
}

// all is the whole body, valid until close.
func (in *input) all() ([]byte, error) {
	if !in.read {
		in.buf = in.s.buffer()
		if err := in.buf.readAll(in.Reader, in.said, in.lead); err != nil {
			return nil, err
		}
		in.read = true
	}
	return in.buf.b[in.lead:], nil
}

// close gives the memory of the body back.
func (in *input) close() {
	if in.buf != nil {
		in.s.free(in.buf)
	}
}

// Write makes a buffer something to write to.
func (b *buffer) Write(p []byte) (int, error) {
	b.b = append(b.b, p...)
	return len(p), nil
}

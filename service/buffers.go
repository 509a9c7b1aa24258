package service

import "sync"

// buffer is memory for one body or answer.
type buffer struct{ b []byte }

// Write appends p.
func (b *buffer) Write(p []byte) (int, error) {
	b.b = append(b.b, p...)
	return len(p), nil
}

// buffers keeps memory for later requests. Every buffer of a pool must suit every request of
// that pool: otherwise the pool would grow by a new buffer for each request that its buffers
// do not fit. Bodies above the largest size are left to the garbage collector.
type buffers struct {
	bodies [len(bodySizes)]sync.Pool // *buffer, each with room for one size
	texts  sync.Pool                 // *buffer, of answers
}

// bodySizes are the capacities of small bodies' buffers; a growing body moves from one to the
// next.
var bodySizes = [...]int{leastBuffer, 16 << 10, smallBody}

// mostKept bounds the answers whose memory is reused, in bytes.
const mostKept = 2 * mostAtOnce

// bodySize returns the capacity of a buffer for size bytes of a body.
func bodySize(size int) int {
	for _, s := range bodySizes {
		if size <= s {
			return s
		}
	}
	return size
}

// body returns an empty buffer with capacity size, a bodySize.
func (p *buffers) body(size int) *buffer {
	for i, s := range bodySizes {
		if size != s {
			continue
		}
		if b, ok := p.bodies[i].Get().(*buffer); ok {
			return b
		}
	}
	return &buffer{b: make([]byte, 0, size)}
}

// freeBody returns a buffer of body to its pool.
func (p *buffers) freeBody(b *buffer) {
	for i, s := range bodySizes {
		if cap(b.b) == s {
			b.b = b.b[:0]
			p.bodies[i].Put(b)
			return
		}
	}
}

// text returns an empty buffer for an answer, of any capacity.
func (p *buffers) text() *buffer {
	if b, ok := p.texts.Get().(*buffer); ok {
		return b
	}
	return &buffer{}
}

// freeText returns a buffer of text to its pool.
func (p *buffers) freeText(b *buffer) {
	if cap(b.b) <= mostKept {
		b.b = b.b[:0]
		p.texts.Put(b)
	}
}

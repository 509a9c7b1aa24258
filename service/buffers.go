package service

import "sync"

// buffer is memory for one body or answer.
type buffer struct{ b []byte }

// Write appends p.
func (b *buffer) Write(p []byte) (int, error) {
	b.b = append(b.b, p...)
	return len(p), nil
}

// buffers keeps memory for later requests, in one pool for each size of bodies and one for
// answers. Every buffer of a pool must be large enough for every request to that pool:
// otherwise the pool would grow by a buffer whenever a request finds one that is too small.
// Bodies above the largest size are left to the garbage collector.
type buffers struct {
	bodies [len(bodySizes)]sync.Pool // *buffer, by size
	texts  sync.Pool                 // *buffer for encoded answers, which grow as needed
}

// bodySizes are the capacities of the buffers for small bodies. A body that outgrows its buffer
// is copied to one of the next size.
var bodySizes = [...]int{minBuffer, 16 << 10, smallBody}

// maxKept is the most bytes of an answer's buffer that is kept for later requests.
const maxKept = 2 * maxAtOnce

// bodySize returns the least of bodySizes that is at least size, or else size.
func bodySize(size int) int {
	for _, s := range bodySizes {
		if size <= s {
			return s
		}
	}
	return size
}

// body returns an empty buffer of capacity size, which must be a result of bodySize.
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

// freeBody puts a buffer that body returned back into its pool.
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

// freeText puts a buffer that text returned back into the pool, unless it has grown too large.
func (p *buffers) freeText(b *buffer) {
	if cap(b.b) <= maxKept {
		b.b = b.b[:0]
		p.texts.Put(b)
	}
}

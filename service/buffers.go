package service

import "sync"

// buffer is memory for one body or answer.
type buffer struct{ b []byte }

// Write makes a buffer something to write to.
func (b *buffer) Write(p []byte) (int, error) {
	b.b = append(b.b, p...)
	return len(p), nil
}

// buffers keeps memory for the next request. Whoever asks a pool can use what it gives:
// one whose buffers fit some requests only would grow by a new one for each of the
// others, without end. Bodies above the largest size are left to the garbage collector.
type buffers struct {
	bodies [len(bodySizes)]sync.Pool // *buffer, each with room for one size
	texts  sync.Pool                 // *buffer, of answers
}

// bodySizes are how large the buffers of small bodies are: a body grows from each to the
// next.
var bodySizes = [...]int{leastBuffer, 16 << 10, smallBody}

// mostKept is the largest text of an answer whose memory is kept.
const mostKept = 2 * mostAtOnce

// bodySize is how large a buffer is that is to hold size bytes of a body.
func bodySize(size int) int {
	for _, s := range bodySizes {
		if size <= s {
			return s
		}
	}
	return size
}

// body is an empty buffer with room for size bytes, a bodySize.
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

// freeBody takes a buffer of body back.
func (p *buffers) freeBody(b *buffer) {
	for i, s := range bodySizes {
		if cap(b.b) == s {
			b.b = b.b[:0]
			p.bodies[i].Put(b)
			return
		}
	}
}

// text is an empty buffer for an answer, of any size.
func (p *buffers) text() *buffer {
	if b, ok := p.texts.Get().(*buffer); ok {
		return b
	}
	return &buffer{}
}

// freeText takes a buffer of text back.
func (p *buffers) freeText(b *buffer) {
	if cap(b.b) <= mostKept {
		b.b = b.b[:0]
		p.texts.Put(b)
	}
}

package service

import "testing"

// TestBuffersAreUsedAgain: bodies of ever other sizes, one after the other, have no more
// buffers kept than are in use at once. The pool that gave the next body one of a wrong
// size, and took it back beside a new one, kept one of each request.
func TestBuffersAreUsedAgain(t *testing.T) {
	var p buffers
	for _, size := range []int{1, leastBuffer, leastBuffer + 1, smallBody - 1, smallBody, smallBody + 1, 1 << 20} {
		n := bodySize(size)
		if n < size || size > smallBody && n != size {
			t.Errorf("%d bytes get a buffer of %d", size, n)
		}
		b := p.body(n)
		if cap(b.b) != n || len(b.b) != 0 {
			t.Errorf("a buffer of %d bytes has room for %d", n, cap(b.b))
		}
		p.freeBody(b)
	}
	// Large ones are nobody's: what a pool kept of them would be of the wrong size.
	for i := range p.bodies {
		for {
			b, ok := p.bodies[i].Get().(*buffer)
			if !ok {
				break
			}
			if cap(b.b) != bodySizes[i] {
				t.Errorf("the pool of %d bytes keeps a buffer of %d", bodySizes[i], cap(b.b))
			}
		}
	}
	p.freeText(&buffer{b: make([]byte, 0, mostKept+1)})
	if b := p.text(); cap(b.b) > mostKept {
		t.Errorf("a text of %d bytes is kept, %d may be", cap(b.b), mostKept)
	}
}

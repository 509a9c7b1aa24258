package service

import "testing"

// TestBuffersAreUsedAgain: a sequence of bodies of varying sizes keeps no more buffers than
// are in use at once. A pool that hands out a buffer of the wrong size and gets it back next
// to a new one would keep one for each request.
func TestBuffersAreUsedAgain(t *testing.T) {
	var p buffers
	for _, size := range []int{1, minBuffer, minBuffer + 1, smallBody - 1, smallBody, smallBody + 1, 1 << 20} {
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
	// Large buffers are not pooled: they would have the wrong size.
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
	p.freeText(&buffer{b: make([]byte, 0, maxKept+1)})
	if b := p.text(); cap(b.b) > maxKept {
		t.Errorf("a text of %d bytes is kept, %d may be", cap(b.b), maxKept)
	}
}

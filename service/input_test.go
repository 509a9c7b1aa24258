package service

import (
	"strings"
	"testing"
	"testing/iotest"
	"unsafe"
)

// TestInputLead: a body is the same wherever it begins in memory, and tensors behind a header
// of any length are aligned.
func TestInputLead(t *testing.T) {
	s := &Server{}
	text := strings.Repeat("0123456789", 10_000)
	for header := range 9 {
		for _, said := range []int64{int64(len(text)), -1} {
			in := &input{Reader: iotest.HalfReader(strings.NewReader(text)), s: s, ctx: t.Context(), announced: said, limit: 1 << 20, lead: -header & 3}
			for range 2 { // the second time from memory
				b, err := in.all()
				if err != nil || string(b) != text {
					t.Fatalf("header of %d, %d bytes said: %d bytes, %v", header, said, len(b), err)
				}
				if at := uintptr(unsafe.Pointer(&b[header])); at%4 != 0 {
					t.Errorf("header of %d: what follows is %d bytes off", header, at%4)
				}
			}
			in.close() // the next input gets its memory
		}
	}
	in := &input{Reader: strings.NewReader("ab"), s: s, ctx: t.Context(), announced: 2, lead: 3}
	if b, err := in.all(); err != nil || string(b) != "ab" {
		t.Errorf("%q, %v", b, err)
	}
}

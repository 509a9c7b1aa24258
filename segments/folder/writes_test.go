package folder

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"thresher/dataset"
)

// FuzzWrites: bytes that a log may have are refused, or are a write that is encoded to what is decoded again.
func FuzzWrites(f *testing.F) {
	const dim = 3
	for i, elem := range drawnElems {
		form := &rowForm{dim, elem, drawnFields}
		for seed := range uint64(6) {
			c := drawChange(rand.New(rand.NewPCG(seed, uint64(i))), dim, 9, 4, seed%2 == 0).inType(elem)
			if c.Columns != nil {
				c.Columns, _ = c.Columns.As(drawnFields)
			}
			if seed > 3 && !c.Deletes() {
				c.Rounding = dataset.Change{Values: 2, Largest: .5}
			}
			if seed%3 == 1 {
				c.Key = keyOf(seed)
			}
			f.Add(form.appendChange(nil, &c), i)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, elem int) {
		form := &rowForm{dim, drawnElems[uint(elem)%uint(len(drawnElems))], drawnFields}
		c, rest, err := form.decodeChange(append(make([]byte, 0, len(b)+8), b...))
		if err != nil {
			return
		}
		if len(rest) > len(b) {
			t.Fatalf("%d of %d bytes are left", len(rest), len(b))
		}
		once := form.appendChange(nil, c)
		again, rest, err := form.decodeChange(once)
		if err != nil || len(rest) > 0 {
			t.Fatalf("%d bytes are left, %v", len(rest), err)
		}
		if !bytes.Equal(form.appendChange(nil, again), once) {
			t.Fatal("a write has become another")
		}
	})
}

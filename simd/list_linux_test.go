package simd

import "testing"

// TestListColumnEdges asserts that no kernel reads beyond the rows it is given.
func TestListColumnEdges(t *testing.T) {
	for _, before := range []bool{false, true} {
		for _, rows := range []int{1, 31, 64} {
			for _, ld := range []int{1, 16, 64} {
				dots, terms := edge(t, before, make([]float32, (rows-1)*ld+1)), edge(t, before, make([]float32, rows))
				ids, bounds := edge(t, before, make([]uint32, 128)), edge(t, before, make([]float32, 128))
				for _, kern := range Available() {
					if n, odd := kern.ListColumn(ids, bounds, ^uint64(0)>>(64-rows), dots, ld, 1, 1, terms, terms, terms, 0); n != rows || odd != 0 {
						t.Fatalf("%v: %d rows of %d, %x", kern, n, rows, odd)
					}
				}
			}
		}
	}
}

package simd

import (
	"math/rand/v2"
	"testing"
)

// TestRowsEdges asserts that no kernel reads or writes beyond the rows it is given.
func TestRowsEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	for _, before := range []bool{false, true} {
		check := func(rows, head, width, n int) {
			c := newRowsCase(r, rows, head, width, 0, n)
			end := head + width
			c.codes, c.ids = edge(t, before, c.codes), edge(t, before, c.ids)
			c.q = RowQuery{edge(t, before, c.q.Hi[:end]), edge(t, before, c.q.Lo[:end])}
			out, out8 := edge(t, before, make([]RowSums, n)), edge(t, before, make([]RowSums8, n))
			for _, kern := range Available() {
				c.check(t, kern)
				kern.Rows(out, c.codes, c.stride, c.ids, head, width, &c.q)
				kern.Rows8(out8, c.codes, c.stride, c.ids, head, width, c.q.Hi)
			}
		}
		for _, head := range []int{0, 4, 32, 64} {
			for width := 0; width <= 132; width += 4 {
				for n := 1; n <= 9; n += 2 {
					check(11, head, width, n)
				}
			}
		}
		for _, n := range []int{1, 3, 4, 55, 70} {
			check(1500, 64, 768, n)
			check(4000, 32, 256, n)
		}
	}
}

package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSignsEdges asserts that no kernel reads or writes beyond the rows, codes, ids and
// sums it is given.
func TestSignsEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(97, 98))
	for _, before := range []bool{false, true} {
		check := func(rows, head, width, n int) {
			c := newSignsCase(r, rows, head, width, 0, n)
			c.codes, c.ids = edge(t, before, c.codes), edge(t, before, c.ids)
			c.q = RowQuery{edge(t, before, c.q.Hi[:head+width]), edge(t, before, c.q.Lo[:head+width])}
			out := edge(t, before, make([]SignSums, n))
			for _, kern := range Available() {
				c.check(t, kern)
				kern.Signs(out, c.codes, c.stride, c.ids, head, width, &c.q)
			}
			c.q.Lo = edge(t, before, c.q.Lo[:head])
			for _, kern := range Available() {
				c.check(t, kern)
			}
		}
		for _, head := range []int{0, 4, 16, 28, 32, 36, 64, 92} {
			for width := 0; width <= 672; width += 32 {
				for n := 1; n <= 9; n += 2 {
					check(11, head, width, n)
				}
			}
		}
		for _, n := range []int{1, 3, 4, 55, 70} {
			check(9000, 32, 768, n)
			check(2000, 32, 4096, n)
			check(100, 32, 8256, n)
		}
	}
}

func TestPackSignsEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(99, 100))
	for _, before := range []bool{false, true} {
		for n := 0; n <= 320; n++ {
			x, dst := edge(t, before, normals(r, n, false)), edge(t, before, make([]uint8, n/8))
			for _, kern := range Available() {
				if n%32 == 0 {
					kern.PackSigns(dst, x)
				}
				if s := kern.SumAbs(x); math.IsNaN(s) {
					t.Errorf("%v: sum of %d is %g", kern, n, s)
				}
			}
		}
	}
}

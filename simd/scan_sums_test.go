package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// checkSums compares Rows8 and Test on n rows, gap codes apart, with the scan of the
// panel made of them: equal bits for any terms.
func (c *scanCase) checkSums(t *testing.T, kern Kernels, n, gap int) {
	t.Helper()
	all := c.head + c.width
	stride := all + gap
	rows := make([]uint8, PanelLanes*stride)
	for i := range PanelLanes {
		for k := range all {
			rows[i*stride+k] = c.panel[k/4*quadBytes+4*i+k%4]
		}
	}
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = uint32(i)
	}
	panel := make([]uint8, PanelLanes*all)
	kern.Transpose(panel, rows, stride, n, all)
	masks, want := make([]uint64, len(c.queries)), make([]float32, PanelLanes*len(c.queries))
	kern.Scan(new(ScanScratch), panel, c.head, c.width, c.codes, c.stride, c.queries, &c.terms, masks, want)
	for q := range c.queries {
		sums := make([]RowSums8, n)
		kern.Rows8(sums, rows, stride, ids, c.head, c.width, c.codes[q*c.stride:][:all])
		values, intact := fencedFloats(make([]float32, PanelLanes))
		mask := kern.Test(sums, &c.terms, &c.queries[q], values)
		what := fmt.Sprintf("%v, %d rows of %d+%d codes, query %d of %d", kern, n, c.head, c.width, q, len(c.queries))
		sameFloats(t, what, values[:n], want[PanelLanes*q:][:n])
		for i := range PanelLanes {
			if got, passed := mask>>i&1 != 0, i < n && masks[q]>>i&1 != 0; got != passed {
				t.Fatalf("%s: lane %d of value %g at cut %g passes: %v, want %v", what, i, values[i], c.queries[q].Cut, got, passed)
			}
		}
		if !intact() {
			t.Fatalf("%s: wrote beyond", what)
		}
	}
}

// TestSums tries all numbers of rows, random and extreme codes, and terms that round,
// overflow and underflow.
func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	for n := range PanelLanes + 1 {
		for _, s := range [][2]int{{0, 0}, {0, 64}, {4, 0}, {32, 36}, {64, 768}} {
			c := newScanCase(r, s[0], s[1], 4*(n%2), 1+n%6, n%3 > 0)
			if n%4 == 0 {
				c.wild(r)
			}
			for _, kern := range Available() {
				c.checkSums(t, kern, n, n%7)
			}
		}
	}
	c := newScanCase(r, MaxScan, MaxScan, 0, 5, true)
	for i := range c.panel {
		c.panel[i] = math.MaxUint8
	}
	for i := range c.codes {
		c.codes[i] = 127
	}
	for q := range c.queries {
		c.queries[q].HeadBias, c.queries[q].RestBias = Bias*127*MaxScan, Bias*127*MaxScan
	}
	for _, kern := range Available() {
		c.checkSums(t, kern, PanelLanes, 0)
	}
}

// wild redraws the floats of a case from all magnitudes, with NaN, infinities and
// duplicates.
func (c *scanCase) wild(r *rand.Rand) {
	draw := func() float32 {
		if r.IntN(20) == 0 {
			return []float32{0, float32(math.Inf(1)), float32(math.Inf(-1)), nan32}[r.IntN(4)]
		}
		return float32(math.Ldexp(r.NormFloat64(), r.IntN(300)-150))
	}
	for _, x := range []*[PanelLanes]float32{c.terms.Head, c.terms.Rest, c.terms.Radius, c.terms.Offset} {
		for i := 0; x != nil && i < len(x); i++ {
			x[i] = draw()
		}
	}
	for q := range c.queries {
		s := &c.queries[q]
		s.Head, s.Rest, s.Radius, s.Offset, s.Cut = draw(), draw(), draw(), draw(), draw()
	}
}

// TestSumsCut asserts that a value equal to the cut passes and lanes without sums do not.
func TestSumsCut(t *testing.T) {
	c := newScanCase(rand.New(rand.NewPCG(63, 64)), 0, 4, 0, 1, false)
	q := &ScanQuery{Radius: 1}
	values := make([]float32, PanelLanes)
	for _, kern := range Available() {
		for _, n := range []int{0, 1, 15, 16, 33, 63, 64} {
			for i := range PanelLanes {
				c.terms.Radius[i] = float32(i%3) - 1
			}
			mask := kern.Test(make([]RowSums8, n), &c.terms, q, values)
			for i := range PanelLanes {
				if want := i < n && i%3 > 0; mask>>i&1 != 0 != want {
					t.Fatalf("%v: lane %d of %d passes: %v", kern, i, n, !want)
				}
			}
		}
	}
}

// TestSumsRefuses asserts that values must have room for all lanes, however few the sums.
func TestSumsRefuses(t *testing.T) {
	c := newScanCase(rand.New(rand.NewPCG(65, 66)), 0, 4, 0, 1, false)
	for _, kern := range Available() {
		for _, n := range []int{1, 64} {
			values := make([]float32, PanelLanes-1)
			if !panics(func() { kern.Test(make([]RowSums8, n), &c.terms, &c.queries[0], values) }) {
				t.Errorf("%v: went on with room for %d values of %d rows", kern, len(values), n)
			}
		}
	}
}

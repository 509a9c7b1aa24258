package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// rows returns the codes of the case's 64 atoms row by row, gap codes apart, and as many rows
// after them as more says.
func (c *scanCase) rows(gap, more int) (rows []uint8, stride int) {
	all := c.head + c.width
	stride = all + gap
	rows = make([]uint8, (PanelLanes+more-1)*stride+all)
	for i := range PanelLanes {
		for k := range all {
			rows[i*stride+k] = c.panel[k/4*quadBytes+4*i+k%4]
		}
	}
	return rows, stride
}

// checkScanRows compares ScanRows of n rows with the scan of the panel made of them: equal bits
// for any terms.
func (c *scanCase) checkScanRows(t *testing.T, w *ScanScratch, kern Kernels, n, gap, more int) {
	t.Helper()
	all, m := c.head+c.width, len(c.queries)
	rows, stride := c.rows(gap, more)
	if n < PanelLanes {
		rows = rows[:max(0, (n-1)*stride+all)]
	}
	panel := make([]uint8, PanelLanes*all)
	kern.Transpose(panel, rows, stride, n, all)
	wantMasks, want := make([]uint64, m), make([]float32, PanelLanes*m)
	kern.Scan(new(ScanScratch), panel, c.head, c.width, c.codes, c.stride, c.queries, &c.terms, wantMasks, want)
	values, intact := fencedFloats(make([]float32, PanelLanes*m))
	masks, intactMasks := fenced(m, uint64(0xa5a5a5a5a5a5a5a5), equal[uint64])
	kern.ScanRows(w, rows, stride, n, c.head, c.width, c.codes, c.stride, c.queries, &c.terms, masks, values)
	what := fmt.Sprintf("%v, %d rows of %d+%d codes, %d queries", kern, n, c.head, c.width, m)
	sameFloats(t, what, values, want)
	if !slices.Equal(masks, wantMasks) {
		t.Fatalf("%s: passed %x, want %x", what, masks, wantMasks)
	}
	if !intact() || !intactMasks() {
		t.Fatalf("%s: wrote beyond", what)
	}
}

// TestScanRows tries all numbers of queries that tiles divide and some that they do not, whole and
// broken lines of head and of rest, and terms that round, overflow and underflow. One scratch serves
// all calls, so that what an earlier one left in it must not count.
func TestScanRows(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	var w ScanScratch
	for m := range 34 {
		for k, s := range [][2]int{{0, 0}, {4, 0}, {0, 4}, {0, 64}, {64, 0}, {32, 36}, {32, 96}, {64, 128}, {68, 124}, {128, 300}, {60, 260}} {
			c := newScanCase(r, s[0], s[1], 4*(m%3), m, m%3 > 0)
			if m%4 == 1 {
				c.wild(r)
			}
			for _, kern := range Available() {
				c.checkScanRows(t, &w, kern, PanelLanes, 4*(k%2), r.IntN(2)*PanelLanes)
				c.checkScanRows(t, &w, kern, r.IntN(PanelLanes), 4*(k%2), 0)
			}
		}
	}
}

// TestScanRowsExact asserts exact products of extreme codes up to the greatest possible sums.
func TestScanRowsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(83, 84))
	var w ScanScratch
	for _, m := range []int{2, 4, 7} {
		c := newScanCase(r, MaxScan, MaxScan, 0, m, true)
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
			if kern != Generic {
				c.checkScanRows(t, &w, kern, PanelLanes, 0, 0)
			}
		}
	}
}

// TestScanRowsRefuses asserts that slices that end early panic before anything beyond is touched.
func TestScanRowsRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(85, 86))
	var w ScanScratch
	for _, m := range []int{1, 2, 4, 6, 40} {
		c := newScanCase(r, 32, 64, 0, m, false)
		rows, stride := c.rows(0, 0)
		masks, values := make([]uint64, m), make([]float32, PanelLanes*m)
		for _, kern := range Available() {
			for what, call := range map[string]func(){
				"rows": func() {
					kern.ScanRows(&w, slices.Clip(rows[:len(rows)-1]), stride, PanelLanes, 32, 64, c.codes, c.stride, c.queries, &c.terms, masks, values)
				},
				"codes": func() {
					codes := slices.Clip(c.codes[:len(c.codes)-1])
					kern.ScanRows(&w, rows, stride, PanelLanes, 32, 64, codes, c.stride, c.queries, &c.terms, masks, values)
				},
				"masks": func() {
					kern.ScanRows(&w, rows, stride, PanelLanes, 32, 64, c.codes, c.stride, c.queries, &c.terms, slices.Clip(masks[:m-1]), values)
				},
				"values": func() {
					kern.ScanRows(&w, rows, stride, PanelLanes, 32, 64, c.codes, c.stride, c.queries, &c.terms, masks, slices.Clip(values[:PanelLanes*m-1]))
				},
			} {
				if !panics(call) {
					t.Errorf("%v, %d queries: went on with too few %s", kern, m, what)
				}
			}
		}
	}
}

func TestScanRowsAllocatesNothing(t *testing.T) {
	var w ScanScratch
	for _, m := range []int{2, 17, 40} {
		c := newScanCase(rand.New(rand.NewPCG(87, 88)), 32, 64, 0, m, true)
		rows, stride := c.rows(0, 0)
		masks, values := make([]uint64, m), make([]float32, PanelLanes*m)
		for _, kern := range Available() {
			if n := testing.AllocsPerRun(10, func() {
				kern.ScanRows(&w, rows, stride, PanelLanes, 32, 64, c.codes, c.stride, c.queries, &c.terms, masks, values)
			}); n != 0 {
				t.Errorf("%v, %d queries: %g allocations", kern, m, n)
			}
		}
	}
}

// FuzzScanRows compares ScanRows with Transpose and Scan, on codes and shapes from the input.
func FuzzScanRows(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint8(1), uint8(1), uint8(64), []byte{1})
	f.Add(uint64(2), uint8(8), uint8(16), uint8(9), uint8(64), []byte{0, 255, 128, 1})
	f.Add(uint64(3), uint8(16), uint8(25), uint8(16), uint8(63), []byte{255})
	f.Fuzz(func(t *testing.T, seed uint64, head, width, m, n uint8, bytes []byte) {
		if len(bytes) == 0 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 89))
		c := newScanCase(r, 4*int(head%40), 4*int(width), 4*r.IntN(3), int(m%40), seed%2 == 0)
		for i := range c.panel {
			c.panel[i] = max(1, bytes[i%len(bytes)])
		}
		if seed%3 == 0 {
			c.wild(r)
		}
		for _, kern := range Available() {
			c.checkScanRows(t, new(ScanScratch), kern, int(n)%(PanelLanes+1), 4*r.IntN(3), r.IntN(70))
		}
	})
}

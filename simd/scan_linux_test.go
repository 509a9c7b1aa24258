package simd

import (
	"math/rand/v2"
	"testing"
)

// TestScanEdges asserts that no kernel reads or writes beyond its slices.
func TestScanEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	for _, before := range []bool{false, true} {
		for k, s := range []struct{ head, width, n int }{
			{0, 4, 1}, {4, 0, 2}, {0, 12, 4}, {32, 32, 5}, {64, 64, 8}, {64, 128, 9}, {0, 300, 17},
		} {
			c := newScanCase(r, s.head, s.width, 4*(k%2), s.n, true)
			all := s.head + s.width
			panel, codes, queries := edge(t, before, c.panel), edge(t, before, c.codes), edge(t, before, c.queries)
			term := func(x *[PanelLanes]float32) *[PanelLanes]float32 {
				return (*[PanelLanes]float32)(edge(t, before, x[:]))
			}
			terms := PanelTerms{term(c.terms.Head), term(c.terms.Rest), term(c.terms.Radius), term(c.terms.Offset)}
			masks, values := edge(t, before, make([]uint64, s.n)), edge(t, before, make([]float32, PanelLanes*s.n))
			sums, one := edge(t, before, make([]RowSums8, 64-k)), edge(t, before, make([]float32, PanelLanes))
			list, bounds := edge(t, before, make([]uint32, s.n)), edge(t, before, make([]float32, s.n))
			rows := edge(t, before, make([]uint8, (PanelLanes-1)*c.stride+all))
			for _, kern := range Available() {
				for short := range 2 { // as much scratch as a panel's codes need, and too little
					w := ScanScratch{words: edge(t, before, make([]int64, len(panel)/8-short))}
					kern.Scan(&w, panel, s.head, s.width, codes, c.stride, queries, &terms, masks, values)
				}
				var w ScanScratch
				kern.ScanRows(&w, rows, c.stride, PanelLanes, s.head, s.width, codes, c.stride, queries, &terms, masks, values)
				kern.ScanRows(&w, rows[:(s.n-1)*c.stride+all], c.stride, s.n, s.head, s.width, codes, c.stride, queries, &terms, masks, values)
				kern.Test(sums, &terms, &queries[s.n-1], one)
				kern.Select(list, bounds, list, bounds, -1, 1)
				kern.Transpose(panel, rows, c.stride, PanelLanes, all)
				kern.Transpose(panel, rows[:(s.n-1)*c.stride+all], c.stride, s.n, all)
			}
		}
	}
}

package simd

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkSignPanel sums the panels of 4,096 atoms, which a cache holds, one after the other.
func BenchmarkSignPanel(b *testing.B) {
	r := rand.New(rand.NewPCG(125, 126))
	const head, panels = 32, 4096 / PanelLanes
	for _, width := range []int{128, 256} {
		size := SignPanelBytes(head, width)
		all := rowCodes[uint8](r, panels*size, false)
		_, codes, rest := signPanelCase(r, head, width)
		var tables SignTables
		tables.Make(rest)
		for _, kern := range Available() {
			b.Run(fmt.Sprintf("%v/%d", kern, width), func(b *testing.B) {
				var sums [PanelLanes]RowSums8
				for b.Loop() {
					for p := range panels {
						kern.SignPanel(&sums, all[p*size:], codes, width, tables.Sums)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(panels*PanelLanes), "ns/atom")
			})
		}
	}
}

package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
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

// BenchmarkSignTerms tests all atoms by one query at panels of 128 signs, in turns with terms of their own and with those of
// one panel for all, which a cache holds. "most" is the time of the first as a multiple of that of the second: more than terms
// of any other type can gain. "half" is what terms of half the size could, if they came from memory as slowly and
// were converted for nothing.
func BenchmarkSignTerms(b *testing.B) {
	const head, width = 32, 128
	r := rand.New(rand.NewPCG(127, 128))
	kern, size := Best(), SignPanelBytes(head, width)
	for _, panels := range []int{100_032 / PanelLanes, 400_000 / PanelLanes, 1_600_000 / PanelLanes} {
		all := rowCodes[uint8](r, panels*size, false)
		_, codes, rest := signPanelCase(r, head, width)
		var tables SignTables
		tables.Make(rest)
		var terms [3][]float32
		for i := range terms {
			terms[i] = make([]float32, panels*PanelLanes)
			for j := range terms[i] {
				terms[i][j] = r.Float32()
			}
		}
		query := ScanQuery{Head: 1, Rest: 1, Radius: 1, Cut: 1 << 24}
		b.Run(fmt.Sprint(panels*PanelLanes), func(b *testing.B) {
			var sums [PanelLanes]RowSums8
			values := make([]float32, PanelLanes)
			least, passed := [2]time.Duration{math.MaxInt64, math.MaxInt64}, uint64(0)
			for b.Loop() {
				for way := range least {
					begun := time.Now()
					for p := range panels {
						kern.SignPanel(&sums, all[p*size:], codes, width, tables.Sums)
						at := p * PanelLanes * (1 - way)
						passed |= kern.Test(sums[:], &PanelTerms{Head: (*[PanelLanes]float32)(terms[0][at:]), Rest: (*[PanelLanes]float32)(terms[1][at:]),
							Radius: (*[PanelLanes]float32)(terms[2][at:])}, &query, values)
					}
					least[way] = min(least[way], time.Since(begun))
				}
			}
			if passed != 0 {
				b.Error("an atom passed")
			}
			most := float64(least[0]) / float64(least[1])
			b.ReportMetric(float64(least[0])/float64(panels*PanelLanes), "ns/atom")
			b.ReportMetric(most, "most")
			b.ReportMetric(2*most/(most+1), "half")
		})
	}
}

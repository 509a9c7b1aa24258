package simd

import (
	"math/rand/v2"
	"testing"
)

// TestSignPanelEdges asserts that no kernel reads or writes beyond what it is given.
func TestSignPanelEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(123, 124))
	var tables SignTables
	for _, before := range []bool{false, true} {
		sums := (*[PanelLanes]RowSums8)(edge(t, before, make([]RowSums8, PanelLanes)))
		for _, head := range []int{4, 16, 32, 36} {
			for _, width := range []int{8, 64, 256} {
				panel, codes, rest := signPanelCase(r, head, width)
				tables.Make(rest)
				panel, codes, sumsOf := edge(t, before, panel), edge(t, before, codes), edge(t, before, tables.Sums)
				var want [PanelLanes]RowSums8
				Generic.SignPanel(&want, panel, codes, width, sumsOf)
				for _, kern := range Available() {
					if kern.SignPanel(sums, panel, codes, width, sumsOf); *sums != want {
						t.Fatalf("%v: head %d, width %d: other sums than portable Go", kern, head, width)
					}
				}
			}
		}
	}
}

package simd

import (
	"math/rand/v2"
	"testing"
)

// signPanelCase draws a panel and a query, extreme ones half of the time.
func signPanelCase(r *rand.Rand, head, width int) (panel []uint8, codes []int8, rest []int16) {
	extreme := r.IntN(2) == 0
	panel, codes = rowCodes[uint8](r, SignPanelBytes(head, width), extreme), rowCodes[int8](r, head, extreme)
	rest = make([]int16, width)
	for j := range rest {
		rest[j] = int16(r.IntN(63) - 31)
		if extreme { // all of what a group may have is one code's
			rest[j] = [4]int16{0, 0, MaxSignGroup, 0}[j%4] * int16(1-2*(j/4%2))
		}
	}
	return panel, codes, rest
}

// TestSignPanel compares sums with those by the definition, for all numbers of codes and lines of a few groups.
func TestSignPanel(t *testing.T) {
	r := rand.New(rand.NewPCG(121, 122))
	var tables SignTables
	check := func(head, width int) {
		panel, codes, rest := signPanelCase(r, head, width)
		tables.Make(rest)
		for _, kern := range Available() {
			var sums [PanelLanes]RowSums8
			kern.SignPanel(&sums, panel, codes, width, tables.Sums)
			for i, got := range sums {
				var want RowSums8
				for c, q := range codes {
					want.Head += int32(q) * int32(panel[c/4*quadBytes+4*i+c%4])
				}
				for j, q := range rest {
					sign := int32(panel[head*PanelLanes+j/8*PanelLanes+i]>>(j%8)&1)*2 - 1
					want.Rest += sign * int32(q)
				}
				got.Rest -= tables.Bias
				if got != want {
					t.Fatalf("%v: head %d, width %d, atom %d: %v, want %v", kern, head, width, i, got, want)
				}
			}
		}
	}
	for head := 0; head <= 68; head += 4 {
		for _, width := range []int{0, 8, 16, 64, 72, 128, 256, MaxSignPanel} {
			check(head, width)
		}
	}
	for range 20 {
		check(32, MaxSignPanel)
	}
}

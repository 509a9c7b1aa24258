package simd

import (
	"math/rand/v2"
	"testing"
)

func randomPanel(r *rand.Rand, width int) ([]uint8, [][]int32) {
	panel := make([]uint8, width*PanelLanes)
	codes := make([][]int32, PanelLanes)
	for l := range codes {
		codes[l] = make([]int32, width)
		for c := range codes[l] {
			v := int32(r.IntN(255)) - 127
			if r.IntN(4) == 0 {
				v = 127 * (1 - 2*int32(r.IntN(2)))
			}
			codes[l][c] = v
			panel[c/4*256+l*4+c%4] = uint8(v + Bias)
		}
	}
	return panel, codes
}

// TestPanelDots compares both scans with a plain loop. A whole block of products
// 127 times -127 must not overflow into the next lane.
func TestPanelDots(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, width := range []int{4, 32, 64, 96, 192, 256} {
		panel, codes := randomPanel(r, width)
		for kind := 0; kind < 3; kind++ {
			q := make([]int64, width)
			q8 := make([]int8, width)
			for c := range q {
				v := int64(r.IntN(255)) - 127
				if kind == 1 {
					v = -127
				}
				if kind == 2 {
					for l := range codes {
						s := int32(1 - 2*(l%2))
						codes[l][c] = 127 * s
						panel[c/4*256+l*4+c%4] = uint8(127*s + Bias)
					}
					v = 127
				}
				q[c], q8[c] = v, int8(v)
			}
			words := make([]int64, wordsLen(width))
			expand(words, panel, width)
			for _, span := range [][2]int{{0, width}, {0, width / 2 &^ 3}, {width / 2 &^ 3, width}} {
				var got, direct [PanelLanes]int32
				panelDots(words, width, span[0], span[1], q, &got)
				panelDotsDirect(panel, span[0], span[1], q8, &direct)
				for l := range codes {
					var want int32
					for c := span[0]; c < span[1]; c++ {
						want += codes[l][c] * int32(q[c])
					}
					if got[l] != want || direct[l] != want {
						t.Fatalf("width %d span %v lane %d: words %d, direct %d, want %d", width, span, l, got[l], direct[l], want)
					}
				}
			}
		}
	}
}

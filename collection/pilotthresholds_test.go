package collection

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTopScores compares with a sort: more scores than are kept, of which many are equal, in any order, and
// divided among two that are merged.
func TestTopScores(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 99, 1999, 2000, 3001, 20000} {
		for _, of := range []struct {
			name  string
			score func(i int) float64
		}{
			{"any order", func(int) float64 { return r.NormFloat64() }},
			{"ascending", func(i int) float64 { return float64(i) }},
			{"descending", func(i int) float64 { return float64(-i) }},
			{"seven different", func(int) float64 { return float64(r.IntN(7)) }},
			{"all equal", func(int) float64 { return -3 }},
		} {
			parts := [][]*topScores{{newTopScores(n)}, {newTopScores(n)}}
			var all []float64
			for i := range n {
				score := of.score(i)
				all = append(all, score)
				parts[r.IntN(2)][0].addScore(score)
			}
			slices.Sort(all)
			slices.Reverse(all)
			ks := pilotKs(n)
			for i, got := range merged(parts, 0).thetas() {
				want := math.Inf(-1)
				if n > 0 {
					want = all[min(ks[i], n)-1]
				}
				if got != want {
					t.Errorf("%d scores, %s, k = %d: %g, want %g", n, of.name, ks[i], got, want)
				}
			}
			for _, p := range parts {
				if kept := len(p[0].scores); kept >= spareScores*ks[len(ks)-1] {
					t.Errorf("%d scores, %s: %d are kept", n, of.name, kept)
				}
			}
		}
	}
}

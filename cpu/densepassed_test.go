package cpu

import (
	"math/rand/v2"
	"testing"
)

func TestTransposeBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var x [64]uint64
	for i := range x {
		x[i] = r.Uint64()
	}
	got := x
	transposeBits(&got)
	for i := range x {
		for j := range x {
			if got[i]>>j&1 != x[j]>>i&1 {
				t.Fatalf("bit %d of word %d is not bit %d of word %d before", j, i, i, j)
			}
		}
	}
}

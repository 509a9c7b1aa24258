package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestFloatFWHTScale(t *testing.T) {
	for _, kern := range Available() {
		r := rand.New(rand.NewPCG(23, 24))
		for block := 4; block <= 1024; block *= 2 {
			for blocks := range 4 {
				n := block * blocks
				x, intact := fencedFloats(normals(r, n, blocks == 3))
				sign, _ := fencedFloats(normals(r, n, false))
				for i := range sign {
					sign[i] = float32(1 - 2*r.IntN(2))
				}
				f := float32(1 / math.Sqrt(float64(block)))
				want := append([]float32(nil), x...)
				for i := range want {
					want[i] *= sign[i]
				}
				for at := 0; at < n; at += block {
					FWHT(want[at : at+block])
				}
				for i := range want {
					want[i] *= f
				}
				kern.FWHTScale(x, sign, block, f)
				sameFloats(t, fmt.Sprintf("%v: %d blocks of %d", kern, blocks, block), x, want)
				if !intact() {
					t.Fatalf("%v: %d blocks of %d wrote beyond", kern, blocks, block)
				}
			}
		}
	}
}

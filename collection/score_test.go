package collection

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	_ "thresher/internal/draws"
)

// TestCosineOfMultiples: if sums are exact, a vector has the same cosine as all of its
// multiples, bit for bit.
func TestCosineOfMultiples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dot := rapid.Int64Range(-1<<40, 1<<40).Draw(t, "product")
		vv := rapid.Int64Range(1, 1<<36).Draw(t, "square")
		times := rapid.Int64Range(1, 1<<8).Draw(t, "times")
		qq := rapid.Float64Range(.25, 1).Draw(t, "query's square")
		want := CosineOf(float64(dot), float64(vv), qq)
		for _, sign := range []float64{1, -1} {
			m := sign * float64(times)
			if got := CosineOf(m*float64(dot), m*m*float64(vv), qq); got != sign*want {
				t.Fatalf("%d/%d by %g: %x, by %g %x", dot, vv, math.Sqrt(qq), want, m, got)
			}
		}
	})
}

// TestCosineOfError compares with arithmetic of 400 bits, over the whole range of norms.
func TestCosineOfError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(-149, 110).Draw(t, "exponent of the norm")
		v := math.Ldexp(rapid.Float64Range(1, 2).Draw(t, "norm"), size)
		q := rapid.Float64Range(.5, 1).Draw(t, "query's norm")
		c := math.Ldexp(rapid.Float64Range(-1, -.5).Draw(t, "cosine"), -rapid.IntRange(0, 250).Draw(t, "exponent of the cosine"))
		dot, vv, qq := c*v*q, v*v, q*q
		got := CosineOf(dot, vv, qq)
		wide := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
		want := new(big.Float).SetPrec(400).Sqrt(new(big.Float).Mul(wide(vv), wide(qq)))
		want.Quo(wide(dot), want)
		off, _ := new(big.Float).Sub(want, wide(got)).Float64()
		if !(math.Abs(off) <= 0x1p-52*math.Abs(got)) {
			t.Fatalf("%g of %g and %g: %g, off by %g", dot, vv, qq, got, off)
		}
	})
}

func TestCosineOfNothing(t *testing.T) {
	for _, x := range [][3]float64{{0, 0, .5}, {0, 1, 0}, {0, 0, 0}} {
		if got := CosineOf(x[0], x[1], x[2]); got != 0 {
			t.Errorf("cosine of %v is %g", x, got)
		}
	}
}

package collection

import (
	"math"
	"math/big"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"
)

// TestSignTermsBoundTheirAtoms compares the deterministic terms of signs with rests that the test rotates
// in float64: those of ordinary, sparse, huge, tiny and zero atoms.
func TestSignTermsBoundTheirAtoms(t *testing.T) {
	forSets(t, []int{768}, func(t *testing.T, c *Collection) {
		terms, whole := c.SignTerms(), &c.Stages[len(c.Stages)-1]
		for i := range c.N {
			_, rest := c.testParts(i)
			size := floats.Norm(rest, 2)
			x := c.testSigns(i, float64(terms.Scale[i]))
			e := floats.Distance(rest, x, 2)
			if floats.Norm(c.testWorking(i), 2) < tinyNorm && terms.Scale[i] != 0 {
				t.Errorf("atom %d without codes: scale %g", i, terms.Scale[i])
			}
			if got := float64(terms.Radius[i]); !(got >= e*(1-ulps)-1e-6*size) || got > (e+2*float64(whole.Beyond[i]))*1.0001+1e-36 {
				t.Errorf("atom %d: radius %g, the truth %g of %g", i, got, e, size)
			}
			if got, want := float64(terms.XNorm[i]), floats.Norm(x, 2); !(got >= want*(1-ulps)) || got > want*1.0001+1e-36 {
				t.Errorf("atom %d: norm of the signs %g, the truth %g", i, got, want)
			}
		}
	})
}

// TestSignTermsOfAnyCodes: whatever the codes, the signs and their scale, the radius exceeds the distance of both,
// computed without rounding, by the error of the codes.
func TestSignTermsOfAnyCodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Collection{N: 1, R: 4 * rapid.IntRange(0, 2).Draw(t, "head/4"), D: 32 * rapid.IntRange(1, 40).Draw(t, "D/32")}
		most := rapid.IntRange(0, 127).Draw(t, "greatest code")
		code := rapid.Custom(func(t *rapid.T) uint8 { return uint8(128 + rapid.IntRange(-most, most).Draw(t, "code")) })
		c.Codes = rapid.SliceOfN(code, c.R+c.D, c.R+c.D).Draw(t, "codes")
		rows := append(make([]uint8, c.R), rapid.SliceOfN(rapid.Byte(), c.D/8, c.D/8).Draw(t, "signs")...)
		scale := math.Ldexp(float64(rapid.Float32Range(1, 2).Draw(t, "scale")), rapid.IntRange(-149, 110).Draw(t, "exponent"))
		scale = float64(float32(scale))
		var squares float64
		for _, v := range c.Codes[c.R:] {
			squares += (float64(v) - 128) * (float64(v) - 128)
		}
		beyond := rapid.SampledFrom([]float32{0, float32(scale), 1}).Draw(t, "beyond")
		c.Stages = []Stage{{Width: c.D, Coding: Signs, Rows: rows, Stride: len(rows)},
			{Width: c.D, Scale: []float32{float32(scale)}, Beyond: []float32{beyond}, XNorm: []float32{Upward(math.Sqrt(squares) * scale * Up)}}}
		got := c.SignTerms()
		var apart, size big.Float
		apart.SetPrec(2000)
		size.SetPrec(2000)
		square := func(sum *big.Float, x float64, y float64) {
			d := new(big.Float).SetPrec(1000).SetFloat64(x)
			d.Sub(d, new(big.Float).SetFloat64(y))
			sum.Add(sum, d.Mul(d, d))
		}
		for j, x := range c.testSigns(0, float64(got.Scale[0])) {
			square(&apart, scale*(float64(c.Codes[c.R+j])-128), x)
			square(&size, x, 0)
		}
		least := new(big.Float).SetPrec(2000).Sqrt(&apart)
		least.Add(least, new(big.Float).SetFloat64(float64(beyond)))
		if least.Cmp(new(big.Float).SetFloat64(float64(got.Radius[0]))) > 0 {
			t.Fatalf("radius %g, the distance is %v", got.Radius[0], least)
		}
		if size.Sqrt(&size).Cmp(new(big.Float).SetFloat64(float64(got.XNorm[0]))) > 0 {
			t.Fatalf("norm %g, is %v", got.XNorm[0], &size)
		}
	})
}

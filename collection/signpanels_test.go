package collection

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"thresher/simd"
)

// TestSignPanelsBoundTheirAtoms compares panels of signs with the signs of the codes, and their terms with those that
// the rotated rests need by the law. docs/guarantee.md, panels of signs.
func TestSignPanelsBoundTheirAtoms(t *testing.T) {
	forSets(t, []int{128, 256, 768}, func(t *testing.T, c *Collection) {
		for _, width := range []int{64, c.D &^ 127} {
			p := c.SignPanels(width)
			size := simd.SignPanelBytes(c.R, width)
			if len(p.Panels) != c.PanelCount()*size || len(p.Scale) != c.PanelCount()*PanelAtoms {
				t.Fatalf("%d bytes and %d terms of %d atoms", len(p.Panels), len(p.Scale), c.N)
			}
			for i := range c.N {
				panel, lane, code := p.Panels[i/PanelAtoms*size:][:size], i%PanelAtoms, c.Code(i)
				for j := range c.R {
					if got := panel[j/4*4*PanelAtoms+4*lane+j%4]; got != code[j] {
						t.Fatalf("atom %d: code %d of the head is %d, want %d", i, j, got, code[j])
					}
				}
				_, rest := c.testParts(i)
				var along float64
				for j := range width {
					x := float64(panel[PanelAtoms*(c.R+j/8)+lane]>>(j%8)&1)*2 - 1
					if (x > 0) != (code[c.R+j] >= simd.Bias) {
						t.Fatalf("atom %d: sign %d is %g of code %d", i, j, x, int(code[c.R+j])-simd.Bias)
					}
					along += x * rest[j]
				}
				scale, radius, length := float64(p.Scale[i]), float64(p.Radius[i]), floats.Norm(rest, 2)
				if got, want := float64(p.XNorm[i]), scale*math.Sqrt(float64(width)); !(got >= want) || got > want*1.0001+1e-36 {
					t.Errorf("atom %d: norm of the signs %g, the truth %g", i, got, want)
				}
				if length == 0 {
					continue
				}
				along /= length
				h := math.Sqrt(max(0, float64(width)-along*along))
				least := max(scale*h, math.Abs(length-along*scale)/c.Kappa)
				// What the codes round costs: two or three per cent where an atom has many coordinates.
				if !(radius >= least*(1-ulps)-1e-6*length) || c.Dim == c.D && scale != 0 && radius > 1.5*least+1e-36 {
					t.Errorf("atom %d, %d signs: radius %g, at least %g of %g by scale %g", i, width, radius, least, length, scale)
				}
			}
		}
	})
}

// TestSignTermsNeedTheirErrors takes codes that are as far from their atom as they may be, in the worst direction.
func TestSignTermsNeedTheirErrors(t *testing.T) {
	const width, kappa = 128., .1
	for _, beyond := range []float64{0, .001, .01, .1, .5, .9, 1, 2} {
		for _, along := range []float64{0, .5, 3, 8, math.Sqrt(width)} { // <x, codes>, of codes of norm 1
			scale, radius := signTerms(along, 1, beyond, width, kappa)
			for step := range 721 {
				// In the plane of the signs and the codes, and of what else the codes have, the rest lies on a circle about
				// the codes.
				turn := float64(step) * math.Pi / 360
				c := along / math.Sqrt(width)
				x, y := c+beyond*math.Cos(turn), math.Sqrt(max(0, 1-c*c))+beyond*math.Sin(turn)
				length := math.Hypot(x, y)
				if length < 1e-9 {
					continue
				}
				rho := x / length * math.Sqrt(width)
				h := math.Sqrt(max(0, width-rho*rho))
				if least := max(scale*h, math.Abs(length-rho*scale)/kappa); !(radius >= least*(1-1e-6)) {
					t.Fatalf("along %g, beyond %g, turn %d: radius %g, at least %g", along, beyond, step, radius, least)
				}
			}
		}
	}
}

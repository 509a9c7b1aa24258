package bandit

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Figures worked out by hand from the formulas.
func TestMeanRadiusFigures(t *testing.T) {
	cases := []struct {
		name      string
		got, want float64
	}{
		{"one reward", MeanRadius(1, 100, 1, .001), math.Sqrt(2 * math.Log(4e5))},
		{"ten rewards", MeanRadius(2.5, 7, 10, .01), 2.5 * math.Sqrt(2*math.Log(4*7*100/.01)/10)},
		{"none", MeanRadius(1, 100, 0, .001), math.Inf(1)},
		{"no overflow", MeanRadius(1, math.MaxInt64, math.MaxInt64, 1e-300), math.Sqrt(2 * (math.Log(4) + 3*63*math.Ln2 + 300*math.Ln10) / 0x1p63)},
		{"bounded", BoundedSigma(-5, 5), 5},
	}
	for _, c := range cases {
		if c.got != c.want && math.Abs(c.got-c.want) > 1e-12*c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestMeanRadiusShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := rapid.Float64Range(1e-3, 1e3).Draw(t, "sigma")
		n := rapid.IntRange(1, 1e6).Draw(t, "n")
		s := rapid.IntRange(3, 1e6).Draw(t, "s")
		delta := rapid.Float64Range(1e-9, .999).Draw(t, "delta")
		c := MeanRadius(sigma, n, s, delta)
		if !(c > 0) {
			t.Fatalf("radius %v", c)
		}
		if MeanRadius(sigma, n, s+1, delta) >= c {
			t.Error("another reward does not shrink the radius")
		}
		if MeanRadius(sigma, n+1, s, delta) <= c || MeanRadius(sigma, n, s, delta/2) <= c {
			t.Error("more arms or less delta do not widen the radius")
		}
		if twice := MeanRadius(2*sigma, n, s, delta); math.Abs(twice-2*c) > 1e-12*twice {
			t.Error("the radius is not proportional to sigma")
		}
	})
}

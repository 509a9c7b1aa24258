package collection

import (
	"math"
	"testing"
)

// TestNormalTail: the table is within its stated errors of the normal law and never rises.
func TestNormalTail(t *testing.T) {
	table := newNormalTail()
	last := 1.
	for i := -6_000_00; i <= 6_000_00; i++ {
		x := float64(i) / 1e5
		got, want := table.at(x), .5*math.Erfc(x/math.Sqrt2)
		if got > last {
			t.Fatalf("%g at %g, %g before it", got, x, last)
		}
		last = got
		switch {
		case x <= -tailSigmas && got != 1, x >= tailSigmas && got != 0:
			t.Fatalf("%g at %g, beyond the table", got, x)
		case math.Abs(x) < tailSigmas && math.Abs(got-want) > min(2e-6, max(2e-4*want, 1e-15)):
			t.Fatalf("%g at %g, want %g", got, x, want)
		}
	}
	for _, x := range []float64{math.Inf(-1), -math.MaxFloat64, math.MaxFloat64, math.Inf(1)} {
		if got := table.at(x); (got == 1) != (x < 0) || (got == 0) != (x > 0) {
			t.Errorf("%g at %g", got, x)
		}
	}
}

// TestUpwardIsNext compares with the standard library, at and around numbers of all signs and sizes.
func TestUpwardIsNext(t *testing.T) {
	for _, f := range []float32{0, float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32, 1e-30, 1, 1.5, math.MaxFloat32, float32(math.Inf(1))} {
		for _, f := range []float32{f, -f} {
			for _, x := range []float64{float64(f), math.Nextafter(float64(f), math.Inf(1)), math.Nextafter(float64(f), math.Inf(-1)), float64(f) * (1 + 1e-9)} {
				want := float32(x)
				if float64(want) < x {
					want = math.Nextafter32(want, float32(math.Inf(1)))
				}
				if got := Upward(x); got != want {
					t.Errorf("Upward(%g) = %g, want %g", x, got, want)
				}
			}
		}
	}
}

package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestFWHT(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := 4; n <= 1024; n *= 2 {
		x, want := make([]float32, n), make([]float64, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		for i := range want {
			for j, v := range x {
				s := 1.0
				for b := i & j; b != 0; b &= b - 1 {
					s = -s
				}
				want[i] += s * float64(v)
			}
		}
		FWHT(x)
		for i := range x {
			if math.Abs(float64(x[i])-want[i]) > 1e-4*math.Sqrt(float64(n)) {
				t.Fatalf("n %d entry %d: %g, want %g", n, i, x[i], want[i])
			}
		}
	}
}

func TestQuantize(t *testing.T) {
	x := []float32{0, .49, .51, -.51, 126.4, 127, -127, 1000, -1000, 1.5, 2.5}
	want := []int{0, 0, 1, -1, 126, 127, -127, 127, -127, 2, 2}
	code := make([]uint8, len(x))
	Quantize(code, x, 1)
	q := make([]int16, len(x))
	QuantizeError(q, x, 1, 127, 1)
	for i := range x {
		if int(code[i])-Bias != want[i] || int(q[i]) != want[i] {
			t.Fatalf("%g: code %d and %d, want %d", x[i], int(code[i])-Bias, q[i], want[i])
		}
	}
	if m := MaxAbs([]float32{1, -3, 2}); m != 3 {
		t.Fatalf("MaxAbs %g", m)
	}
}

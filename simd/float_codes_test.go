package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestFloatMaxAbs(t *testing.T) {
	eachKernels(t, func(t *testing.T, kern Kernels, r *rand.Rand, n int, wild bool) {
		x, _ := fencedFloats(normals(r, n, wild))
		if got, want := kern.MaxAbs(x), MaxAbs(x); !sameBits32(got, want) {
			t.Fatalf("MaxAbs of %d: %g, want %g", n, got, want)
		}
		if n == 0 {
			return
		}
		x[r.IntN(n)] = float32(math.Inf(-1))
		if got := kern.MaxAbs(x); !math.IsInf(float64(got), 1) {
			t.Fatalf("MaxAbs of %d with an infinity: %g", n, got)
		}
		x[r.IntN(n)] = float32(math.Copysign(math.NaN(), -1))
		if got := kern.MaxAbs(x); got == got {
			t.Fatalf("MaxAbs of %d with a NaN: %g", n, got)
		}
	})
}

// codable draws n floats to be coded: in range and far out of range, ties, zeros of both
// signs and, if wild, infinities and NaN.
func codable(r *rand.Rand, n int, wild bool) []float32 {
	x := normals(r, n, false)
	odd := []float32{0, float32(math.Copysign(0, -1)), .5, 1.5, 2.5, -2.5, 127.5, -127.5, 1e9, -1e9, 4e6, -4e6,
		math.MaxFloat32, -math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), nan32, 1e-42}
	for i := range x {
		x[i] *= 60
		if wild && r.IntN(3) == 0 {
			x[i] = odd[r.IntN(len(odd))]
		}
	}
	return x
}

func TestFloatQuantize(t *testing.T) {
	eachKernels(t, func(t *testing.T, kern Kernels, r *rand.Rand, n int, wild bool) {
		x, _ := fencedFloats(codable(r, n, wild))
		for _, inv := range []float32{1, .7, 3e-5} {
			dst, intact := fenced(n, uint8(0xa5), equal[uint8])
			want := make([]uint8, n)
			kern.Quantize(dst, x, inv)
			Quantize(want, x, inv)
			for i := range want {
				if dst[i] != want[i] {
					t.Fatalf("Quantize %d of %d, %g times %g: %d, want %d", i, n, x[i], inv, dst[i], want[i])
				}
			}
			if !intact() {
				t.Fatalf("Quantize of %d wrote beyond", n)
			}
		}
	})
}

func TestFloatQuantizeError(t *testing.T) {
	eachKernels(t, func(t *testing.T, kern Kernels, r *rand.Rand, n int, wild bool) {
		x, _ := fencedFloats(codable(r, n, wild))
		for _, limit := range []int32{1, 127, 32767} {
			const inv = .7
			step := float32(1 / inv)
			want := make([]int16, n)
			QuantizeError(want, x, inv, limit, step)
			var wantSum int64
			wantErr := newExactly()
			for i, c := range want {
				wantSum += int64(c)
				if !wild {
					d := float64(x[i]) - float64(step)*float64(c)
					wantErr.add(d, d)
				}
			}
			dst, intact := fenced(n, int16(0x5aa5), equal[int16])
			sum, err2 := kern.QuantizeError(dst, x, inv, limit, step)
			if sum != wantSum || !wild && !wantErr.within(err2, n+4) {
				t.Fatalf("QuantizeError of %d: sum %d, want %d; squares %g, want %g", n, sum, wantSum, err2, wantErr.sum)
			}
			for i := range want {
				if dst[i] != want[i] {
					t.Fatalf("code %d of %d, of %g up to %d: %d, want %d", i, n, x[i], limit, dst[i], want[i])
				}
			}
			if !intact() {
				t.Fatalf("codes of %d wrote beyond", n)
			}
		}
	})
}

func TestFloatCodeMoments(t *testing.T) {
	eachKernels(t, func(t *testing.T, kern Kernels, r *rand.Rand, n int, wild bool) {
		o, _ := fencedFloats(normals(r, n, wild))
		code, _ := fenced(n, uint8(255), equal[uint8])
		co, cc := newExactly(), int64(0)
		for i := range code {
			code[i] = uint8(r.IntN(256))
			if wild {
				code[i] = 255 * uint8(r.IntN(2))
			}
			c := int64(code[i]) - Bias
			co.add(float64(c), float64(o[i]))
			cc += c * c
		}
		a, b := kern.CodeMoments(code, o)
		if !co.within(a, n) || b != float64(cc) {
			t.Fatalf("CodeMoments of %d: %g and %g, want %g and %d", n, a, b, co.sum, cc)
		}
	})
}

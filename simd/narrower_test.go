package simd

import (
	"math"
	"testing"
)

// halfOf is a binary16 by its definition.
func halfOf(u uint16) float32 {
	sign, exponent, fraction := 1.0, int(u>>10&31), float64(u&1023)
	if u>>15 == 1 {
		sign = -1
	}
	if exponent == 0 {
		return float32(math.Copysign(math.Ldexp(fraction, -24), sign))
	}
	return float32(sign * math.Ldexp(1024+fraction, exponent-25))
}

// TestNarrower compares conversions of all finite numbers of each type with those of single numbers, bit for
// bit, and of blocks of all lengths up to that of two steps.
func TestNarrower(t *testing.T) {
	var halves, upper []uint16
	for u := range 1 << 16 {
		if u>>10&31 != 31 {
			halves = append(halves, uint16(u))
		}
		if u>>7&255 != 255 {
			upper = append(upper, uint16(u))
		}
	}
	bytes := make([]uint8, 256)
	for i := range bytes {
		bytes[i] = uint8(i)
	}
	for _, kern := range Available() {
		checkNarrower(t, kern.String()+" halves", kern.Halves, halves, halfOf)
		checkNarrower(t, kern.String()+" upper halves", kern.UpperHalves, upper, func(u uint16) float32 { return math.Float32frombits(uint32(u) << 16) })
		checkNarrower(t, kern.String()+" signed", kern.Signed, bytes, func(u uint8) float32 { return float32(int(u) - int(u)>>7*256) })
		checkNarrower(t, kern.String()+" unsigned", kern.Unsigned, bytes, func(u uint8) float32 { return float32(u) })
	}
}

func checkNarrower[T uint8 | uint16](t *testing.T, name string, convert func(dst []float32, src []T), all []T, want func(T) float32) {
	t.Helper()
	check := func(src []T) {
		out := newGrid(1, len(src), len(src), func(int, int) float32 { return 0 })
		convert(out.row(0), src)
		for i, v := range out.row(0) {
			if w := want(src[i]); math.Float32bits(v) != math.Float32bits(w) {
				t.Fatalf("%s of %d: %#x is %g, want %g", name, len(src), src[i], v, w)
			}
		}
		if !out.intact() {
			t.Fatalf("%s: wrote outside %d numbers", name, len(src))
		}
	}
	check(all)
	for n := range 2*16 + 3 {
		check(all[:n])
		check(all[len(all)-n:])
	}
}

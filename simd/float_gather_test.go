package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestFloatPermute(t *testing.T) {
	eachKernels(t, func(t *testing.T, kern Kernels, r *rand.Rand, n int, wild bool) {
		src, _ := fencedFloats(normals(r, n+3, wild))
		perm, _ := fenced(n, math.MaxUint32, equal[uint32])
		for i := range perm {
			perm[i] = uint32(r.IntN(n + 3))
		}
		dst, intact := fenced(n, nan32, sameBits32)
		kern.Permute(dst, src, perm)
		for i, p := range perm {
			if !sameBits32(dst[i], src[p]) {
				t.Fatalf("entry %d of %d: %g, want %g", i, n, dst[i], src[p])
			}
		}
		if !intact() {
			t.Fatalf("%d entries: wrote beyond", n)
		}
	})
}

func TestFloatDotGather(t *testing.T) {
	eachKernels(t, func(t *testing.T, kern Kernels, r *rand.Rand, n int, wild bool) {
		a, _ := fencedFloats(normals(r, n+3, wild))
		q, _ := fenced(n, math.NaN(), equal[float64])
		perm, _ := fenced(n, math.MaxUint32, equal[uint32])
		sum, squares := newExactly(), newExactly()
		for i := range perm {
			perm[i], q[i] = uint32(r.IntN(n+3)), r.NormFloat64()
			v := float64(a[perm[i]])
			sum.add(v, q[i])
			squares.add(v*q[i], v*q[i])
		}
		s, t2 := kern.DotGather(a, perm, q)
		if !sum.within(s, n+4) || !squares.within(t2, n+4) {
			t.Fatalf("DotGather of %d: %g and %g, want %g and %g", n, s, t2, sum.sum, squares.sum)
		}
	})
}

// TestFloatGatherRefusesIndex asserts that an index beyond the array, at any position,
// panics before it is followed.
func TestFloatGatherRefusesIndex(t *testing.T) {
	const n = 67
	src, dst, q := make([]float32, n), make([]float32, n), make([]float64, n)
	perm := make([]uint32, n)
	for _, kern := range Available() {
		for at := range perm {
			for _, beyond := range []uint32{n, 1 << 31, math.MaxUint32} {
				perm[at] = beyond
				for name, run := range map[string]func(){
					"Permute":   func() { kern.Permute(dst, src, perm) },
					"DotGather": func() { kern.DotGather(src, perm, q) },
				} {
					if !panics(run) {
						t.Errorf("%v: %s followed index %d of %d at %d", kern, name, beyond, n, at)
					}
				}
			}
			perm[at] = n - 1
		}
		clear(perm)
	}
}

package simd

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// edge copies x to the end of a mapping, or with before set to its start: touching an
// entry beyond x there kills the test.
func edge[T any](t *testing.T, before bool, x []T) []T {
	t.Helper()
	if len(x) == 0 {
		return nil
	}
	bytes, page := len(x)*int(unsafe.Sizeof(x[0])), os.Getpagesize()
	size := (bytes + page - 1) / page * page
	m, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	inside := m[page : page+size]
	if err := unix.Mprotect(inside, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	at := size - bytes
	if before {
		at = 0
	}
	y := unsafe.Slice((*T)(unsafe.Pointer(&inside[at])), len(x))
	copy(y, x)
	return y
}

// TestFloatEdges asserts that no kernel reads or writes beyond its slices.
func TestFloatEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for _, before := range []bool{false, true} {
		for _, n := range floatLengths() {
			if n > 300 {
				continue
			}
			floats := func() []float32 { return edge(t, before, normals(r, n, false)) }
			x, y, sign, out := floats(), floats(), floats(), floats()
			q := edge(t, before, make([]float64, n))
			perm := make([]uint32, n)
			for i := range perm {
				q[i], perm[i] = r.NormFloat64(), uint32(n-1-i)
			}
			perm = edge(t, before, perm)
			bytes, shorts := edge(t, before, make([]uint8, n)), edge(t, before, make([]int16, n))
			for _, kern := range Available() {
				sums := []float64{kern.Dot(x, q), kern.SumSquares(x), float64(kern.MaxAbs(x))}
				add := func(a, b float64) { sums = append(sums, a, b) }
				add(kern.DotSquares(x, y))
				add(kern.DotGather(x, perm, q))
				kern.Quantize(bytes, x, 30)
				add(kern.CodeMoments(bytes, x))
				kern.QuantizeError(shorts, x, 30, 127, 1./30)
				kern.Permute(out, x, perm)
				for block := 4; block <= n; block *= 2 {
					if n%block == 0 {
						kern.FWHTScale(out, sign, block, .5)
					}
				}
				for i, s := range sums {
					if math.IsNaN(s) {
						t.Errorf("%v: sum %d of %d is %g", kern, i, n, s)
					}
				}
			}
		}
		for _, n := range []int{1, 7, 31, 32, 100, 1000} {
			rows := edge(t, before, normals(r, 5*n, false))
			q := edge(t, before, make([]float64, n))
			ids := edge(t, before, []uint32{4, 0, 3, 4, 2, 1, 4})
			out := edge(t, before, make([]float64, len(ids)))
			for _, kern := range Available() {
				kern.Dots(out, rows, n, ids, q)
			}
		}
	}
}

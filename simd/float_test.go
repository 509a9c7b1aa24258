package simd

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// floatLengths returns every remainder of every vector length, and lengths of rows.
func floatLengths() []int {
	var n []int
	for i := range 71 {
		n = append(n, i)
	}
	return append(n, 96, 100, 127, 128, 129, 255, 256, 257, 300, 784, 1000, 1024, 4096)
}

// fence is the number of guard entries before and after every slice under test.
const fence = 80

var nan32 = float32(math.NaN())

// fenced returns n entries between fences of guard entries, and a function that
// reports whether the fences are unchanged.
func fenced[T any](n int, guard T, same func(a, b T) bool) (inside []T, intact func() bool) {
	all := make([]T, n+2*fence)
	for i := range all {
		all[i] = guard
	}
	return all[fence : fence+n : fence+n], func() bool {
		for i, v := range all {
			if (i < fence || i >= fence+n) && !same(v, guard) {
				return false
			}
		}
		return true
	}
}

func sameBits32(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

func equal[T comparable](a, b T) bool { return a == b }

// fencedFloats copies x between fences of NaN.
func fencedFloats(x []float32) ([]float32, func() bool) {
	in, intact := fenced(len(x), nan32, sameBits32)
	copy(in, x)
	return in, intact
}

// normals draws n floats; wild ones differ in size by up to 2^40.
func normals(r *rand.Rand, n int, wild bool) []float32 {
	x := make([]float32, n)
	for i := range x {
		v := r.NormFloat64()
		if wild {
			v = math.Ldexp(v, r.IntN(40)-20)
		}
		x[i] = float32(v)
	}
	return x
}

// exactly accumulates products without rounding, and the sum of their magnitudes.
type exactly struct{ sum, size *big.Float }

func newExactly() exactly {
	return exactly{new(big.Float).SetPrec(400), new(big.Float).SetPrec(400)}
}

func (e exactly) add(a, b float64) {
	p := new(big.Float).SetPrec(400).Mul(big.NewFloat(a), big.NewFloat(b))
	e.sum.Add(e.sum, p)
	e.size.Add(e.size, p.Abs(p))
}

// addSquare adds (a-b)^2.
func (e exactly) addSquare(a, b float64) {
	d := new(big.Float).SetPrec(400).Sub(big.NewFloat(a), big.NewFloat(b))
	d.Mul(d, d)
	e.sum.Add(e.sum, d)
	e.size.Add(e.size, d)
}

// within reports whether got differs from the sum by at most ulps 2^-53 of the magnitudes.
func (e exactly) within(got float64, ulps int) bool {
	if math.IsNaN(got) {
		return false
	}
	size, _ := e.size.Float64()
	diff, _ := new(big.Float).Sub(e.sum, big.NewFloat(got)).Float64()
	return math.Abs(diff) <= float64(ulps)*0x1p-53*size
}

// eachKernels runs a check for all Kernels, lengths and kinds of data.
func eachKernels(t *testing.T, check func(t *testing.T, kern Kernels, r *rand.Rand, n int, wild bool)) {
	for _, kern := range Available() {
		t.Run(kern.String(), func(t *testing.T) {
			for _, n := range floatLengths() {
				for _, wild := range []bool{false, true} {
					check(t, kern, rand.New(rand.NewPCG(uint64(n), 11)), n, wild)
				}
			}
		})
	}
}

func TestFloatDot(t *testing.T) {
	eachKernels(t, func(t *testing.T, kern Kernels, r *rand.Rand, n int, wild bool) {
		a, _ := fencedFloats(normals(r, n, wild))
		b, _ := fencedFloats(normals(r, n, wild))
		q, _ := fenced(n, math.NaN(), equal[float64])
		dot, squares, both := newExactly(), newExactly(), newExactly()
		for i := range q {
			q[i] = r.NormFloat64()
			dot.add(float64(a[i]), q[i])
			squares.add(float64(a[i]), float64(a[i]))
			both.add(float64(a[i]), float64(b[i]))
		}
		if got := kern.Dot(a, q); !dot.within(got, n/32+7) {
			t.Fatalf("Dot of %d: %g, want %g", n, got, dot.sum)
		}
		if got := kern.SumSquares(a); !squares.within(got, n/32+6) {
			t.Fatalf("SumSquares of %d: %g, want %g", n, got, squares.sum)
		}
		x, xx := kern.DotSquares(a, b)
		if !both.within(x, n+2) || !squares.within(xx, n+2) {
			t.Fatalf("DotSquares of %d: %g and %g, want %g and %g", n, x, xx, both.sum, squares.sum)
		}
	})
}

// TestFloatDotsRefusesRow asserts that a row beyond the matrix panics before it is read.
func TestFloatDotsRefusesRow(t *testing.T) {
	for _, kern := range Available() {
		for name, rows := range map[string]func(Kernels, []float64, []float32, int, []uint32, []float64){"Dots": Kernels.Dots, "SquaredDistances": Kernels.SquaredDistances} {
			if !panics(func() {
				rows(kern, make([]float64, 3), make([]float32, 4*32), 32, []uint32{0, 4, 1}, make([]float64, 32))
			}) {
				t.Errorf("%v: %s took a row beyond the matrix", kern, name)
			}
		}
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

func sameFloats(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !sameBits32(got[i], want[i]) {
			t.Fatalf("%s: entry %d: %g, want %g", what, i, got[i], want[i])
		}
	}
}

func TestFloatAllocatesNothing(t *testing.T) {
	const n = 67
	x, y, q, perm := make([]float32, n), make([]float32, n), make([]float64, n), make([]uint32, n)
	bytes, shorts, out, ids := make([]uint8, n), make([]int16, n), make([]float64, 2), make([]uint32, 2)
	for _, kern := range Available() {
		got := testing.AllocsPerRun(10, func() {
			kern.Dot(x, q)
			kern.Dots(out, x, n, ids, q)
			kern.SquaredDistance(x, q)
			kern.SquaredDistances(out, x, n, ids, q)
			kern.DotSquares(x, y)
			kern.DotGather(x, perm, q)
			kern.SumSquares(x)
			kern.MaxAbs(x)
			kern.Quantize(bytes, x, 1)
			kern.QuantizeError(shorts, x, 1, 9, 1)
			kern.CodeMoments(bytes, x)
			kern.FWHTScale(x[:64], y[:64], 32, 1)
			kern.Permute(y, x, perm)
		})
		if got != 0 {
			t.Errorf("%v: %g allocations", kern, got)
		}
	}
}

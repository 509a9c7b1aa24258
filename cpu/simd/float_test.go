package simd

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// floatLengths are every remainder of every vector length, and rows.
func floatLengths() []int {
	var n []int
	for i := range 71 {
		n = append(n, i)
	}
	return append(n, 96, 100, 127, 128, 129, 255, 256, 257, 300, 784, 1000, 1024, 4096)
}

// fence is what stands before and behind every slice under test.
const fence = 80

var nan32 = float32(math.NaN())

// fenced returns n entries that lie between fences of guard entries, and
// whether those still stand.
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

// exactly adds up products without error and tells the sum of their magnitudes.
type exactly struct{ sum, size *big.Float }

func newExactly() exactly {
	return exactly{new(big.Float).SetPrec(400), new(big.Float).SetPrec(400)}
}

func (e exactly) add(a, b float64) {
	p := new(big.Float).SetPrec(400).Mul(big.NewFloat(a), big.NewFloat(b))
	e.sum.Add(e.sum, p)
	e.size.Add(e.size, p.Abs(p))
}

// within reports whether got is the sum up to ulps 2^-53 of the magnitudes.
func (e exactly) within(got float64, ulps int) bool {
	if math.IsNaN(got) {
		return false
	}
	size, _ := e.size.Float64()
	diff, _ := new(big.Float).Sub(e.sum, big.NewFloat(got)).Float64()
	return math.Abs(diff) <= float64(ulps)*0x1p-53*size
}

// eachLevel runs a check for every level, length and kind of data.
func eachLevel(t *testing.T, check func(t *testing.T, l Level, r *rand.Rand, n int, wild bool)) {
	for _, l := range Levels() {
		t.Run(l.String(), func(t *testing.T) {
			for _, n := range floatLengths() {
				for _, wild := range []bool{false, true} {
					check(t, l, rand.New(rand.NewPCG(uint64(n), 11)), n, wild)
				}
			}
		})
	}
}

func TestFloatDot(t *testing.T) {
	eachLevel(t, func(t *testing.T, l Level, r *rand.Rand, n int, wild bool) {
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
		if got := l.Dot(a, q); !dot.within(got, n+2) {
			t.Fatalf("Dot of %d: %g, want %g", n, got, dot.sum)
		}
		if got := l.SumSquares(a); !squares.within(got, n) {
			t.Fatalf("SumSquares of %d: %g, want %g", n, got, squares.sum)
		}
		x, xx := l.DotSquares(a, b)
		if !both.within(x, n+2) || !squares.within(xx, n+2) {
			t.Fatalf("DotSquares of %d: %g and %g, want %g and %g", n, x, xx, both.sum, squares.sum)
		}
	})
}

// TestFloatDots: every row scores what Dot scores it, in lists of any length,
// with rows twice, apart and the last of the matrix.
func TestFloatDots(t *testing.T) {
	for _, l := range Levels() {
		r := rand.New(rand.NewPCG(3, 4))
		for _, n := range floatLengths() {
			ld := n + n%3
			const rows = 9
			m, _ := fencedFloats(normals(r, max(0, (rows-1)*ld+n), false))
			q := make([]float64, n)
			for i := range q {
				q[i] = r.NormFloat64()
			}
			for _, k := range []int{0, 1, 2, 5, 40} {
				ids := make([]uint32, k)
				for i := range ids {
					ids[i] = uint32(r.IntN(rows))
				}
				if k > 1 {
					ids[k-1] = rows - 1
				}
				out, intact := fenced(k, -7, equal[float64])
				l.Dots(out, m, ld, ids, q)
				for i, id := range ids {
					if want := l.Dot(m[int(id)*ld:][:n], q); out[i] != want {
						t.Fatalf("%v: row %d of %d floats, %d of %d in the list: %g, alone %g", l, id, n, i, k, out[i], want)
					}
				}
				if !intact() {
					t.Fatalf("%v: %d rows of %d: wrote beyond the list", l, k, n)
				}
			}
		}
	}
}

// TestFloatDotsRefusesRow: a row beyond the matrix is caught before it is read.
func TestFloatDotsRefusesRow(t *testing.T) {
	for _, l := range Levels() {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: took a row beyond the matrix", l)
				}
			}()
			l.Dots(make([]float64, 3), make([]float32, 4*32), 32, []uint32{0, 4, 1}, make([]float64, 32))
		}()
	}
}

func TestFloatMaxAbs(t *testing.T) {
	eachLevel(t, func(t *testing.T, l Level, r *rand.Rand, n int, wild bool) {
		x, _ := fencedFloats(normals(r, n, wild))
		if got, want := l.MaxAbs(x), MaxAbs(x); !sameBits32(got, want) {
			t.Fatalf("MaxAbs of %d: %g, want %g", n, got, want)
		}
		if n == 0 {
			return
		}
		x[r.IntN(n)] = float32(math.Inf(-1))
		if got := l.MaxAbs(x); !math.IsInf(float64(got), 1) {
			t.Fatalf("MaxAbs of %d with an infinity: %g", n, got)
		}
		x[r.IntN(n)] = float32(math.Copysign(math.NaN(), -1))
		if got := l.MaxAbs(x); got == got {
			t.Fatalf("MaxAbs of %d with a NaN: %g", n, got)
		}
	})
}

// codable draws n floats to be coded: in range and far out of it, ties, zeros
// of both signs, and at times infinities and NaN.
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
	eachLevel(t, func(t *testing.T, l Level, r *rand.Rand, n int, wild bool) {
		x, _ := fencedFloats(codable(r, n, wild))
		for _, inv := range []float32{1, .7, 3e-5} {
			dst, intact := fenced(n, uint8(0xa5), equal[uint8])
			want := make([]uint8, n)
			l.Quantize(dst, x, inv)
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

func TestFloatQuantizeSigned(t *testing.T) {
	eachLevel(t, func(t *testing.T, l Level, r *rand.Rand, n int, wild bool) {
		x, _ := fencedFloats(codable(r, n, wild))
		for _, limit := range []int32{1, 127, 32767} {
			want := make([]int16, n)
			QuantizeSigned(want, x, .7, limit)
			step := float32(1 / .7)
			var wantSum int64
			wantErr := newExactly()
			for i, c := range want {
				wantSum += int64(c)
				if wild {
					continue
				}
				d := float64(x[i]) - float64(step)*float64(c)
				wantErr.add(d, d)
			}
			for _, with := range []bool{false, true} {
				dst, intact := fenced(n, int16(0x5aa5), equal[int16])
				if with {
					sum, err2 := l.QuantizeError(dst, x, .7, limit, step)
					if sum != wantSum || !wild && !wantErr.within(err2, n+4) {
						t.Fatalf("QuantizeError of %d: sum %d, want %d; squares %g, want %g", n, sum, wantSum, err2, wantErr.sum)
					}
				} else {
					l.QuantizeSigned(dst, x, .7, limit)
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
		}
	})
}

func TestFloatCodeMoments(t *testing.T) {
	eachLevel(t, func(t *testing.T, l Level, r *rand.Rand, n int, wild bool) {
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
		a, b := l.CodeMoments(code, o)
		if !co.within(a, n) || b != float64(cc) {
			t.Fatalf("CodeMoments of %d: %g and %g, want %g and %d", n, a, b, co.sum, cc)
		}
	})
}

func TestFloatFWHT(t *testing.T) {
	for _, l := range Levels() {
		r := rand.New(rand.NewPCG(21, 22))
		for n := 4; n <= 4096; n *= 2 {
			for _, wild := range []bool{false, true} {
				x, intact := fencedFloats(normals(r, n, wild))
				x[r.IntN(n)] = float32(math.Copysign(0, -1))
				want := append([]float32(nil), x...)
				l.FWHT(x)
				FWHT(want)
				sameFloats(t, fmt.Sprintf("%v: FWHT of %d", l, n), x, want)
				if !intact() {
					t.Fatalf("%v: FWHT of %d wrote beyond", l, n)
				}
			}
		}
	}
}

func TestFloatFWHTScale(t *testing.T) {
	for _, l := range Levels() {
		r := rand.New(rand.NewPCG(23, 24))
		for block := 4; block <= 1024; block *= 2 {
			for blocks := range 4 {
				n := block * blocks
				x, intact := fencedFloats(normals(r, n, blocks == 3))
				sign, _ := fencedFloats(normals(r, n, false))
				for i := range sign {
					sign[i] = float32(1 - 2*r.IntN(2))
				}
				f := float32(1 / math.Sqrt(float64(block)))
				want := append([]float32(nil), x...)
				for i := range want {
					want[i] *= sign[i]
				}
				for at := 0; at < n; at += block {
					FWHT(want[at : at+block])
				}
				for i := range want {
					want[i] *= f
				}
				l.FWHTScale(x, sign, block, f)
				sameFloats(t, fmt.Sprintf("%v: %d blocks of %d", l, blocks, block), x, want)
				if !intact() {
					t.Fatalf("%v: %d blocks of %d wrote beyond", l, blocks, block)
				}
			}
		}
	}
}

func sameFloats(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if !sameBits32(got[i], want[i]) {
			t.Fatalf("%s: entry %d: %g, want %g", what, i, got[i], want[i])
		}
	}
}

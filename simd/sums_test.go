package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// canonical adds terms as sums.go defines it.
func canonical(terms []float64) float64 {
	lane := make([]float64, 32)
	for j, x := range terms {
		lane[j%32] += x
	}
	for len(lane) > 1 {
		h := len(lane) / 2
		for l := range h {
			lane[l] += lane[h+l]
		}
		lane = lane[:h]
	}
	return lane[0]
}

// sumLengths returns every length up to four rounds of the lanes, and lengths of rows.
func sumLengths() []int {
	var n []int
	for i := range 131 {
		n = append(n, i)
	}
	return append(n, 160, 255, 256, 257, 300, 784, 1000, 1024, 4097)
}

// sumKinds are the kinds of entries that sums are tested on, each with a power of two
// by which a query's entries may be scaled.
var sumKinds = []struct {
	name string
	exp  int
	draw func(r *rand.Rand) float32
}{
	{"normal", 0, func(r *rand.Rand) float32 { return float32(r.NormFloat64()) }},
	{"wild", -7, func(r *rand.Rand) float32 { return float32(math.Ldexp(r.NormFloat64(), r.IntN(40)-20)) }},
	{"whole", 0, func(r *rand.Rand) float32 { return float32(r.IntN(9) - 4) }},
	{"huge", -128, func(r *rand.Rand) float32 { return math.Float32frombits(0x7f7fffff - uint32(r.IntN(1<<24))) }},
	{"subnormal", 126, func(r *rand.Rand) float32 { return math.Float32frombits(uint32(r.IntN(1<<23)) | r.Uint32()&(1<<31)) }},
	{"zeros", 0, func(r *rand.Rand) float32 { return math.Float32frombits(r.Uint32() & (1 << 31)) }},
	{"bits", -3, func(r *rand.Rand) float32 {
		for {
			if v := math.Float32frombits(r.Uint32()); v-v == 0 {
				return v
			}
		}
	}},
}

// eachSum runs a check for all Kernels, kinds and lengths, on a row a and a query q
// between fences of NaN.
func eachSum(t *testing.T, check func(t *testing.T, kern Kernels, a, b []float32, q []float64)) {
	for _, kern := range Available() {
		for _, kind := range sumKinds {
			t.Run(kern.String()+"/"+kind.name, func(t *testing.T) {
				for _, n := range sumLengths() {
					r := rand.New(rand.NewPCG(uint64(n), 17))
					a, _ := fencedFloats(make([]float32, n))
					b, _ := fencedFloats(make([]float32, n))
					q, _ := fenced(n, math.NaN(), equal[float64])
					for j := range a {
						a[j], b[j] = kind.draw(r), kind.draw(r)
						q[j] = math.Ldexp(float64(b[j]), kind.exp)
					}
					check(t, kern, a, b, q)
				}
			})
		}
	}
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// TestDotIsCanonical uses queries of float32 times a power of two: the products are
// exact, so fusing them with additions changes nothing.
func TestDotIsCanonical(t *testing.T) {
	eachSum(t, func(t *testing.T, kern Kernels, a, b []float32, q []float64) {
		products, squares := make([]float64, len(a)), make([]float64, len(a))
		for j, v := range a {
			products[j], squares[j] = float64(v)*q[j], float64(v)*float64(v)
		}
		if got, want := kern.Dot(a, q), canonical(products); !sameBits(got, want) {
			t.Fatalf("Dot of %d: %x, want %x", len(a), got, want)
		}
		if got, want := kern.SumSquares(a), canonical(squares); !sameBits(got, want) {
			t.Fatalf("SumSquares of %d: %x, want %x", len(a), got, want)
		}
	})
}

// TestSumsOfZeros asserts that a sum of -0 products is +0, as if padded.
func TestSumsOfZeros(t *testing.T) {
	minus := math.Copysign(0, -1)
	for _, kern := range Available() {
		for _, n := range sumLengths() {
			a, q := make([]float32, n), make([]float64, n)
			for j := range a {
				a[j], q[j] = float32(minus), 1
			}
			if got := kern.Dot(a, q); !sameBits(got, 0) {
				t.Fatalf("%v: Dot of %d times -0 is %g", kern, n, got)
			}
		}
	}
}

func TestSquaredDistanceIsCanonical(t *testing.T) {
	eachSum(t, func(t *testing.T, kern Kernels, a, _ []float32, q []float64) {
		terms := make([]float64, len(a))
		for j, v := range a {
			d := q[j] - float64(v)
			terms[j] = float64(d * d)
		}
		if got, want := kern.SquaredDistance(a, q), canonical(terms); !sameBits(got, want) {
			t.Fatalf("%d entries: %x, want %x", len(a), got, want)
		}
	})
}

// TestSquaredDistances compares every row with SquaredDistance, in lists of any length,
// with repeated, distant and last rows.
func TestSquaredDistances(t *testing.T) {
	eachRows(t, Kernels.SquaredDistances, func(a []float32, q []float64) float64 { return SquaredDistance(a, q) })
	eachRows(t, Kernels.SquaredDistancesNear, func(a []float32, q []float64) float64 { return SquaredDistance(a, q) })
}

// TestDotsAreDot compares every row with Dot, for all Kernels, in such lists.
func TestDotsAreDot(t *testing.T) {
	eachRows(t, Kernels.Dots, func(a []float32, q []float64) float64 { return Dot(a, q) })
	eachRows(t, Kernels.DotsNear, func(a []float32, q []float64) float64 { return Dot(a, q) })
}

// TestSumErrors asserts the stated error bounds of canonical sums.
func TestSumErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	for _, n := range sumLengths() {
		a, b, q := normals(r, n, true), normals(r, n, true), make([]float64, n)
		dot, squares, distance := newExactly(), newExactly(), newExactly()
		for j := range a {
			q[j] = float64(b[j])
			dot.add(float64(a[j]), q[j])
			squares.add(float64(a[j]), float64(a[j]))
			distance.addSquare(q[j], float64(a[j]))
		}
		if got := Dot(a, q); !dot.within(got, n/32+7) {
			t.Errorf("Dot of %d: %g, want %g", n, got, dot.sum)
		}
		if got := SumSquares(a); !squares.within(got, n/32+6) {
			t.Errorf("SumSquares of %d: %g, want %g", n, got, squares.sum)
		}
		if got := SquaredDistance(a, q); !distance.within(got, n/32+9) {
			t.Errorf("SquaredDistance of %d: %g, want %g", n, got, distance.sum)
		}
	}
}

// eachRows compares lists of rows with each row alone, for all Kernels.
func eachRows(t *testing.T, rows func(kern Kernels, out []float64, rows []float32, ld int, ids []uint32, q []float64), row func(a []float32, q []float64) float64) {
	for _, kern := range Available() {
		r := rand.New(rand.NewPCG(3, 4))
		for _, n := range sumLengths() {
			ld := n + n%3
			const count = 9
			m, _ := fencedFloats(normals(r, max(0, (count-1)*ld+n), true))
			q, _ := fenced(n, math.NaN(), equal[float64])
			for i := range q {
				q[i] = float64(float32(r.NormFloat64()))
			}
			for _, k := range []int{0, 1, 2, 3, 4, 5, 7, 40} {
				ids := make([]uint32, k)
				for i := range ids {
					ids[i] = uint32(r.IntN(count))
				}
				if k > 1 {
					ids[k-1] = count - 1
				}
				out, intact := fenced(k, -7, equal[float64])
				rows(kern, out, m, ld, ids, q)
				for i, id := range ids {
					if want := row(m[int(id)*ld:][:n], q); !sameBits(out[i], want) {
						t.Fatalf("%v: row %d of %d floats, %d of %d in the list: %x, alone %x", kern, id, n, i, k, out[i], want)
					}
				}
				if !intact() {
					t.Fatalf("%v: %d rows of %d: wrote beyond the list", kern, k, n)
				}
			}
		}
	}
}

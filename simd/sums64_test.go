package simd

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// sums64Of are the canonical sums of the products and of the squared differences of a and q.
func sums64Of(a, q []float64) (product, distance float64) {
	products, squares := make([]float64, len(a)), make([]float64, len(a))
	for j, v := range a {
		d := q[j] - v
		products[j], squares[j] = float64(v*q[j]), float64(d*d)
	}
	return canonical(products), canonical(squares)
}

// TestSums64AreCanonical asserts that all sets have the same bits for rows of float64 whose products and differences
// are not exact: a fused multiply-add would change them.
func TestSums64AreCanonical(t *testing.T) {
	const rows = 5
	for _, kern := range Available() {
		for _, n := range sumLengths() {
			r := rand.New(rand.NewPCG(uint64(n), 64))
			ld := n + n%3
			block, _ := fenced(rows*ld, math.NaN(), equal[float64])
			q, _ := fenced(n, math.NaN(), equal[float64])
			for j := range block {
				block[j] = math.Ldexp(r.NormFloat64(), r.IntN(40)-20) + 1e6
			}
			for j := range q {
				q[j] = 1e6 + r.NormFloat64()
			}
			ids := []uint32{3, 0, 4, 4, 1}
			products, distances := make([]float64, len(ids)), make([]float64, len(ids))
			kern.Dots64(products, block, ld, ids, q)
			kern.SquaredDistances64(distances, block, ld, ids, q)
			for k, id := range ids {
				product, distance := sums64Of(block[int(id)*ld:][:n], q)
				if !sameBits(products[k], product) || !sameBits(distances[k], distance) {
					t.Fatalf("%v: sums of %d are %x and %x, want %x and %x", kern, n, products[k], distances[k], product, distance)
				}
			}
		}
	}
}

// TestSums64AreNear compares sums with exact ones by the errors that are stated.
func TestSums64AreNear(t *testing.T) {
	exactly := func(x float64) *big.Float { return new(big.Float).SetPrec(4000).SetFloat64(x) }
	for _, n := range []int{1, 31, 33, 200, 1000} {
		r := rand.New(rand.NewPCG(uint64(n), 65))
		a, q := make([]float64, n), make([]float64, n)
		sum, size, squares := exactly(0), exactly(0), exactly(0)
		for j := range a {
			a[j], q[j] = math.Ldexp(r.NormFloat64(), r.IntN(60)-30), r.NormFloat64()
			p := exactly(0).Mul(exactly(a[j]), exactly(q[j]))
			d := exactly(0).Sub(exactly(q[j]), exactly(a[j]))
			sum.Add(sum, p)
			size.Add(size, exactly(0).Abs(p))
			squares.Add(squares, d.Mul(d, d))
		}
		out := make([]float64, 2)
		Best().Dots64(out[:1], a, n, []uint32{0}, q)
		Best().SquaredDistances64(out[1:], a, n, []uint32{0}, q)
		for k, of := range []struct {
			want, size *big.Float
			steps      int
		}{{sum, size, 8}, {squares, squares, 9}} {
			off, _ := exactly(0).Sub(exactly(out[k]), of.want).Float64()
			limit, _ := of.size.Float64()
			if limit *= float64(n/32+of.steps) * 0x1p-53; math.Abs(off) > limit {
				t.Errorf("sum %d of %d is off by %g, more than %g", k, n, off, limit)
			}
		}
	}
}

func TestSumSquares64(t *testing.T) {
	x := []float64{1e6, 3, 0.1, -2}
	if got, want := SumSquares64(x), canonical([]float64{1e12, 9, float64(x[2] * x[2]), 4}); got != want {
		t.Errorf("%g, want %g", got, want)
	}
}

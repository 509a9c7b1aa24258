package collection

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// sameQuery describes how two prepared queries differ; "" if they do not.
func sameQuery(a, b *Query) string {
	switch {
	case a.Exp != b.Exp:
		return fmt.Sprintf("exponents %d and %d", a.Exp, b.Exp)
	case a.Norm != b.Norm || a.HeadNorm != b.HeadNorm || a.RestNorm != b.RestNorm:
		return "norms"
	case !slices.Equal(a.Head, b.Head):
		return "heads"
	case !slices.Equal(a.Rest, b.Rest):
		return "rests"
	}
	return ""
}

// TestPreparedAloneOrInABatch: a prepared query is the same bit for bit for any batch that
// it is prepared with, and for any memory and what it held before.
func TestPreparedAloneOrInABatch(t *testing.T) {
	const m = 150 // two groups of 64 and a part
	nan := float32(math.NaN())
	var reused PrepareScratch // by one collection after another
	for _, dim := range []int{16, 40, 100, 256, 300, 769} {
		for _, metric := range metrics {
			for _, noHead := range []bool{false, true} {
				name := fmt.Sprintf("dimension %d, %v, head %v", dim, metric, !noHead)
				c := build(t, data("powerlaw", 300, dim, 1), dim, &Options{Metric: metric, NoHead: noHead})
				q := data("gaussian", m, dim, 2)
				copy(q[7*dim:], data("spread", 20, dim, 3))
				clear(q[40*dim : 41*dim])
				scale := make([]float64, m)
				for j := range scale {
					scale[j] = 1
					if n := floats.Norm(wide(q[j*dim:(j+1)*dim]), 2); metric == Cosine && n > 0 {
						scale[j] = 1 / n
					}
				}
				batch := make([]Query, m)
				heads, rests := make([]float32, m*c.R), make([]float32, m*c.D)
				for i := range rests {
					rests[i] = nan
				}
				for j := range batch {
					if j%3 == 0 {
						continue // allocated
					}
					batch[j].Head, batch[j].Rest = heads[j*c.R:(j+1)*c.R], rests[j*c.D:(j+1)*c.D]
				}
				c.PrepareBatch(batch, q, scale, &reused)
				for j := range batch {
					var alone Query
					c.Prepare(&alone, q[j*dim:(j+1)*dim], scale[j], nil)
					if why := sameQuery(&batch[j], &alone); why != "" {
						t.Errorf("%s, query %d: %s differ from those prepared alone", name, j, why)
					}
					if len(alone.Head) != c.R || len(alone.Rest) != c.D {
						t.Fatalf("%s: head of %d, rest of %d", name, len(alone.Head), len(alone.Rest))
					}
					if j%3 != 0 && &batch[j].Rest[0] != &rests[j*c.D] {
						t.Errorf("%s, query %d: the memory given is not used", name, j)
					}
				}
				part := make([]Query, 2)
				c.PrepareBatch(part, q[70*dim:72*dim], scale[70:72], &reused)
				for j := range part {
					if why := sameQuery(&part[j], &batch[70+j]); why != "" {
						t.Errorf("%s, query %d: %s differ in a batch of two", name, 70+j, why)
					}
				}
				c.PrepareBatch(nil, nil, nil, nil)
			}
		}
	}
}

func TestPreparingAllocatesNothing(t *testing.T) {
	for _, dim := range []int{100, 300} {
		c := build(t, data("gaussian", 200, dim, 1), dim, &Options{Metric: InnerProduct})
		q := data("gaussian", 100, dim, 2)
		dst, scale := make([]Query, 100), make([]float64, 100)
		for j := range scale {
			scale[j] = 1
		}
		var w PrepareScratch
		c.PrepareBatch(dst, q, scale, &w)
		if n := testing.AllocsPerRun(10, func() { c.PrepareBatch(dst, q, scale, &w) }); n > 0 {
			t.Errorf("dimension %d: %g allocations a batch", dim, n)
		}
		if n := testing.AllocsPerRun(10, func() { c.Prepare(&dst[0], q[:dim], 1, &w) }); n > 0 {
			t.Errorf("dimension %d: %g allocations a query", dim, n)
		}
	}
}

// TestPackedProducts: products of packed matrices are those of the matrices, for panels of
// every width.
func TestPackedProducts(t *testing.T) {
	for _, k := range []int{1, 16, 70} {
		for _, n := range []int{1, 15, 16, 17, 33, 64, 81, 129} {
			x := data("gaussian", n, k, 1) // n vectors of k
			v := data("gaussian", 5, k, 2)
			p := newPacked(k, n)
			p.fillColumns(x, k, n)
			turned := make([]float32, k*n) // k vectors of n
			for i := range n {
				for c := range k {
					turned[c*n+i] = x[i*k+c]
				}
			}
			rows := newPacked(k, n)
			rows.fillRows(turned, n, n)
			if !slices.Equal(p.data, rows.data) {
				t.Fatalf("%d x %d: rows and columns are laid out differently", k, n)
			}
			out := make([]float32, 5*p.columns)
			half := k / 2
			p.multiply(out, p.columns, v, k, 5, 0, half, false)
			p.multiply(out, p.columns, v[half:], k, 5, half, k-half, true)
			for i := range 5 {
				for j := range p.columns {
					var want, size float64
					if j < n {
						for c := range k {
							f := float64(v[i*k+c]) * float64(x[j*k+c])
							want += f
							size += math.Abs(f)
						}
					}
					if e := math.Abs(float64(out[i*p.columns+j]) - want); !(e <= float64(k+2)*0x1p-24*size) {
						t.Fatalf("%d x %d: product %d, %d is off by %g", k, n, i, j, e)
					}
				}
			}
		}
	}
}

//go:build cuda && cgo

package gpu

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/bandit"
	"thresher/collection"
)

// TestHeads: each component of a head is within HeadError's error, and the rest within that of the
// subtraction, for any number of directions.
func TestHeads(t *testing.T) {
	onPreparer(t, func(b *preparer) {
		for _, D := range []int{16, 100, 768, 2048, 2052, 20000} {
			for _, R := range []int{16, 32, 48} {
				for _, m := range []int{1, 11} {
					name := fmt.Sprintf("%d coordinates, %d directions, %d queries", D, R, m)
					r := rand.New(rand.NewPCG(uint64(D), uint64(R)))
					x, u := make([]float32, m*D), make([]float32, R*D)
					for i := range x {
						x[i] = float32(r.NormFloat64() / math.Sqrt(float64(D)))
					}
					for i := range u {
						u[i] = float32(r.NormFloat64() / math.Sqrt(float64(D)))
					}
					// sums of hundreds of these in one chain lose nearly half a step each time
					for i := range D {
						x[(m-1)*D+i], u[i] = 1.6015625+0x1p-15-0x1p-20, 1
					}
					head, rest := b.project(x, u, m, R, D, false)
					again, left := b.project(x, u, m, R, D, true)
					if !slices.Equal(head, again) || !slices.Equal(rest, left) {
						t.Errorf("%s: in place it gives something else", name)
					}
					for j := range m {
						v, h := x[j*D:(j+1)*D], head[j*R:(j+1)*R]
						chain := bandit.AccumulateError(min(D, bandit.HeadChunk+bandit.HeadChunks) + 1)
						for k := range h {
							var sum, size float64
							for i, w := range u[k*D : (k+1)*D] {
								sum += float64(w) * float64(v[i])
								size += math.Abs(float64(w) * float64(v[i]))
							}
							if e := math.Abs(float64(h[k]) - sum); !(e <= chain*size) {
								t.Fatalf("%s: component %d of head %d is off by %g, allowed %g", name, k, j, e, chain*size)
							}
						}
						for i, w := range v {
							sum, size := float64(w), math.Abs(float64(w))
							for k := range h {
								f := float64(u[k*D+i]) * float64(h[k])
								sum, size = sum-f, size+math.Abs(f)
							}
							if e := math.Abs(float64(rest[j*D+i]) - sum); !(e <= bandit.AccumulateError(R+1)*size) {
								t.Fatalf("%s: coordinate %d of rest %d is off by %g, allowed %g", name, i, j, e, bandit.AccumulateError(R+1)*size)
							}
						}
					}
				}
			}
		}
	})
}

// turned returns R x in float64.
func turned(r *collection.Rotation, x []float32) []float64 {
	D := len(x)
	y := make([]float64, D)
	if r.Haar != nil {
		for i := range y {
			for j, v := range x {
				y[i] += float64(r.Haar[i*D+j]) * float64(v)
			}
		}
		return y
	}
	for i, v := range x {
		y[i] = float64(v)
	}
	for k, sign := range r.Sign {
		z, at := make([]float64, D), 0
		for _, block := range r.Blocks {
			for i := range block {
				for j := range block {
					z[at+i] += y[at+j] * float64(sign[at+j]) * float64(1-2*(bits.OnesCount(uint(i&j))&1))
				}
				z[at+i] /= math.Sqrt(float64(block))
			}
			at += block
		}
		for i, p := range r.Perm[k] {
			y[i] = z[p]
		}
	}
	return y
}

// buildFew returns a collection of few atoms, with a head if the dimension allows one.
func buildFew(t *testing.T, dim int, o collection.Options) *collection.Collection {
	t.Helper()
	r, n := rand.New(rand.NewPCG(uint64(dim), 3)), 130
	x := make([]float32, n*dim)
	for i := range x {
		x[i] = float32(r.NormFloat64() + .3*math.Cos(float64(i%dim)))
	}
	c, err := collection.Build(context.Background(), x, dim, &o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRotations: rounds give the CPU's results bit for bit, since the additions are the same; a
// Haar matrix stays within HaarError; and both are within RotationError of the rotation in float64.
func TestRotations(t *testing.T) {
	onPreparer(t, func(b *preparer) {
		for _, dim := range []int{16, 17, 100, 256, 257, 300, 352, 480, 768, 1000, 1536, 4096, 20000} {
			const m = 9
			c := buildFew(t, dim, collection.Options{Metric: collection.InnerProduct, NoHead: true})
			r, D := c.Rotation(), c.D
			q, ready, scale := spreadRows(m, dim, 1), make([]collection.Query, m), make([]float64, m)
			for j := range scale {
				scale[j] = 1
			}
			c.PrepareBatch(ready, q, scale, nil)
			_, x, _ := b.load(q, make([]query, m), dim, D, c.Metric, nil)
			ways := []bool{false}
			if 8*D <= 48<<10 {
				ways = []bool{false, true}
			}
			for _, shared := range ways {
				rest := b.rotate(x, &r, m, D, shared)
				for j := range m {
					name := fmt.Sprintf("dimension %d, shared memory %v, query %d", dim, shared, j)
					v, got := x[j*D:(j+1)*D], rest[j*D:(j+1)*D]
					if r.Haar == nil && !slices.Equal(got, ready[j].Rest) {
						t.Fatalf("%s: not what the CPU makes of it", name)
					}
					want, allowed, sum := turned(&r, v), bandit.AccumulateError(bandit.HaarChunk+ceil(D, bandit.HaarChunk)), 0.0
					for i, w := range want {
						e := math.Abs(float64(got[i]) - w)
						sum += e * e
						if r.Haar == nil {
							continue
						}
						var size float64
						for k, u := range v {
							size += math.Abs(float64(r.Haar[i*D+k]) * float64(u))
						}
						if !(e <= allowed*size) {
							t.Fatalf("%s: coordinate %d is off by %g, allowed %g", name, i, e, allowed*size)
						}
					}
					if e, most := math.Sqrt(sum), bandit.RotationError(D, len(r.Sign))*length(v); !(e <= most) {
						t.Fatalf("%s: off by %g, allowed %g", name, e, most)
					}
				}
			}
		}
	})
}

// split runs query_load, head_project and the rotation on queries.
func (b *preparer) split(c *collection.Collection, r *collection.Rotation, q []float32) (head, rest []float32, loaded []query) {
	b.Helper()
	m := len(q) / c.Dim
	_, x, loaded := b.load(q, make([]query, m), c.Dim, c.D, c.Metric, c.Centre)
	if c.R > 0 {
		head, x = b.project(x, r.Head, m, c.R, c.D, true)
	}
	return head, b.rotate(x, r, m, c.D, 8*c.D <= 48<<10), loaded
}

// TestSplitQueries: heads and rests are near those of PrepareBatch, their products with an atom's
// are within Slack of the product of the vectors, and a query's results do not depend on the
// others, bit for bit.
func TestSplitQueries(t *testing.T) {
	onPreparer(t, func(b *preparer) {
		for _, dim := range []int{16, 100, 256, 257, 300, 768, 1536, 4096, 20000} {
			metrics := []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean}
			if dim >= 4096 {
				metrics = metrics[:1]
			}
			for _, metric := range metrics {
				const m = 14
				c := buildFew(t, dim, collection.Options{Metric: metric})
				if c.R == 0 && dim >= 64 && dim <= 1536 {
					t.Fatalf("dimension %d: no head to test", dim)
				}
				r, q := c.Rotation(), spreadRows(m, dim, 2)
				head, rest, loaded := b.split(c, &r, q)
				for _, j := range []int{0, 6, 13} {
					h, o, p := b.split(c, &r, q[j*dim:(j+1)*dim])
					if !slices.Equal(h, head[j*c.R:(j+1)*c.R]) || !slices.Equal(o, rest[j*c.D:(j+1)*c.D]) || p[0] != loaded[j] {
						t.Errorf("dimension %d, %v: query %d alone is another", dim, metric, j)
					}
				}
				atom, v := c.Row(7), collection.Query{}
				c.Prepare(&v, atom, 1, nil)
				for j := range m {
					name := fmt.Sprintf("dimension %d, %v, query %d", dim, metric, j)
					row, scale := q[j*dim:(j+1)*dim], 1.0
					if n := length(row); metric == collection.Cosine && n > 0 {
						scale = 1 / n
					}
					// another exponent would give another unit
					var want collection.Query
					c.Prepare(&want, row, scale, nil)
					unitOf := math.Ldexp(1, int(loaded[j].exp)-want.Exp)
					h, o := head[j*c.R:(j+1)*c.R], rest[j*c.D:(j+1)*c.D]
					headError := 2 * bandit.AccumulateError(bandit.HeadChunk+bandit.HeadChunks+1) * math.Sqrt(2*float64(c.R))
					restError := 2*bandit.RotationError(c.D, len(r.Sign)) + (1+math.Sqrt(2*float64(c.R)))*(headError+2*bandit.AccumulateError(c.R+1))
					least := float64(dim) * 0x1p-149 // underflow of a short query's products
					if e := distance(h, want.Head, unitOf); !(e <= headError*want.Norm+least) {
						t.Errorf("%s: heads are %g apart, allowed %g", name, e, headError*want.Norm)
					}
					if e := distance(o, want.Rest, unitOf); !(e <= restError*want.Norm+least) {
						t.Errorf("%s: rests are %g apart, allowed %g", name, e, restError*want.Norm)
					}
					var got, exact, atomSize, size float64
					for i := range atom {
						w, x := relative(c, atom, i), relative(c, row, i)
						exact, atomSize, size = exact+x*scale*w, atomSize+w*w, size+x*x
					}
					atomSize, size = math.Sqrt(atomSize), math.Sqrt(size)
					for i, w := range h {
						got += float64(w) * float64(v.Head[i])
					}
					for i, w := range o {
						got += float64(w) * float64(v.Rest[i])
					}
					got = math.Ldexp(got, v.Exp+int(loaded[j].exp))
					most := c.Slack*atomSize*size*scale + math.Ldexp(least*atomSize, int(loaded[j].exp))
					if e := math.Abs(got - exact); !(e <= most) {
						t.Errorf("%s: head and rest score %g, which is off by %g, allowed %g", name, got, e, most)
					}
				}
			}
		}
	})
}

func distance(a, b []float32, f float64) float64 {
	var s float64
	for i, v := range a {
		d := float64(v)*f - float64(b[i])
		s += d * d
	}
	return math.Sqrt(s)
}

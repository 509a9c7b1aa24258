//go:build cuda && cgo

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/backend/looks"
	"thresher/collection"
	"thresher/gpu/device"
)

const (
	tile  = 8         // queries that a block of prepare_rotate.cu multiplies by a matrix
	minUp = 1 - 1e-12 // relative error of float64 sums, by which a value rounded upward may be low
)

func onPreparer(t *testing.T, f func(b *preparer)) {
	t.Helper()
	onKernels(t, f, "prepare", "prepare_rotate")
}

// load runs query_load with the goals in g; centre may be nil.
func (b *preparer) load(q []float32, g []query, dim, D int, metric collection.Metric, centre []float64) (scaled []float64, x []float32, loaded []query) {
	b.Helper()
	m := len(g)
	dq, ds, dx, dg, dc := to(b, q), room[float64](b, m*dim), room[float32](b, m*D), to(b, g), to(b, centre)
	b.q.queryLoad(device.Shape{Grid: device.Dim{X: m}, Block: device.Dim{X: 128}}, queryLoadArgs{
		q: device.Ptr(dq), scaled: device.Ptr(ds), x: device.Ptr(dx), queries: device.Ptr(dg), m: m, dim: dim, P: D, metric: int(looks.ScoringOf(metric)),
		centre: device.Ptr(dc),
	})
	from(b, dq)
	from(b, dc)
	return from(b, ds), from(b, dx), from(b, dg)
}

// project runs head_project, in place or not.
func (b *preparer) project(x, u []float32, m, R, D int, inPlace bool) (head, rest []float32) {
	b.Helper()
	dx, du, dh := to(b, x), to(b, u), room[float32](b, m*R)
	dr := dx
	if !inPlace {
		dr = room[float32](b, m*D)
	}
	b.q.headProject(device.Shape{Grid: device.Dim{X: ceil(m, tile)}, Block: device.Dim{X: 256}}, headProjectArgs{
		x: device.Ptr(dx), U: device.Ptr(du), head: device.Ptr(dh), rest: device.Ptr(dr), m: m, R: R, D: D,
	})
	from(b, du)
	head, rest = from(b, dh), from(b, dr)
	if !inPlace {
		if !slices.Equal(from(b, dx), x) {
			b.Error("head_project changed its input")
		}
	}
	return head, rest
}

// rotate runs rotate, with or without shared memory, or rotate_haar.
func (b *preparer) rotate(x []float32, r *collection.Rotation, m, D int, shared bool) []float32 {
	b.Helper()
	dx, dr := to(b, x), room[float32](b, m*D)
	if r.Haar != nil {
		dh := to(b, r.Haar)
		b.q.rotateHaar(device.Shape{Grid: device.Dim{X: ceil(m, tile), Y: 3}, Block: device.Dim{X: 256}}, rotateHaarArgs{
			x: device.Ptr(dx), haar: device.Ptr(dh), rest: device.Ptr(dr), m: m, D: D,
		})
		from(b, dh)
	} else {
		ds, dp := to(b, slices.Concat(r.Sign...)), to(b, slices.Concat(r.Perm...))
		shape, work := device.Shape{Grid: device.Dim{X: m}, Block: device.Dim{X: 32 * min(8, ceil(D, 256))}, Shared: 8 * D}, room[float32](b, 0)
		if !shared {
			shape.Shared, work = 0, room[float32](b, 2*m*D)
		}
		b.q.rotate(shape, rotateArgs{
			x: device.Ptr(dx), sign: device.Ptr(ds), perm: device.Ptr(dp), rest: device.Ptr(dr), work: device.Ptr(work), m: m, D: D,
			rounds: len(r.Sign),
		})
		from(b, ds)
		from(b, dp)
		from(b, work)
	}
	from(b, dx)
	return from(b, dr)
}

// queryCodes is the output of query_codes.
type queryCodes struct{ bytes, hi, lo []int8 }

func (b *preparer) codes(head, rest []float32, g []query, R, D, width int) (queryCodes, []query) {
	b.Helper()
	m, S, P := len(g), (R+width+31)&^31, (R+D+63)&^63
	dh, dr, dg, d8, hi, lo := to(b, head), to(b, rest), to(b, g), room[int8](b, m*S), room[int8](b, m*P), room[int8](b, m*P)
	b.q.queryCodes(device.Shape{Grid: device.Dim{X: m}, Block: device.Dim{X: 128}}, queryCodesArgs{
		head: device.Ptr(dh), rest: device.Ptr(dr), codes8: device.Ptr(d8), hi: device.Ptr(hi), lo: device.Ptr(lo), queries: device.Ptr(dg), m: m,
		R: R, D: D, To: width, S: S, P: P,
	})
	from(b, dh)
	from(b, dr)
	return queryCodes{from(b, d8), from(b, hi), from(b, lo)}, from(b, dg)
}

// factors runs look_factors for look t.
func (b *preparer) factors(g []query, rest []float32, D int, t *looks.Compiled) []query {
	b.Helper()
	dg, dr := to(b, g), to(b, rest)
	b.q.lookFactors(device.Shape{Grid: device.Dim{X: ceil(len(g), tile)}, Block: device.Dim{X: 256}}, lookFactorsArgs{
		queries: device.Ptr(dg), rest: device.Ptr(dr), m: len(g), D: D, To: t.To, rule: int(t.Kind), codes: int(t.QueryCodes), reach: t.Reach,
		slack: t.Slack, codeSlack: t.CodeSlack,
	})
	from(b, dr)
	return from(b, dg)
}

// spreadRows returns m rows of dim coordinates whose norms alternate between about 1, 1e-25 and
// 1e30 times sqrt(dim), denormal, and 0; then a 1-hot row and constant ones.
func spreadRows(m, dim int, seed uint64) []float32 {
	r, x := rand.New(rand.NewPCG(seed, 5)), make([]float32, m*dim)
	for i := range m {
		size := [...]float64{1, 1e-25, 1e30, 1e-42, 0, 1, 1}[i%7]
		for j := range dim {
			x[i*dim+j] = float32(size * r.NormFloat64())
			switch {
			case i%7 == 5:
				x[i*dim+j] = 0
			case i%7 == 6:
				x[i*dim+j] = 3
			}
		}
		if i%7 == 5 {
			x[i*dim+r.IntN(dim)] = -2
		}
	}
	return x
}

func length(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

// roundedUp reports whether got is want rounded up, by at most twice collection.Up.
func roundedUp(got, want float64) bool {
	return got >= want*minUp && got <= want*collection.Up*collection.Up
}

// TestLoadedQueries: norms, exponents and scaled copies equal the CPU backend's. If the norm that
// determines an exponent is within its last bits of a power of two, either exponent is right, since
// the order of sums differs.
func TestLoadedQueries(t *testing.T) {
	onPreparer(t, func(b *preparer) {
		for _, dim := range []int{1, 16, 100, 257, 1536} {
			for k, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean, collection.Euclidean} {
				const m = 14
				var centre []float64
				if k == 3 {
					for i := range dim {
						centre = append(centre, float64(float32(math.Cos(float64(i)))))
					}
				}
				D := (dim + 31) &^ 31
				q, g := spreadRows(m, dim, uint64(dim)), make([]query, m)
				for j := range g {
					g[j].epsilon, g[j].floor, g[j].ceiling = .25, [...]float64{-3, math.Inf(-1)}[j%2], [...]float64{math.Inf(1), 7, -5, -5e-324, 15e-324, -15e-324}[j%6]
				}
				scaled, x, got := b.load(q, g, dim, D, metric, centre)
				for j := range got {
					name := fmt.Sprintf("dimension %d, %v, query %d", dim, metric, j)
					row, p := q[j*dim:(j+1)*dim], got[j]
					apart := make([]float64, dim)
					var squares float64
					for i, v := range row {
						apart[i] = float64(v)
						if centre != nil {
							apart[i] -= centre[i]
						}
						squares += apart[i] * apart[i]
					}
					size, scale := math.Sqrt(squares), 1.0
					if metric == collection.Cosine && size > 0 {
						scale = 1 / size
					}
					want := metric.Exponent(size * scale)
					if f, _ := math.Frexp(size * scale); int(p.exp) != want && (f > .5+1e-14 && f < 1-1e-14 || math.Abs(float64(int(p.exp)-want)) > 1) {
						t.Fatalf("%s: exponent %d of norm %g, want %d", name, p.exp, size*scale, want)
					}
					f, given, square := math.Ldexp(scale, -int(p.exp)), int(p.exp), 1.0
					if metric == collection.Cosine {
						square = canonical(dim, func(i int) float64 { return float64(row[i]) * float64(row[i]) })
						given = metric.Exponent(math.Sqrt(square))
						square = math.Ldexp(square, -2*given)
					}
					if p.square != square {
						t.Fatalf("%s: squared norm %g, want %g", name, p.square, square)
					}
					for i, v := range row {
						power := given
						if metric == collection.Euclidean {
							power = 0
						}
						if s, w := scaled[j*dim+i], math.Ldexp(float64(v), -power); s != w {
							t.Fatalf("%s: coordinate %d is %g scaled, want %g", name, i, s, w)
						}
						w := apart[i] * f
						if got := float64(x[j*D+i]); math.Abs(got-w) > 0x1.0001p-24*math.Abs(w)+math.SmallestNonzeroFloat32 {
							t.Fatalf("%s: coordinate %d is %g in float32 of %g", name, i, got, w)
						}
						if got, w := scaled[j*dim+i]*p.unit, float64(v)*f; math.Abs(got-w) > 1e-13*math.Abs(w) {
							t.Fatalf("%s: coordinate %d is %g by its unit, want %g", name, i, got, w)
						}
					}
					if slices.ContainsFunc(x[j*D+dim:(j+1)*D], func(v float32) bool { return v != 0 }) {
						t.Fatalf("%s: padded with other than zeros", name)
					}
					if n := length(x[j*D : (j+1)*D]); !roundedUp(p.norm, n) {
						t.Errorf("%s: norm %g, want %g rounded upward", name, p.norm, n)
					}
					if e, f, c := math.Ldexp(.25, -int(p.exp)), math.Ldexp(g[j].floor, -int(p.exp)), ceilingBelow(g[j].ceiling, int(p.exp)); p.epsilon != e || p.floor != f || p.ceiling != c {
						t.Errorf("%s: epsilon %g, floor %g, ceiling %g; want %g, %g, %g", name, p.epsilon, p.floor, p.ceiling, e, f, c)
					}
					by := looks.NewConversion(&collection.Collection{Dim: dim, Metric: metric}, size, int(p.exp))
					if math.Abs(p.lead-by.Lead) > 1e-12*by.Lead || p.give != by.Give {
						t.Errorf("%s: lead %g, give %g; want %+v", name, p.lead, p.give, by)
					}
					if want := p.scale().Threshold(p.floor); p.tau != want {
						t.Errorf("%s: threshold %g of floor %g, want %g", name, p.tau, p.floor, want)
					}
				}
			}
		}
	})
}

// ceilingBelow returns the greatest number that 2^exp scales to at most c.
func ceilingBelow(c float64, exp int) float64 {
	x := math.Ldexp(c, -exp)
	if math.Ldexp(x, exp) > c {
		x = math.Nextafter(x, math.Inf(-1))
	}
	return x
}

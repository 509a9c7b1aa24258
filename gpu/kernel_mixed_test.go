//go:build cuda && cgo

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/bandit"
	"thresher/collection"
	"thresher/gpu/device"
	"thresher/internal/vectors"
)

// mixedLook is a look at mixed codes. A test may set all fields that queries are coded by, those of the look too: codes of atoms do
// not matter to them.
type mixedLook struct {
	*looks.Mixed
	look *looks.Compiled
}

func newMixedLook(t *testing.T) *mixedLook {
	t.Helper()
	const n, dim = 300, 128
	c, err := collection.Build(t.Context(), vectors.PowerLaw(vectors.Rand(3), n, dim), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1, Head: 32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := looks.NewSet(c).Compile(t.Context(), backend.Look{Rep: backend.Mixed, Rule: backend.Student, To: 64, Alpha: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	m, err := l.Mix(t.Context(), c, c, 0, runtime.GOMAXPROCS(0))
	if err != nil || m == nil {
		t.Fatal(m, err)
	}
	return &mixedLook{m, l}
}

// mixing is the kernels' parameter, for heads of R coordinates.
func (x *mixedLook) mixing(R int) mixing {
	return mixing{limit: x.Limit, norms: x.Norms, slack: x.Slack, codeSlack: x.look.CodeSlack, rest: x.Rest, r: int32(R), to: int32(x.look.To), width: int32(x.Width)}
}

// draw sets what queries are coded by at random, of sizes that let each term determine steps.
func (x *mixedLook) draw(r *rand.Rand, width int) {
	power := func(least, most float64) float64 { return math.Pow(10, least+(most-least)*r.Float64()) }
	x.Width, x.Norms, x.Slack = width, power(-1, 1), power(-6, -3)
	x.look.Reach, x.look.Slack, x.look.CodeSlack = power(-5, 0), power(-6, -3), power(-6, -3)
	for k := range x.Limit { // at least what rounding to codes loses, and one
		x.Limit[k] = math.Sqrt(float64(width))/2*collection.Up + 1 + power(-1, 4)
	}
	x.Limit[looks.ByThreshold] = power(-3, 4) // small if steps of atoms are, so that some thresholds take an infinite step
}

// TestMixQueries: products equal those of package looks, except for the order of sums; coordinates that the look does not read are not
// read.
func TestMixQueries(t *testing.T) {
	x := newMixedLook(t)
	onKernels(t, func(b *preparer) {
		for _, s := range []struct{ R, To, width, m int }{
			{0, 64, 64, 8}, {16, 48, 64, 13}, {32, 30, 64, 1}, {16, 5, 64, 6}, {0, 91, 96, 9}, {32, 64, 96, 23}, {16, 100, 128, 7},
			{32, 96, 128, 16}, {0, 160, 160, 5}, {32, 101, 160, 17},
		} {
			name := fmt.Sprintf("%+v", s)
			r, K, D := rand.New(rand.NewPCG(uint64(s.width), uint64(s.R))), s.R+s.To, (s.To+63)&^31
			x.Width, x.Rest, x.look.To = s.width, .3+.3*r.Float64(), s.To
			x.Matrix = make([]float32, s.width*s.width)
			for i := range x.Matrix {
				x.Matrix[i] = float32(r.NormFloat64() / math.Sqrt(float64(s.width)))
			}
			head, rest := steepParts(s.m, s.R, D)
			for i := range rest {
				if i%D >= s.To {
					rest[i] = float32(math.NaN())
				}
			}
			dh, dr, dm, dz := to(b, head), to(b, rest), to(b, x.Matrix), to(b, slices.Repeat([]float32{float32(math.NaN())}, s.m*s.width))
			b.q.mixQueries(device.Shape{Grid: device.Dim{X: ceil(s.m, 8)}, Block: device.Dim{X: s.width}}, mixQueriesArgs{
				head: device.Ptr(dh), rest: device.Ptr(dr), matrix: device.Ptr(dm), z: device.Ptr(dz), m: s.m, D: D, mixing: x.mixing(s.R),
			})
			from(b, dh)
			from(b, dr)
			from(b, dm)
			z, want := from(b, dz), make([]float32, s.width)
			for j := range s.m {
				q := collection.Query{Head: head[j*s.R : (j+1)*s.R], Rest: rest[j*D : (j+1)*D]}
				x.MixQuery(want, &q)
				for i, w := range want {
					size := 0.
					for k := range K {
						v := float64(x.Matrix[k*s.width+i])
						if k < s.R {
							size += math.Abs(v * float64(q.Head[k]))
						} else {
							size += math.Abs(v * float64(q.Rest[k-s.R]) * x.Rest)
						}
					}
					// either sum of products, and the rounding of a coordinate of the rest that size leaves out
					most := 2*bandit.AccumulateError(K+1)*size + 2*float64(K)*math.SmallestNonzeroFloat32
					if got := z[j*s.width+i]; !(math.Abs(float64(got)-float64(w)) <= most) {
						t.Fatalf("%s, query %d: coordinate %d is %g, want %g within %g", name, j, i, got, w, most)
					}
				}
			}
		}
	}, "mixed")
}

// mixedQuery is a query to be coded.
type mixedQuery struct {
	collection.Query
	z   []float32
	tau float64
}

// drawMixedQueries draws queries with thresholds, norms and radii of all sizes, some of them zero.
func drawMixedQueries(r *rand.Rand, m, width int) []mixedQuery {
	_, z := steepParts(m, 0, width)
	qs := make([]mixedQuery, m)
	for j := range qs {
		q := &qs[j]
		q.z = z[j*width : (j+1)*width]
		size := length(q.z)
		q.HeadNorm, q.RestNorm = size*r.Float64(), size
		switch j % 5 {
		case 1: // nearly all of the query is beyond the look
			q.RestNorm = max(size, 1e-20) * math.Pow(10, 10*r.Float64())
		case 2:
			q.RestNorm = size * math.Pow(10, -20*r.Float64())
		case 3:
			q.RestNorm = 0
		}
		q.Norm = math.Hypot(q.HeadNorm, q.RestNorm)
		sign := float64(1 - 2*r.IntN(2))
		switch j % 7 {
		case 0:
			q.tau = sign * size * r.Float64()
		case 1:
			q.tau = sign * math.Pow(10, -60+100*r.Float64())
		case 2:
			q.tau = math.Inf(int(sign))
		case 3:
			q.tau = sign * []float64{1e300, math.MaxFloat64}[r.IntN(2)]
		case 4:
			q.tau = sign * 1e-310
		case 5:
			q.tau = sign * size * math.Pow(10, 4*r.Float64()-1)
		}
	}
	return qs
}

// codeQueries runs mixed_codes.
func (b *preparer) codeQueries(x *mixedLook, qs []mixedQuery, states []query) (codes []int8, after []query) {
	b.Helper()
	var z []float32
	for _, q := range qs {
		z = append(z, q.z...)
	}
	dz, dc, dq := to(b, z), to(b, slices.Repeat([]int8{-128}, len(qs)*(x.Width+backend.MixedTerms))), to(b, states)
	b.q.mixedCodes(warpEach(len(qs)), mixedCodesArgs{z: device.Ptr(dz), codes: device.Ptr(dc), queries: device.Ptr(dq), m: len(qs), mixing: x.mixing(0)})
	from(b, dz)
	return from(b, dc), from(b, dq)
}

// unrounded returns what a query's codes round, and the factors of the products, scaled as codes are, for the given step. Of the codes it
// reads those on which others depend.
func (x *mixedLook) unrounded(q *mixedQuery, step float64, codes []int8) (v []float64, factors [looks.MixedProducts]float64) {
	squares, errors := 0., 0.
	for k, z := range q.z {
		v = append(v, float64(z)/step)
		d := float64(z) - float64(codes[k])*step
		squares, errors = squares+float64(z)*float64(z), errors+d*d
	}
	f, norm := x.look.Factors(&q.Query, 0, 0), math.Sqrt(squares)*collection.Up
	lost := math.Sqrt(errors)*collection.Up + x.Slack*norm + 1e-30
	factors = [looks.MixedProducts]float64{looks.Least - q.tau, f.RadiusFactor, lost + (f.HN+f.XN+f.NN)*x.Norms, norm + lost}
	charge := .01
	for r, n := range looks.MixedRepeats {
		factors[r] *= looks.MaxCode8 / step / x.Limit[r]
		whole := float64(codes[len(v)])
		v = append(v, slices.Repeat([]float64{factors[r]}, n)...)
		v = append(v, 4*float64(n)*(factors[r]-whole), whole/4)
		charge += (looks.MaxCode8+math.Abs(whole))/8 + 2*float64(n) + .5 + float64(n)/4
	}
	return append(v, math.Ceil(charge/looks.ChargeUnit)), factors
}

// codesFault compares codes of a query with those of package looks. They are equal, unless a number is so close to the middle of two
// integers, by 1e-9, that rounding of float64 decides: the kernel adds squares in another order. Also then each code is that number, rounded.
func (x *mixedLook) codesFault(q *mixedQuery, got []int8, step float64) error {
	want := make([]int8, len(got))
	if s := x.EncodeQuery(want, q.z, &q.Query, q.tau); !(math.Abs(step-s) <= 1e-12*s) || !(step > 0) {
		return fmt.Errorf("step %g, want %g", step, s)
	}
	v, factors := x.unrounded(q, step, got)
	near := false
	for k, w := range v {
		if !(math.Abs(float64(got[k])-w) <= .5+1e-9) {
			return fmt.Errorf("code %d is %d of %g", k, got[k], w)
		}
		off := math.Abs(w - math.Floor(w) - .5)
		near = near || off > 0 && off < 1e-9
	}
	if !near && !slices.Equal(got, want) {
		return fmt.Errorf("codes differ:\n%d, want\n%d", got, want)
	}
	for r, f := range factors {
		if !(math.Abs(f) <= looks.MaxCode8) {
			return fmt.Errorf("factor %d is %g, scaled", r, f)
		}
	}
	return nil
}

// atomTerms codes an atom's factors, scaled to 0..127, as Mix does.
func atomTerms(factors [looks.MixedProducts]float64) (codes []int8) {
	for r, n := range looks.MixedRepeats {
		whole := math.RoundToEven(factors[r])
		codes = append(codes, slices.Repeat([]int8{int8(whole)}, n)...)
		codes = append(codes, int8(math.RoundToEven(whole/4)), int8(math.RoundToEven(4*float64(n)*(factors[r]-whole))))
	}
	return append(codes, looks.ChargeUnit)
}

// termsFault checks what the first look relies on: the codes of terms of the query and of any atom hold at least the sum of the products of
// their factors, and at most twice the charge more.
func (x *mixedLook) termsFault(r *rand.Rand, q *mixedQuery, codes []int8, step float64) error {
	_, factors := x.unrounded(q, step, codes)
	for range 24 {
		var atom [looks.MixedProducts]float64
		sum, exact := 0, 0.
		for k, n := range looks.MixedRepeats {
			atom[k] = looks.MaxCode8 * []float64{0, r.Float64(), r.Float64(), 1}[r.IntN(4)]
			exact += float64(n) * atom[k] * factors[k]
		}
		for k, code := range atomTerms(atom) {
			sum += int(code) * int(codes[x.Width+k])
		}
		charge := looks.ChargeUnit * int(codes[len(codes)-1])
		if over := float64(sum) - exact; !(over >= 0 && over <= 2*float64(charge)) {
			return fmt.Errorf("products of %g and %g are %g, coded as %d, charged %d", atom, factors, exact, sum, charge)
		}
	}
	return nil
}

// TestMixedCodes: codes and steps of queries are those of package looks; codes of terms hold what they must; queries without a threshold
// have no codes; nothing else of a query changes.
func TestMixedCodes(t *testing.T) {
	x := newMixedLook(t)
	onKernels(t, func(b *preparer) {
		r, infinite := rand.New(rand.NewPCG(70, 70)), 0
		for k, width := range []int{x.Width, 64, 96, 128, 160, 64, 160} {
			m := []int{77, 1, 107, 36, 211, 8, 105}[k]
			if k > 0 { // the first look is that of a collection
				x.draw(r, width)
			}
			qs, states := drawMixedQueries(r, m, width), make([]query, m)
			for j := range states {
				q, s := &qs[j], &states[j]
				f := x.look.Factors(&q.Query, 0, 0)
				s.tau, s.headNorm, s.restNorm, s.radiusFactor, s.nn = q.tau, q.HeadNorm, q.RestNorm, f.RadiusFactor, f.NN
				s.flags, s.norm, s.listed = r.Uint32N(2*flagMixed), r.Float64(), r.Uint32()
			}
			codes, after := b.codeQueries(x, qs, states)
			for j, s := range after {
				name, row := fmt.Sprintf("width %d, query %d, threshold %g", width, j, qs[j].tau), codes[j*(width+backend.MixedTerms):(j+1)*(width+backend.MixedTerms)]
				want := states[j]
				want.mixedStep, want.flags = s.mixedStep, want.flags|flagMixed
				if x.EncodeQuery(make([]int8, len(row)), qs[j].z, &qs[j].Query, qs[j].tau) == 0 {
					want.flags &^= flagMixed
					infinite += flag(!math.IsInf(qs[j].tau, 0))
				} else if err := x.codesFault(&qs[j], row, s.mixedStep); err != nil {
					t.Fatalf("%s: %v", name, err)
				} else if err := x.termsFault(r, &qs[j], row, s.mixedStep); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if s != want {
					t.Fatalf("%s: other fields changed, or flags %b are not %b", name, s.flags, want.flags)
				}
			}
		}
		if infinite == 0 {
			t.Error("no step is infinite by a finite threshold")
		}
	}, "mixed")
}

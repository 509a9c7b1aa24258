//go:build cuda && cgo

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/bandit"
	"thresher/collection"
	"thresher/gpu/device"
)

// encoded is what encode of cpu/revisit/codes.go makes of x: codes, the value of a step, and the norm of
// the errors.
func encoded(x []float32, limit int32) (code []int32, step, err float64) {
	var most float32
	for _, v := range x {
		most = max(most, float32(math.Abs(float64(v))))
	}
	code = make([]int32, len(x))
	if step = float64(most) / float64(limit); step < looks.LeastStep {
		return code, 0, length(x)
	}
	f, inverse := float32(step), float32(1/step)
	for i, v := range x {
		c := int32(math.RoundToEven(float64(v * inverse)))
		code[i] = min(max(c, -limit), limit)
		d := float64(v) - float64(f)*float64(code[i])
		err += d * d
	}
	return code, float64(f), math.Sqrt(err)
}

// steepParts returns heads and rests that are alternately Gaussian, steep, 1-hot and zero, and some
// with steps just above and below the least.
func steepParts(m, R, D int) (head, rest []float32) {
	r := rand.New(rand.NewPCG(uint64(R), uint64(D)))
	head, rest = make([]float32, m*R), make([]float32, m*D)
	fill := func(x []float32, kind int) {
		for i := range x {
			switch v := r.NormFloat64() / math.Sqrt(float64(D)); kind {
			case 0:
				x[i] = float32(v)
			case 1:
				x[i] = float32(v * math.Pow(10, -8*r.Float64()))
			case 4:
				x[i] = float32(v * 1e-27)
			case 5:
				x[i] = float32(v * 1e-38)
			}
		}
		if kind == 2 && len(x) > 0 {
			x[r.IntN(len(x))] = -.7
		}
	}
	for j := range m {
		fill(head[j*R:(j+1)*R], j%6)
		fill(rest[j*D:(j+1)*D], (j+j/6)%6)
	}
	return head, rest
}

// TestQueryCodes: codes and steps equal the CPU backend's, bit for bit; errors and norms are not
// below the true ones; the memory behind codes is zero.
func TestQueryCodes(t *testing.T) {
	onPreparer(t, func(b *preparer) {
		for _, s := range []struct{ R, D, width int }{
			{0, 16, 16}, {32, 100, 32}, {0, 256, 64}, {32, 288, 128}, {16, 768, 96}, {32, 768, 768}, {48, 4096, 192}, {0, 20000, 64},
		} {
			const m = 36
			head, rest := steepParts(m, s.R, s.D)
			given := make([]query, m)
			for j := range given {
				given[j].norm, given[j].exp = 1, int32(j)
			}
			c, got := b.codes(head, rest, given, s.R, s.D, s.width)
			S, P := len(c.bytes)/m, len(c.hi)/m
			for j := range m {
				name := fmt.Sprintf("head %d, rest %d, width %d, query %d", s.R, s.D, s.width, j)
				h, o, p := head[j*s.R:(j+1)*s.R], rest[j*s.D:(j+1)*s.D], got[j]
				if p.norm != 1 || p.exp != int32(j) {
					t.Fatalf("%s: other fields changed", name)
				}
				if !roundedUp(p.headNorm, length(h)) || !roundedUp(p.restNorm, length(o)) {
					t.Errorf("%s: norms %g and %g, want %g and %g rounded upward", name, p.headNorm, p.restNorm, length(h), length(o))
				}
				want := make([]int8, 0, S)
				for _, x := range []struct {
					x         []float32
					step, err float64
				}{{h, p.headStep8, p.headErr8}, {o[:s.width], p.restStep8, p.restErr8}} {
					code, step, err := encoded(x.x, looks.MaxCode8)
					for _, v := range code {
						want = append(want, int8(v))
					}
					if x.step != step || !roundedUp(x.err, err) {
						t.Errorf("%s: 8-bit step %g, error %g; want %g, %g", name, x.step, x.err, step, err)
					}
				}
				if row := c.bytes[j*S : (j+1)*S]; !slices.Equal(row, append(want, make([]int8, S-len(want))...)) {
					t.Fatalf("%s: 8-bit codes differ", name)
				}
				hi, lo := c.hi[j*P:(j+1)*P], c.lo[j*P:(j+1)*P]
				at := 0
				for _, x := range []struct {
					x         []float32
					step, err float64
				}{{h, p.headStep, p.headErr}, {o, p.restStep, p.restErr}} {
					code, step, err := encoded(x.x, looks.MaxCode16)
					for i, v := range code {
						if 256*int32(hi[at+i])+int32(lo[at+i]) != v {
							t.Fatalf("%s: 16-bit code %d is 256 %d + %d, want %d", name, at+i, hi[at+i], lo[at+i], v)
						}
					}
					at += len(code)
					if x.step != step || !roundedUp(x.err, err) {
						t.Errorf("%s: 16-bit step %g, error %g; want %g, %g", name, x.step, x.err, step, err)
					}
				}
				if slices.ContainsFunc(slices.Concat(hi[at:], lo[at:]), func(v int8) bool { return v != 0 }) {
					t.Errorf("%s: codes beyond the last coordinate", name)
				}
				var sum, off, lows float64
				for i, v := range o {
					sum += float64(hi[s.R+i])
					d := float64(v) - 256*p.restStep*float64(hi[s.R+i])
					off += d * d
					lows += float64(lo[s.R+i]) * float64(lo[s.R+i])
				}
				if p.highSum != sum || p.highErr < math.Sqrt(off)*minUp || !roundedUp(p.highErr, (p.restErr+p.restStep*math.Sqrt(lows))) {
					t.Errorf("%s: high halves sum to %g, want %g; their error is %g, true %g", name, p.highSum, sum, p.highErr, math.Sqrt(off))
				}
			}
		}
	})
}

// Either set of codes requested alone equals that of both, and leaves the fields of the other.
func TestQueryCodesOfOneKind(t *testing.T) {
	onPreparer(t, func(b *preparer) {
		const m, R, D, width, S, P = 3, 32, 300, 64, 96, 384
		head, rest := steepParts(m, R, D)
		c, both := b.codes(head, rest, make([]query, m), R, D, width)
		for _, kind := range []string{"bytes", "words"} {
			dh, dr, dg := to(b, head), to(b, rest), to(b, make([]query, m))
			d8, hi, lo := room[int8](b, m*S), room[int8](b, m*P), room[int8](b, m*P)
			args := queryCodesArgs{
				head: device.Ptr(dh), rest: device.Ptr(dr), codes8: device.Ptr(d8), hi: device.Pointer[int8]{}, lo: device.Pointer[int8]{},
				queries: device.Ptr(dg), m: m, R: R, D: D, To: width, S: S, P: P,
			}
			if kind == "words" {
				args.codes8, args.hi, args.lo = device.Pointer[int8]{}, device.Ptr(hi), device.Ptr(lo)
			}
			b.q.queryCodes(device.Shape{Grid: device.Dim{X: m}, Block: device.Dim{X: 64}}, args)
			bytes, high, low := from(b, d8), from(b, hi), from(b, lo)
			for j, p := range from(b, dg) {
				want := both[j]
				if kind == "bytes" {
					want.headStep, want.restStep, want.headErr, want.restErr, want.highErr, want.highSum = 0, 0, 0, 0, 0, 0
				} else {
					want.headStep8, want.restStep8, want.headErr8, want.restErr8 = 0, 0, 0, 0
				}
				// another number of threads adds in another order
				for _, f := range []struct{ got, want *float64 }{
					{&p.headNorm, &want.headNorm}, {&p.restNorm, &want.restNorm}, {&p.headErr8, &want.headErr8}, {&p.restErr8, &want.restErr8},
					{&p.headErr, &want.headErr}, {&p.restErr, &want.restErr}, {&p.highErr, &want.highErr},
				} {
					if math.Abs(*f.got-*f.want) > 1e-13**f.want {
						t.Errorf("%s alone, query %d: %g, with both %g", kind, j, *f.got, *f.want)
					}
					*f.got = *f.want
				}
				if p != want {
					t.Errorf("%s alone, query %d: %+v, with both %+v", kind, j, p, want)
				}
			}
			if kind == "bytes" && !slices.Equal(bytes, c.bytes) || kind == "words" && (!slices.Equal(high, c.hi) || !slices.Equal(low, c.lo)) {
				t.Errorf("%s alone differ", kind)
			}
			from(b, dh)
			from(b, dr)
		}
	})
}

// factors are the factors of a look in a query's state.
func (s *query) factors() looks.Factors {
	return looks.Factors{RadiusFactor: s.radiusFactor, HN: s.hn, HE: s.he, XN: s.xn, NN: s.nn, WE: s.we, OffsetFactor: s.offsetFactor}
}

// TestLookFactors: factors equal those of package looks, except for sums of squares in another
// order; Cauchy's norms are not below the true ones.
func TestLookFactors(t *testing.T) {
	onPreparer(t, func(b *preparer) {
		const m, R, D, width, alpha = 19, 32, 768, 96, 1e-4
		look := looks.Compiled{Look: backend.Look{To: width}, Reach: bandit.Reach(alpha, bandit.Kappa(D), D),
			Slack: bandit.Slack(700, D, R, 2, 1e-6), CodeSlack: bandit.CodeSlack(D, 2)}
		head, rest := steepParts(m, R, D)
		given := make([]query, m)
		for j := range given {
			given[j].norm, given[j].exp, given[j].tau = 1+float64(j), int32(5*j-40), math.Inf(-1)
		}
		_, given = b.codes(head, rest, given, R, D, width)
		for look.Kind = looks.Whole; look.Kind <= looks.Cauchy; look.Kind++ {
			for look.QueryCodes = looks.Codes8; look.QueryCodes <= looks.CodesHigh; look.QueryCodes++ {
				for j, got := range b.factors(given, rest, D, &look) {
					p, o := given[j], rest[j*D:(j+1)*D]
					headErr, restErr := p.headErr, p.restErr
					switch look.QueryCodes {
					case looks.Codes8:
						headErr, restErr = p.headErr8, p.restErr8
					case looks.CodesHigh:
						restErr = p.highErr
					}
					name := fmt.Sprintf("kind %d, codes %d, query %d", look.Kind, look.QueryCodes, j)
					want := look.Factors(&collection.Query{Exp: int(p.exp), Norm: p.norm, HeadNorm: p.headNorm, Rest: o, RestNorm: p.restNorm}, headErr, restErr)
					if diff := cmp.Diff(want, got.factors(), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
						t.Errorf("%s: looks (-) and the kernel (+) differ:\n%s", name, diff)
					}
					if look.Kind == looks.Cauchy && (got.we < length(o[:width]) || got.radiusFactor < length(o[width:])) {
						t.Errorf("%s: Cauchy's norms %g and %g are below the true ones", name, got.we, got.radiusFactor)
					}
					got.radiusFactor, got.we, got.hn, got.he, got.xn, got.nn, got.offsetFactor = 0, 0, 0, 0, 0, 0, 0
					if got != p {
						t.Errorf("%s: other fields changed", name)
					}
				}
			}
		}
	})
}

package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// scanCase holds the inputs of a Scan.
type scanCase struct {
	head, width, stride int
	panel               []uint8
	codes               []int8
	queries             []ScanQuery
	terms               PanelTerms
}

// newScanCase draws codes that are small, extreme, or such that every product has the
// same sign and the greatest magnitude.
func newScanCase(r *rand.Rand, head, width, gap, n int, offset bool) *scanCase {
	all := head + width
	c := &scanCase{head: head, width: width, stride: all + gap, panel: make([]uint8, PanelLanes*all), queries: make([]ScanQuery, n)}
	c.codes = make([]int8, max(0, (n-1)*c.stride+all))
	kind := r.IntN(3)
	code := func(sign int) int {
		switch {
		case kind == 0:
			return r.IntN(255) - 127
		case kind == 1:
			return 127 * (r.IntN(3) - 1)
		}
		return 127 * sign
	}
	sign := 1 - 2*r.IntN(2)
	for i := range c.panel {
		c.panel[i] = uint8(Bias + code(sign))
	}
	for i := range c.codes {
		c.codes[i] = int8(code(1 - 2*r.IntN(2)*(i/4%2)))
	}
	term := func() *[PanelLanes]float32 {
		x := new([PanelLanes]float32)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	c.terms = PanelTerms{Head: term(), Rest: term(), Radius: term()}
	if offset {
		c.terms.Offset = term()
	}
	for q := range c.queries {
		f := func() float32 { return float32(r.NormFloat64()) }
		c.queries[q] = ScanQuery{Head: f(), Rest: f(), Radius: 1000 * f(), Offset: 1000 * f(), Cut: 1000 * f()}
		for k, v := range c.codes[q*c.stride:][:all] {
			if k < head {
				c.queries[q].HeadBias += Bias * int32(v)
			} else {
				c.queries[q].RestBias += Bias * int32(v)
			}
		}
	}
	return c
}

// run scans queries from to to and checks the guards around the results.
func (c *scanCase) run(t *testing.T, kern Kernels, from, to int) ([]uint64, []float32) {
	t.Helper()
	n := to - from
	values, intact := fencedFloats(make([]float32, PanelLanes*n))
	for i := range values {
		values[i] = nan32
	}
	masks, intactMasks := fenced(n, uint64(0xa5a5a5a5a5a5a5a5), equal[uint64])
	codes := c.codes
	if n > 0 {
		codes = codes[from*c.stride:][:(n-1)*c.stride+c.head+c.width]
	}
	var w ScanScratch
	kern.Scan(&w, c.panel, c.head, c.width, codes, c.stride, c.queries[from:to], &c.terms, masks, values)
	if !intact() || !intactMasks() {
		t.Fatalf("%v, %d+%d codes, %d queries: wrote beyond", kern, c.head, c.width, n)
	}
	return masks, values
}

// products returns the exact products of lane i and query q.
func (c *scanCase) products(i, q int) (dh, dr int) {
	for k, v := range c.codes[q*c.stride:][:c.head+c.width] {
		p := (int(c.panel[k/4*quadBytes+i*4+k%4]) - Bias) * int(v)
		if k < c.head {
			dh += p
		} else {
			dr += p
		}
	}
	return dh, dr
}

const quadBytes = 4 * PanelLanes

// fused returns a b + c rounded once: the float64 sum is rounded to odd, so the second
// rounding gives what a single one would.
func fused(a, b, c float32) float32 {
	p, d := float64(a)*float64(b), float64(c) // the product is exact
	sum := p + d
	t := sum - p
	if rest := (p - (sum - t)) + (d - t); rest != 0 && math.Float64bits(sum)&1 == 0 {
		sum = math.Nextafter(sum, math.Inf(int(math.Copysign(1, rest))))
	}
	return float32(sum)
}

// assembled returns lane i's value for query q in the order of operations of all assembly.
func (c *scanCase) assembled(i, q, dh, dr int) float32 {
	s := &c.queries[q]
	v := fused(c.terms.Rest[i], s.Rest*float32(dr), c.terms.Head[i]*(s.Head*float32(dh)))
	v = fused(c.terms.Radius[i], s.Radius, v)
	if c.terms.Offset != nil {
		v = fused(c.terms.Offset[i], s.Offset, v)
	}
	return v
}

// check compares masks and values with the definition.
func (c *scanCase) check(t *testing.T, kern Kernels, masks []uint64, values []float32) {
	t.Helper()
	for q := range c.queries {
		s := &c.queries[q]
		for i := range PanelLanes {
			dh, dr := c.products(i, q)
			terms := []float64{
				float64(c.terms.Head[i]) * float64(s.Head) * float64(dh),
				float64(c.terms.Rest[i]) * float64(s.Rest) * float64(dr),
				float64(c.terms.Radius[i]) * float64(s.Radius),
			}
			if c.terms.Offset != nil {
				terms = append(terms, float64(c.terms.Offset[i])*float64(s.Offset))
			}
			var want, size float64
			for _, v := range terms {
				want, size = want+v, size+math.Abs(v)
			}
			got := values[PanelLanes*q+i]
			if !(math.Abs(float64(got)-want) <= 8*size/(1<<24)) {
				t.Fatalf("%v, %d+%d codes, %d queries: lane %d of query %d is %g, want %g", kern, c.head, c.width, len(c.queries), i, q, got, want)
			}
			if bits := c.assembled(i, q, dh, dr); kern != Generic && !sameBits32(got, bits) {
				t.Fatalf("%v, %d+%d codes, %d queries: lane %d of query %d is %g, want %g to the bit",
					kern, c.head, c.width, len(c.queries), i, q, got, bits)
			}
			if passed := masks[q]>>i&1 != 0; passed != (got >= s.Cut) {
				t.Fatalf("%v, %d+%d codes, %d queries: lane %d of query %d, %g against %g: passed %v",
					kern, c.head, c.width, len(c.queries), i, q, got, s.Cut, passed)
			}
		}
	}
}

// TestScan compares all Kernels with the definition, assembly bit for bit with its common
// order of operations, and calls for some queries with the call for all.
func TestScan(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	counts := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 31, 70}
	for _, head := range []int{0, 4, 32, 64} {
		for _, width := range []int{0, 4, 8, 12, 16, 20, 60, 64, 68, 100, 128, 300} {
			for k, n := range counts {
				c := newScanCase(r, head, width, 4*(k%3), n, k%2 == 0)
				for _, kern := range Available() {
					masks, values := c.run(t, kern, 0, n)
					c.check(t, kern, masks, values)
					for from, to := 0, 0; from < n; from = to {
						to = min(n, from+1+r.IntN(10))
						some, part := c.run(t, kern, from, to)
						sameFloats(t, fmt.Sprintf("%v, queries %d to %d of %d", kern, from, to, n), part, values[PanelLanes*from:PanelLanes*to])
						for j, m := range some {
							if m != masks[from+j] {
								t.Fatalf("%v: query %d passes %x among %d, %x among %d", kern, from+j, m, to-from, masks[from+j], n)
							}
						}
					}
				}
			}
		}
	}
}

// TestScanExact asserts exact products for any signs, up to the greatest possible sums.
func TestScanExact(t *testing.T) {
	const long = MaxScan
	r := rand.New(rand.NewPCG(13, 14))
	for _, s := range []struct{ head, width, n int }{{0, 768, 70}, {64, 128, 9}, {100, 1020, 5}, {long, long, 1}, {long, long, 9}} {
		for kind := range 5 {
			if s.head == long && (kind == 0 || testing.Short()) {
				continue // too long a sum for products
			}
			all := s.head + s.width
			c := newScanCase(r, s.head, s.width, 0, s.n, false)
			if kind > 0 {
				atom, query := 127*(1-2*(kind&1)), 127*(1-(kind&2))
				for i := range c.panel {
					c.panel[i] = uint8(Bias + atom)
				}
				for i := range c.codes {
					c.codes[i] = int8(query)
				}
				for q := range c.queries {
					c.queries[q].HeadBias, c.queries[q].RestBias = int32(Bias*query*s.head), int32(Bias*query*s.width)
				}
			}
			for part := range 2 {
				*c.terms.Head, *c.terms.Rest, *c.terms.Radius = [PanelLanes]float32{}, [PanelLanes]float32{}, [PanelLanes]float32{}
				for i := range PanelLanes {
					c.terms.Head[i], c.terms.Rest[i] = float32(1-part), float32(part)
				}
				for q := range c.queries {
					c.queries[q].Head, c.queries[q].Rest = 1, 1
				}
				for _, kern := range Available() {
					_, values := c.run(t, kern, 0, s.n)
					for k, got := range values {
						var dots [2]int
						if kind > 0 {
							one := int(c.codes[0]) * (int(c.panel[0]) - Bias)
							dots = [2]int{one * s.head, one * s.width}
						} else {
							dots[0], dots[1] = c.products(k%PanelLanes, k/PanelLanes)
						}
						if got != float32(dots[part]) {
							t.Fatalf("%v, kind %d, %d codes, part %d, lane %d of query %d: %g, want %d",
								kern, kind, all, part, k%PanelLanes, k/PanelLanes, got, dots[part])
						}
					}
				}
			}
		}
	}
}

// TestScanCut asserts that equal passes, NaN does not, and infinities compare as usual.
func TestScanCut(t *testing.T) {
	inf := float32(math.Inf(1))
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, inf, -inf, nan32}
	c := newScanCase(rand.New(rand.NewPCG(15, 16)), 0, 4, 0, len(special), false)
	for i := range PanelLanes {
		c.terms.Head[i], c.terms.Rest[i], c.terms.Radius[i] = 0, 0, special[i%len(special)]
	}
	for q, v := range special {
		c.queries[q] = ScanQuery{Radius: 1, Cut: v}
	}
	for _, kern := range Available() {
		for _, to := range []int{len(special), 1} {
			masks, values := c.run(t, kern, 0, to)
			for q, mask := range masks {
				for i := range PanelLanes {
					v := special[i%len(special)]
					if got := values[PanelLanes*q+i]; got != v && v == v || mask>>i&1 != 0 != (v >= special[q]) {
						t.Fatalf("%v: %g at cut %g has the value %g, mask %x", kern, v, special[q], got, mask)
					}
				}
			}
		}
	}
}

// TestScanScratch reuses one scratch for panels of all sizes and all Kernels, in any order.
func TestScanScratch(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 21))
	const n = 17
	var w ScanScratch
	masks, values := make([]uint64, n), make([]float32, n*PanelLanes)
	for _, kern := range slices.Backward(Available()) {
		for _, width := range []int{128, 16, 512, 40} {
			c := newScanCase(r, 32, width, 0, n, true)
			kern.Scan(&w, c.panel, c.head, c.width, c.codes, c.stride, c.queries, &c.terms, masks, values)
			c.check(t, kern, masks, values)
		}
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	c := newScanCase(rand.New(rand.NewPCG(17, 18)), 32, 64, 0, 9, true)
	var w ScanScratch
	masks, values := make([]uint64, 9), make([]float32, 9*PanelLanes)
	ids, sums := make([]uint32, PanelLanes), make([]RowSums8, PanelLanes)
	for _, kern := range Available() {
		if n := testing.AllocsPerRun(10, func() {
			kern.Scan(&w, c.panel, c.head, c.width, c.codes, c.stride, c.queries, &c.terms, masks, values)
			kern.Transpose(c.panel, c.panel, 96, 64, 96)
			kern.Test(sums, &c.terms, &c.queries[0], values)
			kern.Test(sums[:9], &c.terms, &c.queries[0], values)
			kern.Select(ids, values, ids, values, 0, 1)
		}); n != 0 {
			t.Errorf("%v: %g allocations", kern, n)
		}
	}
}

// FuzzScan compares Kernels where they must agree, on codes and shapes from the input.
func FuzzScan(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint8(1), uint8(1), []byte{1})
	f.Add(uint64(2), uint8(8), uint8(16), uint8(9), []byte{0, 255, 128, 1})
	f.Add(uint64(3), uint8(16), uint8(25), uint8(64), []byte{255})
	f.Add(uint64(4), uint8(1), uint8(0), uint8(7), []byte{127, 129, 3})
	f.Fuzz(func(t *testing.T, seed uint64, head, width, n uint8, bytes []byte) {
		if len(bytes) == 0 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 19))
		c := newScanCase(r, 4*int(head%32), 4*int(width%64), 0, int(n%80), seed%2 == 0)
		for i := range c.panel {
			c.panel[i] = max(1, bytes[i%len(bytes)])
		}
		for q := range c.queries {
			s := &c.queries[q]
			s.HeadBias, s.RestBias = 0, 0
			for k := range c.stride {
				v := int8(max(1, bytes[(q*c.stride+k+1)%len(bytes)]) - Bias)
				c.codes[q*c.stride+k] = v
				if k < c.head {
					s.HeadBias += Bias * int32(v)
				} else {
					s.RestBias += Bias * int32(v)
				}
			}
		}
		for _, kern := range Available() {
			masks, values := c.run(t, kern, 0, len(c.queries))
			c.check(t, kern, masks, values)
			c.checkSums(t, kern, int(seed%(PanelLanes+1)), int(n%3))
			for q, mask := range masks {
				v := (*[PanelLanes]float32)(values[PanelLanes*q:])
				checkLists(t, kern, mask, v, uint32(seed), v[0], c.queries[q].Cut)
			}
		}
		rows := int(n) % (PanelLanes + 1)
		checkTranspose(t, rows, c.head+c.width, c.head+c.width+int(seed%5), bytes)
	})
}

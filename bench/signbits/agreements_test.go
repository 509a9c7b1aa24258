package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"thresher/collection"
	"thresher/internal/vectors"
	"thresher/simd"
)

// agreementCase has random panels, queries and terms of a look by agreements or, with width 0 signs, of one at codes.
type agreementCase struct {
	panels       []uint8
	codes        []int8
	stride       int
	queries      []simd.ScanQuery
	terms        simd.PanelTerms
	masks        []uint64
	values       []float32
	scratch      simd.ScanScratch
	head, width  int
	size, panelN int
}

func newAgreementCase(r *rand.Rand, head, width, perCode, panels, queries int) *agreementCase {
	c := &agreementCase{head: head, width: width, stride: head + width/perCode, queries: make([]simd.ScanQuery, queries),
		masks: make([]uint64, queries), values: make([]float32, simd.PanelLanes*queries), panelN: panels}
	c.size = simd.PanelLanes * c.stride
	c.panels, c.codes = make([]uint8, panels*c.size), make([]int8, queries*c.stride)
	for i := 0; i < len(c.panels); i += 8 {
		binary.LittleEndian.PutUint64(c.panels[i:], r.Uint64())
	}
	for i := range c.codes {
		c.codes[i] = int8(r.IntN(255) - 127)
	}
	term := func() *[simd.PanelLanes]float32 {
		x := new([simd.PanelLanes]float32)
		for i := range x {
			x[i] = r.Float32()
		}
		return x
	}
	c.terms = simd.PanelTerms{Head: term(), Rest: term(), Radius: term()}
	for j := range c.queries {
		q := &c.queries[j]
		*q = simd.ScanQuery{Head: r.Float32(), Rest: 100 * r.Float32(), Radius: r.Float32(), Cut: 5000}
		for k, v := range c.codes[j*c.stride:][:c.stride] {
			if k < head {
				q.HeadBias += simd.Bias * int32(v)
			} else {
				q.RestBias += simd.Bias * int32(v)
			}
		}
	}
	return c
}

func (c *agreementCase) panel(p int) []uint8 { return c.panels[p*c.size : (p+1)*c.size] }

// agree tests all panels by agreements.
func (c *agreementCase) agree() {
	for p := range c.panelN {
		ahead := c.size
		if p == c.panelN-1 {
			ahead = 0
		}
		agreeAVX512(&c.panel(p)[0], ahead, c.head, c.width, &c.codes[0], c.stride, &c.queries[0], len(c.queries)/4, &c.terms.Head[0], &c.terms.Rest[0],
			&c.masks[0], &c.values[0])
	}
}

// scan tests all panels by products of codes, as the look that is built does.
func (c *agreementCase) scan() {
	for p := range c.panelN {
		kernels.Scan(&c.scratch, c.panels[p*c.size:(p+1)*c.size:(p+1)*c.size], c.head, c.width, c.codes, c.stride, c.queries, &c.terms, c.masks, c.values)
	}
}

// TestAgree: the kernel has the values and masks of the portable one but for a rounding that it saves.
func TestAgree(t *testing.T) {
	if !canAgree() {
		t.Skip("this processor has no VPOPCNTDQ")
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, width := range []int{32, 128, 768} {
		c := newAgreementCase(r, 32, width, 8, 1, 8)
		values, masks := make([]float32, len(c.values)), make([]uint64, len(c.masks))
		agreePortable(c.panel(0), c.head, c.width, c.codes, c.stride, c.queries, c.terms.Head[:], c.terms.Rest[:], values, masks)
		c.agree()
		for i, v := range values {
			if off := math.Abs(float64(v - c.values[i])); off > 1e-5*(math.Abs(float64(v))+float64(width)*100) {
				t.Fatalf("%d signs: value %d is %g, portable %g", width, i, c.values[i], v)
			}
			if got, want := c.masks[i/64]>>(i%64)&1 == 1, c.values[i] >= c.queries[i/64].Cut; got != want {
				t.Fatalf("%d signs: bit %d is %v of value %g", width, i, got, c.values[i])
			}
		}
		if ones := slices.ContainsFunc(c.masks, func(m uint64) bool { return m != 0 }); !ones {
			t.Errorf("%d signs: no value reaches the cut", width)
		}
	}
}

// TestAgreementBounds: the law's bound rises with the agreements, and pairs of a known cosine have a lower one no more
// often than with probability alpha: 4,000 pairs fail 56 times with a probability below 1e-6 where alpha is .0068.
func TestAgreementBounds(t *testing.T) {
	const dim, width, pairs, alpha = 96, 96, 4000, .0068
	bounds := agreementBounds(width, alpha)
	if !slices.IsSorted(bounds) || bounds[width] != 1 || bounds[0] > -.5 {
		t.Fatalf("bounds from %g to %g", bounds[0], bounds[width])
	}
	if line := lineAbove(bounds, .5); !slices.ContainsFunc(line, func(v float64) bool { return v < -.6 }) || line[60]-bounds[60] > .05 {
		t.Fatalf("a line from %g, at 60 of %d %g, where the bound is %g", line[0], width, line[60], bounds[60])
	} else {
		for a, v := range line {
			if v < bounds[a]-1e-12 {
				t.Fatalf("the line is %g at %d, the bound %g", v, a, bounds[a])
			}
		}
	}
	r := vectors.Rand(9)
	for _, cosine := range []float64{-.4, .1, .6, .95} {
		failed, sum := 0, 0.
		for range pairs {
			// A Haar pair: two directions of a Gaussian plane.
			x, y := make([]float64, dim), make([]float64, dim)
			var xx, xy, yy float64
			for i := range x {
				x[i], y[i] = r.NormFloat64(), r.NormFloat64()
				xx, xy = xx+x[i]*x[i], xy+x[i]*y[i]
			}
			for i := range y {
				y[i] -= xy / xx * x[i]
				yy += y[i] * y[i]
			}
			agree := 0
			for i := range width {
				if x[i]/math.Sqrt(xx)*cosine+y[i]/math.Sqrt(yy)*math.Sqrt(1-cosine*cosine) >= 0 == (x[i] >= 0) {
					agree++
				}
			}
			if bounds[agree] < cosine {
				failed++
			}
			sum += bounds[agree] - cosine
		}
		if failed >= 56 || sum <= 0 {
			t.Errorf("cosine %g: %d of %d bounds are below it, on average %g above", cosine, failed, pairs, sum/pairs)
		}
	}
}

// TestAgreementsBoundScores: of 96,000 pairs, whose bounds fail with a probability of at most .1 each, about 92 have a score above
// its bound, because most of a bound here is the rounding of the heads, and not none: the bounds are no wider than that.
func TestAgreementsBoundScores(t *testing.T) {
	w, l := testLook(t, collection.InnerProduct)
	s := newAgreements(w, l, agreementBounds(64, .1))
	bounds := make([]float64, testAtoms*queryCount)
	s.scan(0, testAtoms, slices.Repeat([]float64{math.Inf(-1)}, queryCount), func(at, j int, bound float64) { bounds[at*queryCount+j] = bound })
	scores := make([]float64, testAtoms)
	failed := 0
	for j := range queryCount {
		w.c.Scores(scores, w.vector(j), w.c.Order)
		for i, v := range scores {
			v = math.Ldexp(v, -w.queries[j].Exp)
			if bounds[i*queryCount+j] < v {
				failed++
			}
		}
	}
	if pairs := testAtoms * queryCount; failed > pairs/800 || failed < pairs/10000 {
		t.Errorf("%d of %d scores are above their bounds", failed, pairs)
	}
}

// BenchmarkAgreements times a first look's tests of all pairs by products of codes and by agreements of signs in turns:
// 32 codes of the head
// and so many codes or signs, by atoms/queries. A figure is the least time of a pair.
func BenchmarkAgreements(b *testing.B) {
	if !canAgree() {
		b.Skip("this processor has no VPOPCNTDQ")
	}
	const head = 32
	r := rand.New(rand.NewPCG(7, 8))
	for _, atoms := range []int{8 << 10, 100_032, 400_000} { // 96 codes each take .8, 9.6 and 38 MB
		for _, queries := range []int{16, 64, 256} {
			b.Run(fmt.Sprintf("%d/%d", atoms, queries), func(b *testing.B) {
				type way struct {
					name  string
					run   func()
					least time.Duration
				}
				var ways []*way
				panels := atoms / simd.PanelLanes
				for _, width := range []int{32, 64, 96, 128} {
					c := newAgreementCase(r, head, width, 1, panels, queries)
					ways = append(ways, &way{fmt.Sprintf("codes%d", width), c.scan, math.MaxInt64})
				}
				for _, width := range []int{128, 192, 256, 384, 768} {
					c := newAgreementCase(r, head, width, 8, panels, queries)
					ways = append(ways, &way{fmt.Sprintf("signs%d", width), c.agree, math.MaxInt64})
				}
				for b.Loop() {
					for _, x := range ways {
						begun := time.Now()
						x.run()
						x.least = min(x.least, time.Since(begun))
					}
				}
				b.ReportMetric(0, "ns/op")
				for _, x := range ways {
					b.ReportMetric(float64(x.least.Nanoseconds())/float64(panels*simd.PanelLanes*queries), x.name+"-ns/pair")
				}
			})
		}
	}
}

package cpu

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"thresher/backend/looks"
	"thresher/bandit"
	"thresher/collection"
)

// dotError says by what the error of a query's float32 products with rows is bounded.
type dotError uint8

const (
	// byNorms: by a share of the norms' product.
	byNorms dotError = iota
	// byProduct: by a share of the product itself, because no term of a sum is negative and none
	// underflows. A product of 0 is exact.
	byProduct
	// noError: every partial sum is a multiple of one power of two, and at most mostExact times it, so float32
	// holds it. Division by a row's norm has an error, but not so large that the product cannot be told from it.
	noError
)

const (
	// The traits of rows are read once scans were asked for so many queries, of whose time
	// reading them takes less than a tenth, or once a scan has scored more rows than 1 in manyScored of all
	// beyond those that are wanted; in collections of at least leastRead rows.
	readAfter, manyScored, leastRead = 256, 16, 512
	// leastCoordinate and leastScaled are the least positive coordinates of rows and of scaled queries with which no
	// product underflows. The norms of rows are at most 1/leastCoordinate.
	leastCoordinate, leastScaled = 0x1p-30, 0x1p-60
	// mostExact is the greatest multiple of a number up to which float32 holds all, and mostDivided that up to which they
	// can be told from rounded quotients of them, which differ by up to two roundings, or a quarter.
	mostExact, mostDivided = 0x1p24, 0x1p21
	// dividedShare bounds the error of a quotient as a share of it: roundings of the norm's inverse and of the product
	// with it, and those of a threshold, which are in float64.
	dividedShare = 4 * bandit.Unit
	// leastGrain is the least grain of rows.
	leastGrain = 0x1p-12
	// readSample is how many coordinates are read before all others.
	readSample = 1024
)

// traits are what the coordinates of all rows have in common.
type traits struct {
	nonNegative bool    // each is 0 or at least leastCoordinate
	grain       float64 // a power of two that each is a multiple of, at most 1; 0 if there is none
	longest     float64 // the greatest norm of a row as given, rounded upward
	// offset is, with a grain and for squared differences, -|v|^2/2 of each row as given, by number. It is
	// exact for the rows of a query without errors.
	offset []float32
}

// readTraits are the traits of a resident's rows, once they are read.
type readTraits struct {
	asked  atomic.Int64 // queries of scans
	wanted atomic.Bool  // a scan has scored many rows
	mu     sync.Mutex   // of reading them
	read   atomic.Pointer[traits]
}

// traits returns the traits of the rows, for a scan for m queries; nil if they are not known or not worth
// knowing yet, or if ctx ends.
func (r *resident) traits(ctx context.Context, m int) *traits {
	all := &r.rowTraits
	if r.c.N < leastRead || all.asked.Add(int64(m)) < readAfter && !all.wanted.Load() {
		return nil
	}
	if c := all.read.Load(); c != nil || !all.mu.TryLock() { // another search reads them
		return c
	}
	defer all.mu.Unlock()
	if c := all.read.Load(); c != nil {
		return c
	}
	c, err := r.readTraits(ctx)
	if err != nil {
		return nil
	}
	all.read.Store(c)
	return c
}

// readTraits reads the rows, unless a sample shows that they have nothing in common.
func (r *resident) readTraits(ctx context.Context) (*traits, error) {
	rows, dim := r.c.Rows, r.c.Dim
	c := sampleTraits(rows)
	if r.c.Metric.Differences() { // a difference may be small where the product is large
		c.nonNegative = false
	}
	if !c.nonNegative && c.grain == 0 {
		return c, nil
	}
	if c.grain > 0 && r.c.Metric.Differences() {
		c.offset = make([]float32, r.c.N)
	}
	chunk := max(1, 1<<16/dim)
	longest := make([]float64, (r.c.N+chunk-1)/chunk) // squared
	var negative, uneven atomic.Bool
	err := r.each(ctx, len(longest), func(_ *scratch, p int) error {
		if negative.Load() && uneven.Load() {
			return nil
		}
		lo, hi := p*chunk, min((p+1)*chunk, r.c.N)
		nonNegative, even := inCommon(rows[lo*dim:hi*dim], float32(c.grain))
		if !nonNegative {
			negative.Store(true)
		}
		if !even {
			uneven.Store(true)
		}
		for i := lo; i < hi; i++ {
			squares := r.kernels.SumSquares(r.c.Row(i))
			longest[p] = max(longest[p], squares)
			if c.offset != nil {
				c.offset[i] = -float32(squares / 2)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, l := range longest {
		c.longest = max(c.longest, math.Sqrt(l)*collection.Up)
	}
	c.nonNegative = c.nonNegative && !negative.Load() && c.longest <= 1/leastCoordinate
	// inCommon compares numbers below 2^22 times the grain.
	if uneven.Load() || c.longest >= 0x1p22*c.grain {
		c.grain, c.offset = 0, nil
	}
	return c, nil
}

// sampleTraits returns the traits of some values at equal distances, but for the norms.
func sampleTraits(values []float32) *traits {
	c := &traits{nonNegative: true, grain: 1}
	for i := 0; i < len(values); i += max(1, len(values)/readSample) {
		v := float64(values[i])
		c.nonNegative = c.nonNegative && (v == 0 || v >= leastCoordinate)
		for c.grain >= leastGrain && math.Trunc(v/c.grain) != v/c.grain {
			c.grain /= 2
		}
	}
	if c.grain < leastGrain {
		c.grain = 0
	}
	return c
}

// inCommon reports whether each value is 0 or at least leastCoordinate, and whether each is a multiple of grain,
// a power of two, which is certain for magnitudes below 2^22 grain. grain 0 is none.
func inCommon(values []float32, grain float32) (nonNegative, even bool) {
	var signs, odd uint32
	least := uint32(math.MaxUint32) // of the bits of values less 1, which are the greatest for 0
	// Neighbours of the sum of round and a value are grain apart.
	round := 3 * 0x1p22 * grain
	for _, v := range values {
		b := math.Float32bits(v)
		signs |= b & (b - 1) // whose sign is that of b, but 0 for -0
		least = min(least, b-1)
		odd |= (math.Float32bits((v+round)-round) ^ b) << 1 // without signs, which differ for -0
	}
	return signs>>31 == 0 && least >= math.Float32bits(leastCoordinate)-1, grain > 0 && odd == 0
}

// chooseErrors says by what the errors of the products of queries are bounded, in jobs that they were divided into.
func (x *run) chooseErrors(ctx context.Context, queries []int, jobs []denseJob) {
	for _, j := range queries {
		x.states[j].dots = byNorms
	}
	c := x.r.traits(ctx, len(queries))
	if c == nil || !c.nonNegative && c.grain == 0 {
		return
	}
	const chunk = 16
	_ = x.r.each(ctx, (len(queries)+chunk-1)/chunk, func(_ *scratch, p int) error {
		for _, j := range queries[p*chunk : min((p+1)*chunk, len(queries))] {
			x.states[j].dots = x.states[j].errorWith(c)
		}
		return nil
	})
	for k := range jobs {
		d := &jobs[k]
		if !slices.ContainsFunc(d.js, func(j int) bool { return x.states[j].dots != noError }) {
			d.exact = c
		} else if c.offset != nil { // the queries of a job share the offsets of rows
			for _, j := range d.js {
				x.states[j].dots = byNorms
			}
		}
	}
}

// errorWith returns what bounds the errors of the query's products with rows of these traits.
func (s *state) errorWith(c *traits) dotError {
	if s.bounded() {
		return byNorms
	}
	metric := s.c.Metric
	if c.grain > 0 && c.longest > 0 {
		greatest, least := math.Sqrt(s.qq)*collection.Up*c.longest, math.Inf(1) // of sums, and of what they are multiples of
		switch {
		case metric.Differences():
			greatest += c.longest * c.longest / 2
			least = c.grain * c.grain / 2
			greatest /= mostExact
		case metric.Normalises():
			greatest /= mostDivided
		default:
			greatest /= mostExact
		}
		if _, e := math.Frexp(greatest / c.grain); greatest <= least && multiples(s.q, math.Ldexp(1, e)) {
			s.grain = math.Ldexp(c.grain, e)
			return noError
		}
	}
	if c.nonNegative && !metric.Differences() && s.neverUnderflows() {
		return byProduct
	}
	return byNorms
}

// multiples reports whether every value is a multiple of grain, a power of two; false if one is as large
// as 2^51 grain.
func multiples(values []float64, grain float64) bool {
	round := 3 * 0x1p51 * grain // the neighbours of the sum of it and a value are grain apart
	for _, v := range values {
		if (v+round)-round != v || math.Abs(v) >= 0x1p51*grain {
			return false
		}
	}
	return true
}

// neverUnderflows reports whether the query as compared has no negative coordinate and none below leastScaled but 0.
func (s *state) neverUnderflows() bool {
	for _, v := range s.q {
		if v != 0 && !(v*s.unit >= leastScaled) {
			return false
		}
	}
	return true
}

// shareOf bounds the errors of the query's products as a share of them; 0 if they have none, or one relative to norms.
func (s *state) shareOf() float64 {
	switch {
	case s.dots == byProduct:
		share := max(roundingsOf(s.c.Dim, true), roundingsOf(s.c.Dim, false)) * bandit.Unit
		return share / (1 - share)
	case s.dots == noError && s.c.Metric.Normalises():
		return dividedShare
	}
	return 0
}

// denseConversion converts between search scores and what a scan compares.
func (s *state) denseConversion() looks.Conversion {
	if s.dots == noError && s.c.Metric.Differences() { // products with rows as given less |v|^2/2, which are exact
		return looks.Conversion{Lead: math.Ldexp(s.qq/2, -s.exp)}
	}
	return s.conversion
}

// denseFactor is the factor from scores, or products that are compared with them, to the products of a scan.
func (s *state) denseFactor() float64 {
	if s.dots == noError && s.c.Metric.Normalises() && s.qq > 0 { // the query is not divided by its norm
		return math.Sqrt(s.qq) / s.toScore
	}
	return 1
}

// exactScore returns the search score of a row from what a scan without errors compared for it. scale is the row's.
func (s *state) exactScore(row uint32, compared, scale float32) float64 {
	switch {
	case s.c.Metric.Differences():
		return float64(compared) - s.denseConversion().Lead
	case s.c.Metric.Normalises() && scale > 0:
		return s.scoreOfSum(row, math.RoundToEven(float64(compared)/float64(scale)/s.grain)*s.grain)
	case s.c.Metric.Normalises():
		return 0
	}
	return float64(compared)
}

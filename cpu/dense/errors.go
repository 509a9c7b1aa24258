package dense

import (
	"context"
	"math"
	"slices"
	"thresher/cpu/threads"

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
	// noError: every partial sum is a multiple of one power of two, and at most maxExact times it, so float32
	// holds it. Division by a row's norm has an error, but not so large that the product cannot be told from it.
	noError
)

const (
	// The traits of rows are read once scans were asked for so many queries, of whose time
	// reading them takes less than a tenth, or once a scan has scored more rows than 1 in manyScored of all
	// beyond those that are wanted; in collections of at least minRead rows.
	readAfter, manyScored, minRead = 256, 16, 512
	// minCoordinate and minScaled are the least positive coordinates of rows and of scaled queries with which no
	// product underflows. The norms of rows are at most 1/minCoordinate.
	minCoordinate, minScaled = 0x1p-30, 0x1p-60
	// maxExact is the greatest multiple of a number up to which float32 holds all, and maxDivided that up to which they
	// can be told from rounded quotients of them, which differ by up to two roundings, or a quarter.
	maxExact, maxDivided = 0x1p24, 0x1p21
	// dividedShare bounds the error of a quotient as a share of it: roundings of the norm's inverse and of the product
	// with it, and those of a threshold, which are in float64.
	dividedShare = 4 * bandit.Unit
	// minGrain is the least grain of rows.
	minGrain = 0x1p-12
	// readSample is how many coordinates are read before all others.
	readSample = 1024
)

// chooseErrors says by what the errors of the products of queries are bounded, in passes that they were divided into.
func (x *Scans) chooseErrors(ctx context.Context, queries []int, passes []pass) {
	for _, j := range queries {
		x.queries[j].dots = byNorms
	}
	if x.C.Float64() { // whose rounded rows tell nothing of scores without error
		return
	}
	c := x.r.traits(ctx, len(queries))
	if c == nil || !c.nonNegative && c.grain == 0 {
		return
	}
	const chunk = 16
	_ = x.r.Each(ctx, (len(queries)+chunk-1)/chunk, func(_ *threads.Scratch, p int) error {
		for _, j := range queries[p*chunk : min((p+1)*chunk, len(queries))] {
			x.queries[j].dots = x.queries[j].errorWith(c)
		}
		return nil
	})
	for k := range passes {
		d := &passes[k]
		if !slices.ContainsFunc(d.js, func(j int) bool { return x.queries[j].dots != noError }) {
			d.exact = c
		} else if c.offset != nil { // the queries of a pass share the offsets of rows
			for _, j := range d.js {
				x.queries[j].dots = byNorms
			}
		}
	}
}

// errorWith returns what bounds the errors of the query's products with rows of these traits.
func (s *Query) errorWith(c *traits) dotError {
	if s.Bounded() {
		return byNorms
	}
	metric := s.C.Metric
	if c.grain > 0 && c.longest > 0 {
		greatest, least := math.Sqrt(s.Squares)*collection.Up*c.longest, math.Inf(1) // of sums, and of what they are multiples of
		switch {
		case metric.Differences():
			greatest += c.longest * c.longest / 2
			least = c.grain * c.grain / 2
			greatest /= maxExact
		case metric.Normalises():
			greatest /= maxDivided
		default:
			greatest /= maxExact
		}
		if _, e := math.Frexp(greatest / c.grain); greatest <= least && multiples(s.Q, math.Ldexp(1, e)) {
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

// neverUnderflows reports whether the query as compared has no negative coordinate and none below minScaled but 0.
func (s *Query) neverUnderflows() bool {
	for _, v := range s.Q {
		if v != 0 && !(v*s.Unit >= minScaled) {
			return false
		}
	}
	return true
}

// shareOf bounds the errors of the query's products as a share of them; 0 if they have none, or one relative to norms.
func (s *Query) shareOf() float64 {
	switch {
	case s.dots == byProduct:
		share := max(roundingsOf(s.C.Dim, true), roundingsOf(s.C.Dim, false)) * bandit.Unit
		return share / (1 - share)
	case s.dots == noError && s.C.Metric.Normalises():
		return dividedShare
	}
	return 0
}

// conversion converts between search scores and what a scan compares.
func (s *Query) conversion() looks.Conversion {
	if s.dots == noError && s.C.Metric.Differences() { // products with rows as given less |v|^2/2, which are exact
		return looks.Conversion{Lead: math.Ldexp(s.Squares/2, -s.Exp)}
	}
	return s.Conversion
}

// factor is the factor from scores, or products that are compared with them, to the products of a scan.
func (s *Query) factor() float64 {
	if s.dots == noError && s.C.Metric.Normalises() && s.Squares > 0 { // the query is not divided by its norm
		return math.Sqrt(s.Squares) / s.ToScore
	}
	return 1
}

// exactScore returns the search score of a row from what a scan without errors compared for it. scale is the row's.
func (s *Query) exactScore(row uint32, compared, scale float32) float64 {
	switch {
	case s.C.Metric.Differences():
		return float64(compared) - s.conversion().Lead
	case s.C.Metric.Normalises() && scale > 0:
		return s.ScoreOfSum(row, math.RoundToEven(float64(compared)/float64(scale)/s.grain)*s.grain)
	case s.C.Metric.Normalises():
		return 0
	}
	return float64(compared)
}

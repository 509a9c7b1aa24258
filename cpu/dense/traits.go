package dense

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"thresher/cpu/threads"

	"thresher/collection"
	"thresher/cpu/topk"
)

// traits are what the coordinates of all rows have in common.
type traits struct {
	nonNegative bool    // each is 0 or at least minCoordinate
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
func (r *Rows) traits(ctx context.Context, m int) *traits {
	all := &r.known
	if r.C.N < minRead || all.asked.Add(int64(m)) < readAfter && !all.wanted.Load() {
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
func (r *Rows) readTraits(ctx context.Context) (*traits, error) {
	dim := r.C.Dim
	c := sampleTraits(r.C)
	if r.C.Metric.Differences() { // a difference may be small where the product is large
		c.nonNegative = false
	}
	if !c.nonNegative && c.grain == 0 {
		return c, nil
	}
	if c.grain > 0 && r.C.Metric.Differences() {
		c.offset = make([]float32, r.C.N)
	}
	chunk := max(1, 1<<16/dim)
	longest := make([]float64, (r.C.N+chunk-1)/chunk) // squared
	var negative, uneven atomic.Bool
	err := r.Each(ctx, len(longest), func(w *threads.Scratch, p int) error {
		if negative.Load() && uneven.Load() {
			return nil
		}
		lo, hi := p*chunk, min((p+1)*chunk, r.C.N)
		rows := r.valuesOf(w, lo, hi)
		nonNegative, even := inCommon(rows, float32(c.grain))
		if !nonNegative {
			negative.Store(true)
		}
		if !even {
			uneven.Store(true)
		}
		for i := lo; i < hi; i++ {
			squares := r.Kernels.SumSquares(rows[(i-lo)*dim:][:dim])
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
	c.nonNegative = c.nonNegative && !negative.Load() && c.longest <= 1/minCoordinate
	// inCommon compares numbers below 2^22 times the grain.
	if uneven.Load() || c.longest >= 0x1p22*c.grain {
		c.grain, c.offset = 0, nil
	}
	return c, nil
}

// valuesOf returns the coordinates of rows lo to hi-1, in place or in the scratch.
func (r *Rows) valuesOf(w *threads.Scratch, lo, hi int) []float32 {
	if c := r.C; c.Rows != nil {
		return c.Rows[lo*c.Dim : hi*c.Dim]
	}
	s := &scratchOf(w).tests
	s.gathered = topk.Grow(s.gathered, (hi-lo)*r.C.Dim)
	r.C.Read(s.gathered, lo*r.C.Dim)
	return s.gathered
}

// sampleTraits returns the traits of some values at equal distances, but for the norms.
func sampleTraits(rows *collection.Collection) *traits {
	c := &traits{nonNegative: true, grain: 1}
	values := rows.N * rows.Dim
	var one [1]float32
	for i := 0; i < values; i += max(1, values/readSample) {
		rows.Read(one[:], i)
		v := float64(one[0])
		c.nonNegative = c.nonNegative && (v == 0 || v >= minCoordinate)
		for c.grain >= minGrain && math.Trunc(v/c.grain) != v/c.grain {
			c.grain /= 2
		}
	}
	if c.grain < minGrain {
		c.grain = 0
	}
	return c
}

// inCommon reports whether each value is 0 or at least minCoordinate, and whether each is a multiple of grain,
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
	return signs>>31 == 0 && least >= math.Float32bits(minCoordinate)-1, grain > 0 && odd == 0
}

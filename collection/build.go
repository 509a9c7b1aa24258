package collection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"thresher/dataset"
)

// Limits of a collection.
const (
	MaxAtoms = 1 << 31 // internal indexes have 32 bits
	MaxDim   = 1 << 21
)

// tinyNorm is the working norm below which an atom is not coded, since its float32 terms
// would lose precision. Its radius is then its norm.
const tinyNorm = 1e-30

// Build makes a collection of n = len(rows)/dim atoms in memory. It retains rows, which
// must not change afterwards. o says the metric at least: without one it returns ErrNoMetric.
func Build(ctx context.Context, rows []float32, dim int, o *Options) (*Collection, error) {
	if dim < 1 || len(rows)%dim != 0 {
		return nil, fmt.Errorf("%d values are no rows of %d columns", len(rows), dim)
	}
	v, err := dataset.VectorsOf(rows, dim)
	if err != nil {
		return nil, err
	}
	return BuildVectors(ctx, v, o)
}

// checkOrder returns an error for an order that the atoms cannot have.
func (c *Collection) checkOrder(o *Options) error {
	switch {
	case o.Order == nil:
	case c.D == 0:
		return fmt.Errorf("an order of the vectors needs basis rotated, %d columns and codes, not %s and %d", MinRotated, c.Basis, c.Dim)
	case len(o.Order) != c.N || !isPermutation(o.Order):
		return fmt.Errorf("order of %d vectors: is no permutation of the %d rows", len(o.Order), c.N)
	}
	return nil
}

// newCollection validates the shape and options and determines head and dimension.
func newCollection(n, dim int, o *Options) (*Collection, error) {
	if n < 1 {
		return nil, errors.New("no rows")
	}
	if n > MaxAtoms {
		return nil, fmt.Errorf("%d rows, at most %d", n, MaxAtoms)
	}
	if dim > MaxDim {
		return nil, fmt.Errorf("%d columns, at most %d", dim, MaxDim)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Origin != nil && (len(o.Origin) != dim || !o.Metric.Differences()) {
		return nil, fmt.Errorf("an origin of %d columns: only rows of as many, for Euclidean distance, have one", len(o.Origin))
	}
	return newShape(n, dim, o), nil
}

// newShape returns a collection without sections. Its fields determine their sizes.
func newShape(n, dim int, o *Options) *Collection {
	c := &Collection{N: n, Dim: dim}
	if o != nil {
		c.Metric, c.Basis, c.Seed = o.Metric, o.Basis, o.Seed
		c.Origin, c.Change = o.Origin, o.Change
	}
	if c.Basis == Rotated && dim >= MinRotated && (o == nil || !o.NoCodes) {
		c.D = rotatedDim(dim)
		if o == nil || !o.NoHead {
			c.R = headSize(n, dim)
			if o != nil && o.Head > 0 && c.R > 0 {
				c.R = min(o.Head, maxHead(n, dim)) &^ 15
			}
		}
	}
	return c
}

// build fills all sections from Vectors.
func (c *Collection) build(ctx context.Context, m memory, o *Options) error {
	b, err := newBuilder(ctx, c, m, o)
	if err != nil {
		return err
	}
	for _, p := range b.phases() {
		if b.file != nil {
			b.file.dropRows()
		}
		if err := p.run(); err != nil {
			return err
		}
	}
	return ctx.Err() // a forecast cut short is not usable
}

// builder is a build in progress.
type builder struct {
	c        *Collection
	ctx      context.Context
	o        *Options
	threads  int
	inMemory bool       // sections are from the heap, not those of a file
	file     *file      // that the sections are in, if it is written in segments, else nil
	pass     *pilotPass // which the rows passed while they were coded; nil: not yet
	rowNorms []float64  // norm of each row, less the centre, by row number
	rowsDone atomic.Int64
}

// newBuilder allocates the sections of c in m.
func newBuilder(ctx context.Context, c *Collection, m memory, o *Options) (*builder, error) {
	b := &builder{c: c, ctx: ctx, o: o, threads: o.Threads}
	_, b.inMemory = m.(heap)
	if w, ok := m.(*file); ok && w.segment > 0 {
		b.file = w
	}
	if b.threads <= 0 {
		b.threads = runtime.GOMAXPROCS(0)
	}
	var haar []float32
	if c.D > 0 {
		c.transform = newTransform(c.Dim, c.Seed)
		c.transform.r = c.R
		haar = c.transform.haar
	}
	origin := c.Origin
	if err := c.layout(m, c.Elem(), true, fileVersion); err != nil {
		return nil, err
	}
	copy(c.Origin, origin)
	if haar != nil {
		copy(c.transform.haar, haar)
	}
	return b, nil
}

// phase is a step of a build.
type phase struct {
	name string
	run  func() error
}

// phases returns the steps of a build in order.
func (b *builder) phases() []phase {
	phases := []phase{{"norms", b.computeNorms}}
	if b.c.Centre != nil {
		phases = []phase{{"centre", b.computeCentre}, {"norms", b.computeNorms}}
	}
	switch {
	case b.c.Basis == Raw:
		return append(phases, phase{"raw", b.prepareRaw})
	case b.c.D == 0: // no second pass
		return append(phases, phase{"done", func() error { b.progress(b.c.N); return nil }})
	}
	return append(phases, phase{"head", b.computeHead}, phase{"codes", b.codeAtoms}, phase{"pilot", b.computePilot})
}

// rowSweep returns a sweep of a pass over the rows, nil unless the file is written in segments.
func (b *builder) rowSweep() *sweep {
	if b.file == nil {
		return nil
	}
	return newSweep(b.file.f, b.c.N, b.file.segment, true, b.file.rows())
}

// progress reports n more rows done.
func (b *builder) progress(n int) {
	if b.o.Progress != nil {
		b.o.Progress(b.rowsDone.Add(int64(n)), 2*int64(b.c.N))
	}
}

// each calls f for every range [lo, hi) of at most chunk of n items, from several
// goroutines, with the goroutine's number.
func (b *builder) each(n, chunk int, f func(worker, lo, hi int) error) error {
	g, ctx := errgroup.WithContext(b.ctx)
	var next atomic.Int64
	for w := range b.threads {
		g.Go(func() error {
			for {
				lo := int(next.Add(int64(chunk))) - chunk
				if lo >= n {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				hi := min(lo+chunk, n)
				if err := f(w, lo, hi); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

// above returns the least float32 above f, which is not NaN.
func above(f float32) float32 {
	switch bits := math.Float32bits(f); {
	case f > 0:
		return math.Float32frombits(bits + 1)
	case f < 0:
		return math.Float32frombits(bits - 1)
	}
	return math.SmallestNonzeroFloat32
}

// Upward returns the least float32 not below x.
func Upward(x float64) float32 {
	f := float32(x)
	if f > 0 && f <= math.MaxFloat32 { // without a branch on how it was rounded, which would be mispredicted every other time
		return math.Float32frombits(math.Float32bits(f) + uint32(math.Float64bits(float64(f)-x)>>63))
	}
	return upwardOf(f, x)
}

// upwardOf is Upward of x, which rounds to f.
func upwardOf(f float32, x float64) float32 {
	if float64(f) < x {
		return above(f)
	}
	return f
}

package collection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"thresher/bandit"
)

// Limits of a collection.
const (
	MaxAtoms = 1 << 31 // internal indexes are 32 bits
	MaxDim   = 1 << 21
)

// maxNorm bounds |v|, maxNormEuclidean |v| where |v|^2 is added to scores: with
// a query of norm 1 every term and score then fits float32 with room.
const (
	maxNorm          = 1 << 110
	maxNormEuclidean = 1 << 55
)

// tinyNorm is the working norm below which an atom is not coded (its float32
// terms would lose their digits): its radius is its norm.
const tinyNorm = 1e-30

// Build makes a collection of n = len(rows)/dim atoms held in memory. The
// collection keeps rows, which the caller must not change afterwards.
func Build(ctx context.Context, rows []float32, dim int, o *Options) (*Collection, error) {
	if dim < 1 || len(rows)%dim != 0 {
		return nil, fmt.Errorf("%d values are no rows of %d columns", len(rows), dim)
	}
	c, err := begin(len(rows)/dim, dim, o)
	if err != nil {
		return nil, err
	}
	c.Rows = rows
	if err := c.build(ctx, heap{}, o); err != nil {
		return nil, err
	}
	return c, nil
}

// begin checks the shape and options and decides head and dimension.
func begin(n, dim int, o *Options) (*Collection, error) {
	if n < 1 {
		return nil, errors.New("no rows")
	}
	if n > MaxAtoms {
		return nil, fmt.Errorf("%d rows, at most %d", n, MaxAtoms)
	}
	if dim > MaxDim {
		return nil, fmt.Errorf("%d columns, at most %d", dim, MaxDim)
	}
	c := &Collection{N: n, Dim: dim}
	if o != nil {
		c.Metric, c.Basis, c.Seed = o.Metric, o.Basis, o.Seed
	}
	if c.Basis == Rotated && dim >= MinRotated {
		c.D = rotatedDim(dim)
		if o == nil || !o.NoHead {
			c.R = headSize(n, dim)
		}
	}
	return c, nil
}

// build fills all sections from Rows.
func (c *Collection) build(ctx context.Context, m memory, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	b := &builder{c: c, ctx: ctx, o: o, threads: o.Threads}
	if b.threads <= 0 {
		b.threads = runtime.GOMAXPROCS(0)
	}
	if c.D > 0 {
		c.transform = newTransform(c.Dim, c.Seed)
		c.transform.r = c.R
	}
	haar := []float32(nil)
	if c.transform != nil {
		haar = c.transform.haar
	}
	if err := c.layout(m, c.Rows != nil); err != nil {
		return err
	}
	if haar != nil {
		copy(c.transform.haar, haar)
	}
	if err := b.norms(); err != nil {
		return err
	}
	switch {
	case c.Basis == Raw:
		return b.raw()
	case c.D == 0: // no second pass
		if o.Progress != nil {
			o.Progress(2*int64(c.N), 2*int64(c.N))
		}
		return nil
	}
	if c.R > 0 {
		b.head()
	}
	c.transform.pack()
	c.Slack = bandit.Slack(c.Dim, c.D, c.R, c.transform.rounds, c.transform.defect)
	c.CodeSlack = bandit.CodeSlack(c.D, c.transform.rounds)
	c.Kappa = bandit.Kappa(c.D)
	if o.KeepRotated {
		c.Rotated32 = make([]float32, c.N*c.D)
	}
	if err := b.codes(); err != nil {
		return err
	}
	b.maxima()
	b.pilot()
	return ctx.Err() // a pilot cut short is no forecast
}

// builder is a build under way.
type builder struct {
	c       *Collection
	ctx     context.Context
	o       *Options
	threads int
	exact   []float64 // norm of each row, by row number
	done    atomic.Int64
}

// each calls f for every chunk [lo, hi) of n items, from several goroutines,
// and reports progress.
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
				if b.o.Progress != nil {
					b.o.Progress(b.done.Add(int64(hi-lo)), 2*int64(b.c.N))
				}
			}
		})
	}
	return g.Wait()
}

// norms checks every row, takes its norm in float64 and orders the atoms: by
// norm in steps of 4%, descending, and at random within a step, so that the
// first panels are a sample of the greatest atoms whatever the file's order.
func (b *builder) norms() error {
	c := b.c
	b.exact = make([]float64, c.N)
	limit := float64(maxNorm)
	if c.Metric == Euclidean {
		limit = maxNormEuclidean
	}
	chunk := max(1, min(4096, 1<<20/c.Dim))
	err := b.each(c.N, chunk, func(_, lo, hi int) error {
		for i := lo; i < hi; i++ {
			s := math.Sqrt(kernels.SumSquares(c.Row(i)))
			if !(s < limit) {
				return rowError(c.Row(i), i, s, limit)
			}
			b.exact[i] = s
		}
		return nil
	})
	if err != nil {
		return err
	}
	type place struct {
		step int
		tie  uint64
	}
	places := make([]place, c.N)
	tie := generator(c.Seed, streamOrder)
	for i, s := range b.exact {
		w := s
		if c.Metric == Cosine && s > 0 {
			w = 1
		}
		p := place{tie: tie.Uint64()}
		if w == 0 {
			p.step = math.MaxInt
		} else {
			p.step = -int(math.Floor(16 * math.Log2(w)))
		}
		places[i] = p
	}
	for i := range c.Order {
		c.Order[i] = uint32(i)
	}
	slices.SortFunc(c.Order, func(i, j uint32) int {
		p, q := places[i], places[j]
		if d := cmp.Compare(p.step, q.step); d != 0 {
			return d
		}
		if d := cmp.Compare(p.tie, q.tie); d != 0 {
			return d
		}
		return cmp.Compare(i, j)
	})
	for i, row := range c.Order {
		w := b.exact[row]
		switch c.Metric {
		case Cosine:
			c.RowNorm[row] = w
			if w > 0 {
				w = 1
			}
		case Euclidean:
			c.Offset[i] = upward(-w * w / 2)
		}
		c.Norm[i] = upward(w * up)
	}
	return nil
}

// rowError says what is wrong with a row whose norm is not below limit.
func rowError(row []float32, i int, norm, limit float64) error {
	for j, v := range row {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return &RowError{Row: i, Column: j, Err: fmt.Errorf("value %g", v)}
		}
	}
	return &RowError{Row: i, Column: -1, Err: fmt.Errorf("norm %g is %g or more: scores could overflow float32", norm, limit)}
}

// working is the factor that makes a row the vector that is coded: 1/|v| for
// cosine, else 1.
func (b *builder) working(row uint32) float64 {
	if b.c.Metric == Cosine && b.exact[row] > 0 {
		return 1 / b.exact[row]
	}
	return 1
}

// head fits the principal directions to a random sample of the atoms.
func (b *builder) head() {
	c := b.c
	n := min(headSample, max(4*c.R, min(c.N/8, headSampleMax/c.Dim)))
	pick := generator(c.Seed, streamSample).Perm(c.N)[:n]
	sample := make([]float32, n*c.Dim)
	for k, i := range pick {
		s := b.exact[i]
		if s == 0 {
			continue
		}
		// norms of a sample spread over e60 would drown all but the largest
		f := b.working(uint32(i))
		if c.Metric != Cosine {
			f = 1 / max(s, float64(c.Norm[0])*1e-3)
			f *= min(1, s/float64(c.Norm[0])*1e3)
		}
		for j, v := range c.Row(i) {
			sample[k*c.Dim+j] = float32(float64(v) * f)
		}
	}
	u, d := fitHead(sample, n, c.Dim, c.R, c.Seed)
	copy(c.transform.u, u)
	c.transform.defect = d
}

// upward rounds x to float32 toward +Inf.
func upward(x float64) float32 {
	f := float32(x)
	if float64(f) < x {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return f
}

// maxima takes the greatest terms of each panel.
func (b *builder) maxima() {
	c := b.c
	for p := c.PanelCount() - 1; p >= 0; p-- {
		lo, hi := p*PanelAtoms, min((p+1)*PanelAtoms, c.N)
		h := c.HeadMax[p*headMaxTerms : (p+1)*headMaxTerms]
		for i := lo; i < hi; i++ {
			h[0], h[1], h[2] = max(h[0], c.HeadNorm[i]), max(h[1], c.HeadErr[i]), max(h[2], c.Norm[i])
			if c.Offset != nil {
				h[3] = max(h[3], -c.Offset[i])
			}
		}
		if p+1 < c.PanelCount() {
			// a cap on this and all later panels: norms fall but for their step
			h[2] = max(h[2], c.HeadMax[(p+1)*headMaxTerms+2])
		}
		for k := range c.Levels {
			l := &c.Levels[k]
			m := l.Max[3*p : 3*p+3]
			for i := lo; i < hi; i++ {
				m[0], m[1], m[2] = max(m[0], l.XNorm[i]), max(m[1], l.Radius[i]), max(m[2], l.Beyond[i])
			}
		}
	}
}

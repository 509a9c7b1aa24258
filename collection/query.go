package collection

import "math"

// Query is a prepared query: its head and its rotated rest. The query, less the Centre if
// there is one, is first multiplied by 2^-Exp, which brings its norm near 1
// (Metric.Exponent) and is exact except for entries that underflow.
type Query struct {
	Exp      int
	Norm     float64   // |q| after scaling, at least that of its float32 coordinates; rounded upward
	Head     []float32 // [R]
	HeadNorm float64   // |Head|, rounded upward
	Rest     []float32 // [D], rotated
	RestNorm float64   // |Rest|, rounded upward
}

// Up is the factor that makes a rounded float64 sum or norm no less than the true value.
const Up = 1 + 1e-9

// PrepareScratch is memory for PrepareBatch, for any number of calls and collections.
// Concurrent calls need one each. The zero value is ready.
type PrepareScratch struct {
	split *splitter
}

// splitterFor returns a splitter of c for n vectors, or for as many as are split at a time.
func (w *PrepareScratch) splitterFor(c *Collection, n int) *splitter {
	if w.split == nil || w.split.t != c.transform || w.split.slots < c.transform.slots(n) {
		w.split = newSplitter(c.transform, n)
	}
	return w.split
}

// PrepareBatch splits queries q, row-major, len(scale) of them, into dst, which is at least
// as long. It multiplies each query by its scale first (1/|q| for cosine, else 1). It
// allocates Head and Rest of a dst, of lengths R and D, if they are nil, and overwrites them
// otherwise. A query's result does not depend on the others, bit for bit. The collection
// must be coded. tmp may be nil.
func (c *Collection) PrepareBatch(dst []Query, q []float32, scale []float64, tmp *PrepareScratch) {
	if len(scale) == 0 {
		return
	}
	if tmp == nil {
		tmp = &PrepareScratch{}
	}
	s := tmp.splitterFor(c, len(scale))
	for lo := 0; lo < len(scale); lo += s.slots {
		n := min(s.slots, len(scale)-lo)
		for i := range n {
			p, f := &dst[lo+i], scale[lo+i]
			row := q[(lo+i)*c.Dim : (lo+i+1)*c.Dim]
			norm := c.WorkingNorm(row) * f
			p.Exp = c.Metric.Exponent(norm)
			s.loadVector(i, row, c.Centre, math.Ldexp(f, -p.Exp))
			p.Norm = max(math.Ldexp(norm, -p.Exp), math.Sqrt(kernels.SumSquares(s.slot(i)))) * Up
		}
		s.splitVectors(n)
		for i := range n {
			s.copyQuery(&dst[lo+i], i)
		}
	}
}

// copyQuery copies head and rest of slot i to p.
func (s *splitter) copyQuery(p *Query, i int) {
	if p.Head == nil {
		p.Head = make([]float32, s.t.r)
	}
	if p.Rest == nil {
		p.Rest = make([]float32, s.t.D)
	}
	copy(p.Head, s.head(i))
	s.rotateRest(p.Rest, i)
	p.HeadNorm = math.Sqrt(kernels.SumSquares(p.Head)) * Up
	p.RestNorm = math.Sqrt(kernels.SumSquares(p.Rest)) * Up
}

// Prepare is PrepareBatch for one query.
func (c *Collection) Prepare(dst *Query, q []float32, scale float64, tmp *PrepareScratch) {
	one := [1]Query{*dst}
	c.PrepareBatch(one[:], q, []float64{scale}, tmp)
	*dst = one[0]
}

// Norm returns |x| in float64, which no finite x overflows; Inf or NaN if x is not finite.
func Norm(x []float32) float64 { return math.Sqrt(kernels.SumSquares(x)) }

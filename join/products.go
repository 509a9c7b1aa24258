package join

import (
	"math"
	"slices"

	"thresher/bandit"
	"thresher/cpu/topk"
	"thresher/simd"
)

const (
	// panelRows is how many rows of a group a panel has at most.
	panelRows = 64
	// multiplied is how many queries are multiplied at a time.
	multiplied = 32
	// fewestQueries and fewestRows are from how many queries and rows of a group on products in float32 pay.
	fewestQueries, fewestRows = 4, 16
	// leastSquares and greatestSquares bound the squared norms of vectors, but for 0, whose products neither underflow nor
	// overflow.
	leastSquares, greatestSquares = 0x1p-80, 0x1p80
	// spareRoundings are roundings beside those of a product: of a norm's inverse, of half a square, of the product or
	// difference with it, of the float64 sums and scores, and of what underflows.
	spareRoundings = 8
)

// products are what the rows of a group are compared by, for a block of queries: products in float32, divided by the rows'
// norms for cosines and less half their squares for distances. They order rows as scores do, but for an error that is at
// most reach of a query, so that most rows are told not to be in its answer without a score in float64
// (docs/guarantee.md).
type products struct {
	dim, rows int
	k         int // how many rows an answer has at most, 0: all that reach the floor
	cosines   bool
	distances bool
	sums      float64   // AccumulateError of a product and of what is made of it
	panels    []float32 // the rows, packed
	widths    []int     // of the panels
	ld        int       // of their sum, and of values
	given     []float32 // rows of another type than float32
	term      []float32 // of each row: 1/|v|, or |v|^2/2
	longest   float64   // norm of a row
	queries   []float32 // up to multiplied
	values    []float32 // of each query, ld apart
	passed    []uint32
}

// sifts reports whether queries of a group are compared by products first, where they are scanned.
func (r *Right) sifts(rows, queries int) bool {
	k := r.o.Request.K
	if rows < fewestRows || queries < fewestQueries || !math.IsInf(r.ceiling, 1) {
		return false
	}
	return k > 0 && k <= rows/2 || !math.IsInf(r.floor, -1)
}

// begin takes the rows from start to start+n-1. It returns false if their norms are out of bounds.
func (p *products) begin(t *scanner, start, n int) bool {
	c, dim := t.c, t.c.Dim
	p.dim, p.rows, p.k, p.cosines, p.distances = dim, n, t.o.Request.K, c.Metric.Normalises(), c.Metric.Differences()
	p.sums = bandit.AccumulateError(dim + spareRoundings)
	var rows []float32
	if c.Rows != nil {
		rows = c.Rows[start*dim : (start+n)*dim]
	} else {
		p.given = slices.Grow(p.given[:0], n*dim)[:n*dim]
		rows = p.given
		c.Read(rows, start*dim)
	}
	p.term = slices.Grow(p.term[:0], n)[:n]
	greatest := 0.0
	for i := range p.term {
		squares := 0.0
		if c.RowSquares != nil {
			squares = c.RowSquares[start+i]
		} else {
			squares = t.kern.SumSquares(rows[i*dim:][:dim])
		}
		if squares != 0 && !(squares >= leastSquares && squares <= greatestSquares) {
			return false
		}
		greatest = max(greatest, squares)
		switch {
		case p.distances:
			p.term[i] = float32(squares / 2)
		case squares > 0:
			p.term[i] = float32(1 / math.Sqrt(squares))
		default:
			p.term[i] = 0
		}
	}
	p.longest = math.Sqrt(greatest)
	p.pack(t.kern, rows)
	return true
}

// pack sets the panels.
func (p *products) pack(kern simd.Kernels, rows []float32) {
	p.ld, p.widths = 0, p.widths[:0]
	for lo := 0; lo < p.rows; lo += panelRows {
		n := min(panelRows, p.rows-lo)
		width := (n + simd.PanelStep - 1) / simd.PanelStep * simd.PanelStep
		p.panels = slices.Grow(p.panels[:p.ld*p.dim], width*p.dim)[:(p.ld+width)*p.dim]
		kern.Pack(p.panels[p.ld*p.dim:], rows[lo*p.dim:], p.dim, n, p.dim, width)
		p.widths, p.ld = append(p.widths, width), p.ld+width
	}
}

// multiply sets the values of m queries.
func (p *products) multiply(kern simd.Kernels, m int) {
	p.values = slices.Grow(p.values[:0], m*p.ld)[:m*p.ld]
	at := 0
	for _, width := range p.widths {
		kern.Gemm(p.values[at:], p.ld, p.queries, p.dim, m, p.panels[at*p.dim:], p.dim, width, false)
		at += width
	}
	for e := range m {
		values := p.values[e*p.ld:][:p.rows]
		term := p.term[:len(values)]
		switch {
		case p.cosines:
			for i, x := range values {
				values[i] = x * term[i]
			}
		case p.distances:
			for i, x := range values {
				values[i] = float32(x) - term[i]
			}
		}
	}
}

// reach bounds the difference between the values of a query of squared norm squares and what they stand for.
func (p *products) reach(squares float64) float64 {
	norm := math.Sqrt(squares)
	switch {
	case p.cosines:
		return p.sums * norm
	case p.distances:
		far := norm + p.longest
		return p.sums*(norm*p.longest+p.longest*p.longest/2) + float64(p.dim+16)*0x1p-53*far*far
	}
	return p.sums * norm * p.longest
}

// pass lists the rows that may be in the answer to query e of the block, whose squared norm is squares, with scores of at
// least floor. It returns false if nothing can be said.
func (p *products) pass(kern simd.Kernels, e int, squares, floor float64) bool {
	if !(squares >= leastSquares && squares <= greatestSquares) {
		return false
	}
	reach := p.reach(squares) * (1 + 0x1p-20)
	values := p.values[e*p.ld:][:p.rows]
	tau := math.Inf(-1)
	if p.k > 0 {
		k := min(p.k, len(values))
		tau = float64(topk.RankedFrom(kern, values, k, k/4+1)) - 2*reach
	}
	if !math.IsInf(floor, -1) {
		tau = max(tau, p.least(floor, squares)-reach)
	}
	bound := float32(tau)
	if float64(bound) > tau {
		bound = math.Nextafter32(bound, float32(math.Inf(-1)))
	}
	p.passed = slices.Grow(p.passed[:0], len(values))[:len(values)]
	n := 0
	for i, x := range values {
		p.passed[n] = uint32(i)
		if x >= bound {
			n++
		}
	}
	p.passed = p.passed[:n]
	return true
}

// least is a search score as a value of a query, less what its rounding may be.
func (p *products) least(score, squares float64) float64 {
	switch {
	case p.cosines:
		score *= math.Sqrt(squares)
		return score - 0x1p-50*math.Abs(score)
	case p.distances:
		return score + squares/2 - 0x1p-51*(math.Abs(score)+squares)
	}
	return score
}

package main

import (
	"cmp"
	"math"
	"slices"

	"thresher/backend/looks"
	"thresher/bandit"
	"thresher/collection"
	"thresher/internal/vectors"
	"thresher/simd"
)

// The first look by sign bits. With h the head of an atom, x~ the scaled codes of the first coordinates
// of its rest (docs/guarantee.md, the linear test), g and w those of the query, c > 0 and an orthogonal
// M, drawn once,
//
//	y = M [h, c x~],   z = M [g, w/c],   <y, z> = <h, g> + <x~, w>.
//
// M spreads both over all coordinates, so that one scale suits head and rest. y is rounded to 8 bits by
// one step for each tile of 64 atoms, z by one for each query. A pair passes if the sum of the products
// of codes is at least a whole number that belongs to tile and query:
//
//	T = ceil((tau - l h |q| - offset - error) / (step of the tile x step of the query))
//
// with the greatest radius h, offset and error of the tile. So a product that starts at -T decides a
// pair by its sign. x~, and so the probability, is that of the look as it is; what y loses is charged.

// tileAtoms is the number of atoms that share a threshold, those of a panel.
const tileAtoms = collection.PanelAtoms

// bandAtoms is the number of atoms, consecutive by norm, within which atoms are sorted by radius.
const bandAtoms = 8192

// An offsetForm says what becomes of the offsets of Euclidean distance.
type offsetForm uint8

const (
	noOffset         offsetForm = iota // the metric has none
	offsetMost                         // a tile's greatest
	offsetCoordinate                   // the deviation from the mean is one more coordinate of y
)

func (f offsetForm) String() string {
	return [...]string{"", ", greatest offset", ", offset coded"}[f]
}

// storedOrder is the collection's own order.
func storedOrder(n int) []uint32 {
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	return order
}

// orderByRadius sorts atoms by radius within bands of the stored order. The first chunk, whose atoms
// make the first thresholds, keeps its order, and the ends of bands are multiples of bandAtoms, as the
// ends of later chunks are.
func orderByRadius(n int, radius []float32, first int) []uint32 {
	order := storedOrder(n)
	for lo := firstChunk(first); lo < n; {
		hi := min(n, (lo/bandAtoms+1)*bandAtoms)
		slices.SortStableFunc(order[lo:hi], func(a, b uint32) int { return cmp.Compare(radius[a], radius[b]) })
		lo = hi
	}
	return order
}

// tile has the terms of its atoms that a threshold is made of, the greatest of each.
type tile struct {
	step                               float64 // of the codes of y
	radius, offset                     float64
	size, err, codedNorm, norm, spread float64 // |y|, |y - coded y|, |x~|, |v|, |offset|
}

// tiled is the look by sign bits.
type tiled struct {
	*workload
	look     *looks.Compiled
	width    int // of y
	mean     float64
	tiles    []tile
	codes    []float32 // of y, by place in the order
	panel    []float32 // the queries' codes
	step     []float64 // of each query's codes
	size     []float64 // |coded z|
	err      []float64 // |z - coded z|, and the error of M
	factors  []looks.Factors
	products []float32
}

// newTiled codes atoms and queries for look l.
func newTiled(w *workload, l *looks.Compiled, order []uint32, form offsetForm) *tiled {
	c := w.c
	s := &tiled{workload: w, look: l, width: c.R + l.To, tiles: make([]tile, (len(order)+tileAtoms-1)/tileAtoms), products: make([]float32, tileAtoms*queryCount)}
	if form == offsetCoordinate {
		s.width++
	}
	s.codes = make([]float32, len(order)*s.width)
	m := newMix(c, l, s.width, form)
	if form == offsetCoordinate {
		s.mean = m.mean
	}
	rows := make([]float32, tileAtoms*s.width)
	for t := range s.tiles {
		lo := t * tileAtoms
		hi := min(len(order), lo+tileAtoms)
		m.atoms(rows, order[lo:hi])
		s.tiles[t] = s.encodeTile(s.codes[lo*s.width:hi*s.width], rows, order[lo:hi], form)
	}
	s.panel = make([]float32, s.width*queryCount)
	z := make([]float32, s.width)
	for j := range w.queries {
		q := &w.queries[j]
		m.query(z, q)
		step, err := encode(s.panel, j, z)
		norm := collection.Norm(z)
		s.step, s.size, s.err = append(s.step, step), append(s.size, norm+err), append(s.err, err+m.slack*norm)
		s.factors = append(s.factors, l.Factors(q, 0, 0))
	}
	return s
}

// encodeTile writes the codes of a tile's rows y and returns its terms.
func (s *tiled) encodeTile(codes, y []float32, atoms []uint32, form offsetForm) (t tile) {
	l, w := s.look, s.width
	t.offset = math.Inf(-1)
	t.step = max(looks.LeastStep, float64(kernels.MaxAbs(y[:len(atoms)*w]))/looks.MaxCode8)
	for a, i := range atoms {
		size, err := 0.0, 0.0
		for c, v := range y[a*w : (a+1)*w] {
			code := math.RoundToEven(float64(v) / t.step)
			codes[a*w+c] = float32(code)
			d := float64(v) - code*t.step
			size, err = size+float64(v)*float64(v), err+d*d
		}
		t.size, t.err = max(t.size, math.Sqrt(size)), max(t.err, math.Sqrt(err))
		t.radius, t.codedNorm, t.norm = max(t.radius, float64(l.Radius[i])), max(t.codedNorm, float64(l.XNorm[i])), max(t.norm, float64(l.Norm[i]))
		offset := 0.0
		if l.Offset != nil {
			offset = float64(l.Offset[i])
			t.spread = max(t.spread, -offset)
		}
		if form == offsetCoordinate {
			offset = s.mean
		}
		t.offset = max(t.offset, offset)
	}
	return t
}

// constant is what the bounds of a tile's atoms with query j have besides the product of codes.
func (s *tiled) constant(t *tile, j int) float64 {
	f := &s.factors[j]
	return (1+looks.Slop)*f.RadiusFactor*t.radius + f.OffsetFactor*t.offset + looks.Slop*f.OffsetFactor*t.spread +
		t.size*s.err[j] + t.err*s.size[j] + f.XN*t.codedNorm + f.NN*t.norm + looks.Least
}

// threshold is the least sum of a tile's codes with query j's that passes.
func (s *tiled) threshold(t *tile, j int, tau float64) int32 {
	if s.step[j] == 0 {
		if s.constant(t, j) >= tau {
			return math.MinInt32
		}
		return math.MaxInt32
	}
	return int32(min(math.MaxInt32, max(math.MinInt32, math.Ceil((tau-s.constant(t, j))/(t.step*s.step[j])))))
}

func (s *tiled) turnAtoms() int  { return tileAtoms }
func (s *tiled) firstChunk() int { return s.look.FirstChunk }

func (s *tiled) scan(lo, hi int, tau []float64, list func(at, query int, bound float64)) {
	least, constant := make([]int32, queryCount), make([]float64, queryCount)
	for ; lo < hi; lo += tileAtoms {
		n := min(hi-lo, tileAtoms)
		t := &s.tiles[lo/tileAtoms]
		for j := range least {
			least[j], constant[j] = s.threshold(t, j, tau[j]), s.constant(t, j)
		}
		kernels.Gemm(s.products, queryCount, s.codes[lo*s.width:], s.width, n, s.panel, s.width, queryCount, false) // whole numbers below 2^24
		for i := range n {
			for j, v := range s.products[i*queryCount : (i+1)*queryCount] {
				if int32(v) >= least[j] {
					list(lo+i, j, float64(v)*t.step*s.step[j]+constant[j])
				}
			}
		}
	}
}

// mix makes y of atoms and z of queries.
type mix struct {
	c       *collection.Collection
	look    *looks.Compiled
	width   int
	matrix  []float32 // M's columns: row i is where coordinate i goes, in panels of 64
	balance float64   // c
	weight  float64   // of the offset; 0 if it is no coordinate
	mean    float64   // of the offsets
	slack   float64   // error of a product of y and z that M and float32 make, relative to both norms
	scratch collection.PrepareScratch
	rows    []float32
	heads   []collection.Query
	parts   []float32
}

func newMix(c *collection.Collection, l *looks.Compiled, width int, form offsetForm) *mix {
	m := &mix{c: c, look: l, width: width, matrix: orthogonal(width), balance: 1,
		slack: 4 * bandit.AccumulateError(width+4) * math.Sqrt(float64(width))}
	// Rounding adds |y| |error of z| + |error of y| |z|, which is least if atoms, and queries like
	// them, have head and rest in the same proportion in y and z.
	var x, scaled, offsets, squares float64
	for i := range c.N {
		row, scale := float64(c.Stages[len(c.Stages)-1].Scale[i]), float64(l.Scale[i])
		if l.Offset != nil {
			offsets, squares = offsets+float64(l.Offset[i]), squares+float64(l.Offset[i])*float64(l.Offset[i])
		}
		if scale > 0 {
			x, scaled = x+row, scaled+scale
		}
	}
	n := float64(c.N)
	if scaled > 0 {
		m.balance = math.Sqrt(x / scaled)
	}
	if form == offsetCoordinate {
		m.mean = offsets / n
		if spread := math.Sqrt(max(0, squares/n-m.mean*m.mean)); spread > 0 {
			m.weight = 1 / math.Sqrt(spread)
		}
	}
	return m
}

// atoms writes y of the atoms to rows.
func (m *mix) atoms(rows []float32, atoms []uint32) {
	c, to := m.c, m.look.To
	m.rows = slices.Grow(m.rows[:0], len(atoms)*c.Dim)[:len(atoms)*c.Dim]
	scale := make([]float64, len(atoms))
	for a, i := range atoms {
		row := c.Row(int(c.Order[i]))
		copy(m.rows[a*c.Dim:], row)
		scale[a] = c.Metric.Factor(collection.Norm(row))
	}
	if len(m.heads) < len(atoms) {
		m.heads = make([]collection.Query, len(atoms))
	}
	c.PrepareBatch(m.heads, m.rows, scale, &m.scratch) // for their heads in float32
	m.parts = slices.Grow(m.parts[:0], len(atoms)*m.width)[:len(atoms)*m.width]
	for a, i := range atoms {
		p := m.parts[a*m.width : (a+1)*m.width]
		unit := math.Ldexp(1, m.heads[a].Exp)
		for j, v := range m.heads[a].Head {
			p[j] = float32(float64(v) * unit)
		}
		step := m.balance * float64(m.look.Scale[i])
		for j, v := range c.Code(int(i))[c.R : c.R+to] {
			p[c.R+j] = float32(step * (float64(v) - simd.Bias))
		}
		if m.weight > 0 {
			p[c.R+to] = float32(m.weight * (float64(m.look.Offset[i]) - m.mean))
		}
	}
	m.multiply(rows, m.parts, len(atoms))
}

// query writes z of a query.
func (m *mix) query(z []float32, q *collection.Query) {
	p := slices.Clone(q.Head)
	for _, v := range q.Rest[:m.look.To] {
		p = append(p, float32(float64(v)/m.balance))
	}
	if m.width > len(p) {
		v := 0.0
		if m.weight > 0 {
			v = math.Ldexp(1, -q.Exp) / m.weight
		}
		p = append(p, float32(v))
	}
	m.multiply(z, p, 1)
}

// multiply sets n rows of out to M times those of in.
func (m *mix) multiply(out, in []float32, n int) {
	const panel = simd.PanelLanes
	part := make([]float32, n*panel)
	for from := 0; from < m.width; from += panel {
		kernels.Gemm(part, panel, in, m.width, n, m.matrix[from*m.width:], m.width, panel, false)
		for i := range n {
			copy(out[i*m.width+from:(i+1)*m.width], part[i*panel:(i+1)*panel])
		}
	}
}

// orthogonal returns an orthogonal matrix of n x n that does not depend on any data, as panels of
// simd.Gemm, padded with zeros.
func orthogonal(n int) []float32 {
	r := vectors.Rand(1)
	rows := make([][]float64, n)
	for i := range rows {
		row := make([]float64, n)
		for j := range row {
			row[j] = r.NormFloat64()
		}
		for range 2 {
			for _, other := range rows[:i] {
				dot := 0.0
				for j := range row {
					dot += row[j] * other[j]
				}
				for j := range row {
					row[j] -= dot * other[j]
				}
			}
			square := 0.0
			for _, v := range row {
				square += v * v
			}
			for j := range row {
				row[j] /= math.Sqrt(square)
			}
		}
		rows[i] = row
	}
	const panel = simd.PanelLanes
	out := make([]float32, (n+panel-1)/panel*panel*n)
	for j := range n {
		for i := range n {
			out[j/panel*panel*n+i*panel+j%panel] = float32(rows[j][i])
		}
	}
	return out
}

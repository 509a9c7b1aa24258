package collection

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"thresher/bandit"
)

const (
	headSample    = 2048    // most atoms in the sample for the head's second moments; an eighth of small collections
	headSampleMax = 1 << 24 // most floats in the sample
	headFraction  = 4       // the first power iteration reads one row in so many of it
	headSpare     = 16      // extra directions of the range finder
	headColumns   = 64      // columns of a panel of the sample
	headRows      = 256     // rows of the sample in one product
)

// headTerms is the number of head directions. Twice as many kept more arms than as many
// more rest coordinates did, on text embeddings, power laws and flat spectra, and no look
// could read fewer.
const headTerms = 32

// headSize returns the number of head directions for n atoms of dim coordinates: headTerms
// or 0. A head must leave 16 dimensions and half the space, have enough atoms to be
// estimated from, and its directions must be a small part of the data's memory.
func headSize(n, dim int) int {
	small := headTerms*dim <= max(n*dim/50, 1<<16)
	if headTerms <= maxHead(n, dim) && small {
		return headTerms
	}
	return 0
}

// maxHead returns the greatest number of head directions for n atoms of dim coordinates.
func maxHead(n, dim int) int { return min(dim/2, dim-MinRotated, n/4) }

// computeHead fits the principal directions to a random sample of the atoms and computes what
// depends on them.
func (b *builder) computeHead() error {
	c, t := b.c, b.c.transform
	if c.R > 0 {
		n := min(headSample, max(4*c.R, min(c.N/8, headSampleMax/c.Dim)))
		s := newSample(n, c.Dim)
		longest := float64(c.Norm[0])
		if b.o.Order != nil || c.Metric.NearFirst() {
			longest = float64(slices.Max(c.Norm))
		}
		memory := c.RowMemory()
		sampled := sampledRows(c.Seed, streamSample, c.N, n)
		if b.file != nil {
			b.file.fetchRows(sampled)
		}
		for k, i := range sampled {
			norm := b.rowNorms[i]
			if norm == 0 {
				continue
			}
			// Second moments of unscaled norms spread over many octaves would be those of the largest alone.
			f := b.workingFactor(i)
			if !c.Metric.Normalises() {
				f = 1 / max(norm, longest*1e-3)
				f *= min(1, norm/longest*1e3)
			}
			s.setRow(k, c.RowIn(memory, int(i)), c.Centre, f)
		}
		u, d := fitHead(s, c.R, c.Seed, b.threads)
		copy(t.u, u)
		t.defect = d
	}
	t.pack()
	c.Slack = bandit.Slack(c.Dim, c.D, c.R, t.rounds, t.defect)
	if c.Centre != nil {
		c.Slack += bandit.CentreSlack
	}
	c.CodeSlack = bandit.CodeSlack(c.D, t.rounds)
	c.Kappa = bandit.Kappa(c.D)
	return b.ctx.Err()
}

// sample holds rows of dim coordinates, zero if not set, in panels of headColumns columns,
// each [rows][headColumns]. A panel serves as rows of a matrix and as a packed panel of Gemm.
type sample struct {
	rows, dim, panels int
	data              []float32
}

func newSample(rows, dim int) *sample {
	n := (dim + headColumns - 1) / headColumns
	return &sample{rows: rows, dim: dim, panels: n, data: make([]float32, n*rows*headColumns)}
}

// panel returns panel k from row i on.
func (s *sample) panel(k, i int) []float32 { return s.data[(k*s.rows+i)*headColumns:] }

// setRow sets row i to f v, or to f (v - centre) if centre is not nil.
func (s *sample) setRow(i int, v []float32, centre []float64, f float64) {
	for k := range s.panels {
		dst := s.panel(k, i)[:headColumns]
		lo, hi := k*headColumns, min((k+1)*headColumns, s.dim)
		for j, x := range v[lo:hi] {
			dst[j] = float32(float64(x) * f)
		}
		if centre == nil {
			continue
		}
		for j, m := range centre[lo:hi] {
			dst[j] = float32((float64(v[lo+j]) - m) * f)
		}
	}
}

// project computes the products of the first n rows with each of the w rows of y, which are
// as wide as the padded sample. z has a row of n products for each row of y.
func (s *sample) project(z, y []float32, n, w, threads int) {
	ld := s.panels * headColumns
	p := newPacked(ld, w)
	p.fillColumns(y, ld, w)
	spread(threads, (n+headRows-1)/headRows, func(part int) {
		lo := part * headRows
		m := min(headRows, n-lo)
		out := make([]float32, m*p.columns)
		for k := range s.panels {
			p.multiply(out, p.columns, s.panel(k, lo), headColumns, m, k*headColumns, headColumns, k > 0)
		}
		for j := range w {
			dst := z[j*n+lo:][:m]
			for i := range dst {
				dst[i] = out[i*p.columns+j]
			}
		}
	})
}

// backProject sets y to the sums of the first n rows weighted by each of the w rows of z.
func (s *sample) backProject(y, z []float32, n, w, threads int) {
	spread(threads, s.panels, func(k int) {
		for lo := 0; lo < n; lo += headRows {
			m := min(headRows, n-lo)
			kernels.Gemm(y[k*headColumns:], s.panels*headColumns, z[lo:], n, w, s.panel(k, lo), m, headColumns, lo > 0)
		}
	})
}

// spread calls f for 0 to n-1 from at most threads goroutines and waits for them.
func spread(threads, n int, f func(i int)) {
	var wg sync.WaitGroup
	for w := range min(threads, n) {
		wg.Go(func() {
			for i := w; i < n; i += threads {
				f(i)
			}
		})
	}
	wg.Wait()
}

// fitHead computes the r leading principal directions of a sample (second moments, not
// centred) by a randomised range finder with power iterations (Halko, Martinsson, Tropp,
// arXiv 0909.4061, algorithm 4.4), then mixes them by a random rotation so that no single
// direction uses up the int8 range. It returns the directions as rows, [r][dim], and the
// Frobenius norm of U U^T - I. It does not depend on threads.
func fitHead(s *sample, r int, seed uint64, threads int) ([]float32, float64) {
	g := generator(seed, streamHead)
	w := min(r+headSpare, s.dim, s.rows)
	ld := s.panels * headColumns
	y, z := make([]float32, w*ld), make([]float32, w*s.rows)
	for i := range w { // random signs, nearly orthogonal as drawn
		signs(y[i*ld:i*ld+s.dim], g)
	}
	// The first iteration needs only a part of the sample.
	for _, n := range [...]int{max(s.rows/headFraction, min(s.rows, 2*w)), s.rows} {
		s.project(z, y, n, w, threads)
		s.backProject(y, z, n, w, threads)
		orthonormalize(y, w, ld)
	}
	s.project(z, y, s.rows, w, threads)
	var eig mat.EigenSym
	if !eig.Factorize(mat.NewSymDense(w, gram(z, w, s.rows)), true) {
		// Impossible for a finite symmetric matrix; the range itself will do.
		return trimRows(y, r, ld, s.dim)
	}
	mix := mat.NewDense(r, r, nil)
	toFloat64(mix.RawMatrix().Data, haarMatrix(r, g))
	var vectors, mixed mat.Dense // values ascend: the last columns lead
	eig.VectorsTo(&vectors)
	mixed.Mul(mix, vectors.Slice(0, w, w-r, w).T())
	coef := make([]float32, r*w) // rows: new direction in terms of y's rows
	for i, v := range mixed.RawMatrix().Data {
		coef[i] = float32(v)
	}
	p := newPacked(w, ld)
	p.fillRows(y, ld, ld)
	u := make([]float32, r*ld)
	p.multiply(u, ld, coef, w, r, 0, w, false)
	orthonormalize(u, r, ld)
	return trimRows(u, r, ld, s.dim)
}

// trimRows returns the first dim entries of the r rows of y, ld apart, and their defect.
func trimRows(y []float32, r, ld, dim int) ([]float32, float64) {
	u := make([]float32, r*dim)
	for i := range r {
		copy(u[i*dim:(i+1)*dim], y[i*ld:])
	}
	return u, defect(u, r, dim)
}

// gram returns Y Y^T in float64 for the k rows of n entries in y.
func gram(y []float32, k, n int) []float64 {
	out := make([]float64, k*k)
	row, ids := make([]float64, n), indexes(k)
	for i := range k {
		toFloat64(row, y[i*n:(i+1)*n])
		kernels.Dots(out[i*k:i*k+i+1], y, n, ids[:i+1], row)
		for j := range i {
			out[j*k+i] = out[i*k+j]
		}
	}
	return out
}

func toFloat64(dst []float64, x []float32) {
	for i, v := range x {
		dst[i] = float64(v)
	}
}

// indexes returns the numbers 0 to n-1.
func indexes(n int) []uint32 {
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = uint32(i)
	}
	return ids
}

// orthonormalize makes the rows of y, [k][dim], orthonormal by Gram-Schmidt in float64,
// twice for a row that loses half its length and with it precision. A row that vanishes
// becomes zero.
func orthonormalize(y []float32, k, dim int) {
	row, parts, ids := make([]float64, dim), make([]float64, k), indexes(k)
	for i := range k {
		a := y[i*dim : (i+1)*dim]
		toFloat64(row, a)
		before := norm64(row)
		s := before
		for range 2 {
			last := s
			kernels.Dots(parts[:i], y, dim, ids[:i], row)
			subtract(row, y, parts[:i])
			if s = norm64(row); s > last/2 {
				break
			}
		}
		if s <= 1e-6*before || s == 0 {
			clear(a)
			continue
		}
		f := 1 / s
		for c := range a {
			a[c] = float32(row[c] * f)
		}
	}
}

// subtract subtracts parts[j] times row j of y from row, four rows at a time.
func subtract(row []float64, y []float32, parts []float64) {
	n := len(row)
	for ; len(parts) >= 4; parts = parts[4:] {
		a, b, c, d := y[:n], y[n:2*n], y[2*n:3*n], y[3*n:4*n]
		p, q, r, s := parts[0], parts[1], parts[2], parts[3]
		for i := range row {
			row[i] -= (p*float64(a[i]) + q*float64(b[i])) + (r*float64(c[i]) + s*float64(d[i]))
		}
		y = y[4*n:]
	}
	for j, p := range parts {
		for i, v := range y[j*n : (j+1)*n] {
			row[i] -= p * float64(v)
		}
	}
}

func norm64(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v * v
	}
	return math.Sqrt(s)
}

// defect returns the Frobenius norm of U U^T - I over the nonzero rows, rounded upward.
func defect(u []float32, r, dim int) float64 {
	var sum float64
	for i, s := range gram(u, r, dim) {
		if i%(r+1) == 0 && s > 0.5 {
			s--
		}
		sum += s * s
	}
	return math.Sqrt(sum) * (1 + 1e-6)
}

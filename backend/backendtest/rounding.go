package backendtest

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// rounding searches, for many rotations, with an atom and a query whose int8 codes have the
// greatest error: all rounding errors have the same direction, so that a bound must cover
// their sum and not that of random errors. Many atoms of greater norm score slightly less
// than the atom.
func rounding(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	for k, dim := range []int{32, 128, 288} {
		if !p.has(k) {
			continue
		}
		for seed := range uint64(6) {
			for name, worst := range map[string]func(*testing.T, *rotation) (q, atom []float32, gap float64){
				"query": worstAtom, "query's fine codes": worst16, "atom": worstQuery, "atom's prefix": worstPrefix,
			} {
				rot := rotate(t, dim, seed)
				q, atom, gap := worst(t, rot)
				s := &Set{Name: "rounding of the " + name, Dim: dim, Queries: q, Rows: crowd(q, atom, gap*3/4, seed)}
				c := build(t, s, rot.opt)
				r, o, a := loadResident(t, b, c), NewOracle(c), &goalSet{}
				a.add(s, o, 0, backend.Goal{K: 1, Floor: math.Inf(-1), Allowed: s.N(), Ceiling: math.Inf(1)})
				if a.want[0].IDs[0] != 0 {
					t.Fatalf("dim %d, seed %d: the crowd beats the atom", dim, seed)
				}
				for _, l := range Ladders(c, never) {
					check(t, s.Name+", "+l.Name, s, o, a, r, &l)
				}
			}
		}
	}
}

// roundingOfHeads is rounding for the codes of the head, of the query or of the atom. Atoms
// and query are in the head's directions, which atoms of greater norm determine; a filter
// disallows those.
func roundingOfHeads(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	const dim = 128
	for k := range 4 {
		if !p.has(k) {
			continue
		}
		seed := uint64(k)
		anchors := anchors(dim, seed)
		n := len(anchors) / dim
		s := &Set{Name: "rounding of the query's head", Dim: dim}
		if k%2 == 1 {
			s.Name = "rounding of the atom's head"
		}
		// directions come from a collection of as many atoms
		opt := collection.Options{Metric: collection.InnerProduct, Seed: seed}
		worst := func(others []float32) {
			s.Rows = append(slices.Clone(anchors), others...)
			q, rows := worstOfHead(t, build(t, s, opt), seed, k%2 == 1)
			s.Queries, s.Rows = q, append(slices.Clone(anchors), rows...)
		}
		worst(make([]float32, 201*dim))
		rows, q := s.Rows, s.Queries
		if worst(rows[n*dim:]); apart(rows, s.Rows) > 1e-5*norm(rows[n*dim:]) || apart(q, s.Queries) > 1e-5*norm(q) {
			t.Fatalf("seed %d: the head has moved", seed)
		}
		c := build(t, s, opt)
		r, o, a := loadResident(t, b, c), NewOracle(c), &goalSet{}
		filter, allowed := o.Filter(func(row int) bool { return row >= n })
		a.add(s, o, 0, backend.Goal{K: 1, Floor: math.Inf(-1), Filter: filter, Allowed: allowed, Ceiling: math.Inf(1)})
		if a.want[0].IDs[0] != int64(n) {
			t.Fatalf("seed %d: the crowd beats the atom", seed)
		}
		for _, l := range Ladders(c, never) {
			check(t, s.Name+", "+l.Name, s, o, a, r, &l)
		}
	}
}

// headOf is the number of coordinates of the atoms of roundingOfHeads, and of directions of
// the head.
const headOf = 32

// anchors are 1,024 atoms in the first coordinates, with a million times the norm of the
// others. They alone determine the head, and no strip contains both kinds.
func anchors(dim int, seed uint64) []float32 {
	rng := vectors.Rand(seed)
	rows := make([]float32, 1024*dim)
	for i := range 1024 {
		for j := range headOf {
			rows[i*dim+j] = float32(1e6 * rng.NormFloat64())
		}
	}
	return rows
}

// worstOfHead returns a query with the atom that is parallel to the rounding error of the
// 8-bit codes of its head, or an atom with such a query; and 200 other atoms of at least twice
// the norm, whose scores are lower by three quarters of that error. In the head's directions
// all coordinates of one of these have the same magnitude, so their codes are exact.
func worstOfHead(t *testing.T, c *collection.Collection, seed uint64, ofAtom bool) (q, rows []float32) {
	if c.R != headOf {
		t.Fatalf("a head of %d directions", c.R)
	}
	head := func(x []float32) []float64 {
		var p collection.Query
		c.Prepare(&p, x, 1, nil)
		y := make([]float64, c.R)
		for k, v := range p.Head {
			y[k] = math.Ldexp(float64(v), p.Exp)
		}
		return y
	}
	axes := make([][]float64, headOf) // in the head's directions
	for j := range axes {
		x := make([]float32, c.Dim)
		x[j] = 1
		axes[j] = head(x)
	}
	back := func(y []float64, size float64) []float32 {
		x := make([]float32, c.Dim)
		for j, a := range axes {
			x[j] = float32(size * floats.Dot(y, a))
		}
		return x
	}
	rng := vectors.Rand(seed + 9)
	w, along := make([]float64, c.R), make([]float64, c.R)
	var score, lost float64
	for score < 8 { // otherwise the other atoms could not have similar scores
		for k := range w {
			w[k] = rng.NormFloat64()
		}
		step := max(floats.Max(w), -floats.Min(w)) / 127
		lost = 0
		for k, x := range w {
			e := x - step*math.RoundToEven(x/step)
			along[k] = math.Copysign(1, e)
			lost += math.Abs(e)
		}
		score = floats.Dot(w, along)
	}
	q, rows = back(w, 1), back(along, 1)
	if ofAtom {
		q, rows, w = rows, q, along
	}
	signs := make([]float64, c.R)
	for len(rows) < 201*c.Dim {
		for k := range signs {
			signs[k] = float64(2*rng.IntN(2) - 1)
		}
		if size := (score - lost*3/4) / floats.Dot(w, signs); 2 <= size && size < 8 {
			rows = append(rows, back(signs, size)...)
		}
	}
	return q, rows
}

func apart(a, b []float32) float64 {
	d := make([]float32, len(a))
	for j := range a {
		d[j] = a[j] - b[j]
	}
	return norm(d)
}

// crowd returns the atom and 200 others of at least twice its norm whose scores are lower by
// gap.
func crowd(q, atom []float32, gap float64, seed uint64) []float32 {
	rng := vectors.Rand(seed)
	dim := len(q)
	var score, qq float64
	for j, v := range q {
		score += float64(v) * float64(atom[j])
		qq += float64(v) * float64(v)
	}
	long := 2 * norm(atom) / math.Sqrt(float64(dim))
	rows := append([]float32{}, atom...)
	for range 200 {
		other := make([]float64, dim)
		var along float64
		for j := range other {
			other[j] = long * (1 + rng.Float64()) * rng.NormFloat64()
			along += other[j] * float64(q[j])
		}
		for j, v := range q {
			rows = append(rows, float32(other[j]+float64(v)*(score-gap-along)/qq))
		}
	}
	return rows
}

// rotation is a collection's rotation as columns, R e_j.
type rotation struct {
	opt     collection.Options
	dim     int
	columns [][]float64
}

// rotate returns the rotation of a seed, without a head, read from collections of one atom.
func rotate(t *testing.T, dim int, seed uint64) *rotation {
	r := &rotation{opt: collection.Options{Metric: collection.InnerProduct, Seed: seed, NoHead: true}, dim: dim}
	one := &Set{Name: "one", Dim: dim, Rows: make([]float32, dim)}
	one.Rows[0] = 1
	c := build(t, one, r.opt)
	for j := range dim {
		x := make([]float32, dim)
		x[j] = 1
		r.columns = append(r.columns, r.apply(c, x))
	}
	return r
}

// apply returns R x.
func (r *rotation) apply(c *collection.Collection, x []float32) []float64 {
	var p collection.Query
	c.Prepare(&p, x, 1, nil)
	y := make([]float64, len(p.Rest))
	for k, v := range p.Rest {
		y[k] = math.Ldexp(float64(v), p.Exp)
	}
	return y
}

// inverse returns R^T y.
func (r *rotation) inverse(y []float64) []float32 {
	x := make([]float32, r.dim)
	for j, col := range r.columns {
		var s float64
		for k, v := range col {
			s += v * y[k]
		}
		x[j] = float32(s)
	}
	return x
}

// worstAtom returns a random query with the atom that is parallel to the rounding error of
// its 8-bit codes, in the coordinates in panels; gap is the resulting error of the score.
func worstAtom(t *testing.T, r *rotation) (q, atom []float32, gap float64) {
	return alongQuery(t, r, 127, func(c *collection.Collection) int { return c.PanelWidth })
}

// worst16 is worstAtom for the 16-bit codes of all coordinates, for looks at rows.
func worst16(t *testing.T, r *rotation) (q, atom []float32, gap float64) {
	return alongQuery(t, r, 127*256+127, func(c *collection.Collection) int { return c.D })
}

func alongQuery(t *testing.T, r *rotation, limit float64, look func(*collection.Collection) int) (q, atom []float32, gap float64) {
	q = vectors.Gaussian(vectors.Rand(r.opt.Seed+77), 1, r.dim)
	one := &Set{Name: "one", Dim: r.dim, Rows: q}
	c := build(t, one, r.opt)
	w := r.apply(c, q)
	width := min(look(c), len(w))
	most := 0.0
	for _, v := range w[:width] {
		most = max(most, math.Abs(v))
	}
	step := most / limit
	y := make([]float64, len(w))
	for k, v := range w[:width] {
		e := v - step*math.RoundToEven(v/step)
		y[k] = math.Copysign(1, e)
		gap += math.Abs(e)
	}
	return q, r.inverse(y), gap
}

// worstQuery returns a random atom with the query that is parallel to the rounding error of
// its code of all coordinates.
func worstQuery(t *testing.T, r *rotation) (q, atom []float32, gap float64) {
	return alongCode(t, r, r.dim)
}

// worstPrefix is worstQuery for looks at a prefix in panels; the query is zero beyond it.
func worstPrefix(t *testing.T, r *rotation) (q, atom []float32, gap float64) {
	one := &Set{Name: "one", Dim: r.dim, Rows: make([]float32, r.dim)}
	return alongCode(t, r, build(t, one, r.opt).Stages[0].Width)
}

func alongCode(t *testing.T, r *rotation, width int) (q, atom []float32, gap float64) {
	atom = vectors.Gaussian(vectors.Rand(r.opt.Seed+99), 1, r.dim)
	one := &Set{Name: "one", Dim: r.dim, Rows: atom}
	c := build(t, one, r.opt)
	o := r.apply(c, atom)
	code := c.Code(0)[c.R:]
	y := make([]float64, len(o))
	for k, v := range o[:min(width, len(o))] {
		e := v - float64(c.RowScale[0])*float64(int(code[k])-128)
		y[k] = math.Copysign(1, e)
		gap += math.Abs(e)
	}
	return r.inverse(y), atom, gap
}

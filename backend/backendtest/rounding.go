package backendtest

import (
	"math"
	"testing"

	"thresher/backend"
	"thresher/collection"
)

// rounding builds, for many rotations, the atom and the query that int8 codes
// serve worst: errors of rounding all point one way, which is what a bound on
// rounding must survive and a model of random rounding does not. A crowd of
// longer atoms scores a hair less than the atom.
func rounding(t *testing.T, open func() backend.Backend, p Part) {
	b := opened(t, open)
	for k, dim := range []int{32, 128, 288} {
		if !p.has(k) {
			continue
		}
		for seed := range uint64(6) {
			for name, worst := range map[string]func(*testing.T, *rotation) (q, atom []float32, gap float64){
				"query": worstAtom, "atom": worstQuery,
			} {
				rot := rotate(t, dim, seed)
				q, atom, gap := worst(t, rot)
				s := &Set{Name: "rounding of the " + name, Dim: dim, Queries: q, Rows: crowd(q, atom, gap/50, seed)}
				c := build(t, s, rot.opt)
				r, o, a := load(t, b, c), NewOracle(c), &asked{}
				a.add(s, o, 0, backend.Goal{K: 1, Floor: math.Inf(-1), Allowed: s.N(), Skip: -1})
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

// crowd returns the atom and 200 others, twice as long or longer, that score
// gap less.
func crowd(q, atom []float32, gap float64, seed uint64) []float32 {
	rng := Rand(seed)
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

// rotate reads the rotation of a seed, without head, off a collection of one
// atom.
func rotate(t *testing.T, dim int, seed uint64) *rotation {
	r := &rotation{opt: collection.Options{Seed: seed, NoHead: true}, dim: dim}
	one := &Set{Name: "one", Dim: dim, Rows: make([]float32, dim)}
	one.Rows[0] = 1
	c := build(t, one, r.opt)
	for j := range dim {
		x := make([]float32, dim)
		x[j] = 1
		r.columns = append(r.columns, r.of(c, x))
	}
	return r
}

// of is R x.
func (r *rotation) of(c *collection.Collection, x []float32) []float64 {
	var p collection.Query
	c.Prepare(&p, x, 1, nil)
	y := make([]float64, len(p.Rest))
	for k, v := range p.Rest {
		y[k] = math.Ldexp(float64(v), p.Exp)
	}
	return y
}

// back is R^T y.
func (r *rotation) back(y []float64) []float32 {
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

// worstAtom is a random query with the atom that lies along the rounding of its
// 8-bit codes, in the coordinates that panels hold; gap is what they lose.
func worstAtom(t *testing.T, r *rotation) (q, atom []float32, gap float64) {
	q = Gaussian(Rand(r.opt.Seed+77), 1, r.dim)
	one := &Set{Name: "one", Dim: r.dim, Rows: q}
	c := build(t, one, r.opt)
	w := r.of(c, q)
	width := min(c.PanelWidth, len(w))
	most := 0.0
	for _, v := range w[:width] {
		most = max(most, math.Abs(v))
	}
	step := most / 127
	y := make([]float64, len(w))
	for k, v := range w[:width] {
		e := v - step*math.RoundToEven(v/step)
		y[k] = math.Copysign(1, e)
		gap += math.Abs(e)
	}
	return q, r.back(y), gap
}

// worstQuery is a random atom with the query that lies along the rounding of
// its whole code.
func worstQuery(t *testing.T, r *rotation) (q, atom []float32, gap float64) {
	atom = Gaussian(Rand(r.opt.Seed+99), 1, r.dim)
	one := &Set{Name: "one", Dim: r.dim, Rows: atom}
	c := build(t, one, r.opt)
	o := r.of(c, atom)
	code := c.Code(0)[c.R:]
	y := make([]float64, len(o))
	for k, v := range o {
		e := v - float64(c.RowScale[0])*float64(int(code[k])-128)
		y[k] = math.Copysign(1, e)
		gap += math.Abs(e)
	}
	return r.back(y), atom, gap
}

package papers

import (
	"fmt"
	"math"
)

// Arms is a finite family of reward lists, the setting of both papers: arm i has
// the rewards f(i, 0), ..., f(i, Dim()-1), and its score is their sum. A pull reads
// one of them.
//
// Pull writes dst[p] = f(arms[p], j) for one coordinate j of a list of arms at
// once, so that the inner loop has no call per pair; len(dst) = len(arms), and the
// caller owns both. Indices are within Len and Dim. An algorithm calls Pull from one
// goroutine; arms that concurrent queries share must be safe for concurrent use, as
// those of this file are.
type Arms interface {
	Len() int
	Dim() int
	Pull(j int, arms []int, dst []float64)
}

func checkArms(arms Arms) error {
	if arms == nil {
		return fmt.Errorf("%w: none given", ErrNoArms)
	}
	if n, d := arms.Len(), arms.Dim(); n < 1 || d < 1 {
		return fmt.Errorf("%w: %d arms of dimension %d", ErrNoArms, n, d)
	}
	return nil
}

// Matrix is n atoms of d float32 coordinates, row-major; f(i, j) = v_ij.
type Matrix struct {
	rows []float32
	n, d int
}

// NewMatrix wraps rows, n*d values that the caller keeps and must not change while
// the matrix is in use. It fails with ErrDim for a wrong shape, and with ErrReward,
// row and column for a coordinate that is NaN or infinite.
func NewMatrix(rows []float32, n, d int) (*Matrix, error) {
	if n < 1 || d < 1 {
		return nil, fmt.Errorf("%w: %d arms of dimension %d", ErrNoArms, n, d)
	}
	if len(rows)%d != 0 || len(rows)/d != n {
		return nil, fmt.Errorf("%w: %d values for %d rows of %d", ErrDim, len(rows), n, d)
	}
	for p, v := range rows {
		if !finite(float64(v)) {
			return nil, fmt.Errorf("%w: row %d, column %d is %v", ErrReward, p/d, p%d, v)
		}
	}
	return &Matrix{rows: rows, n: n, d: d}, nil
}

func (m *Matrix) Len() int { return m.n }
func (m *Matrix) Dim() int { return m.d }

// Pull copies column j of the listed rows.
func (m *Matrix) Pull(j int, arms []int, dst []float64) {
	for p, i := range arms {
		dst[p] = float64(m.rows[i*m.d+j])
	}
}

// Computed is a family whose rewards are computed when they are pulled, for any f
// and for dimensions that exceed memory.
type Computed struct {
	n, d   int
	reward func(i, j int) float64
}

// NewComputed wraps reward, which must return the same value for the same
// (i, j) each time.
func NewComputed(n, d int, reward func(i, j int) float64) (*Computed, error) {
	if n < 1 || d < 1 || reward == nil {
		return nil, fmt.Errorf("%w: %d arms of dimension %d, reward function given: %t", ErrNoArms, n, d, reward != nil)
	}
	return &Computed{n: n, d: d, reward: reward}, nil
}

func (c *Computed) Len() int { return c.n }
func (c *Computed) Dim() int { return c.d }

// Pull computes coordinate j of the listed arms.
func (c *Computed) Pull(j int, arms []int, dst []float64) {
	for p, i := range arms {
		dst[p] = c.reward(i, j)
	}
}

// Products is maximum inner product search: f(i, j) = q_j v_ij, exact in
// float64 for float32 values.
type Products struct {
	atoms Arms
	query []float32
}

// NewProducts pairs atoms, arms whose rewards are the coordinates v_ij, with a
// query of their dimension; the caller keeps both.
func NewProducts(atoms Arms, query []float32) (*Products, error) {
	if err := checkQuery(atoms, query); err != nil {
		return nil, err
	}
	return &Products{atoms: atoms, query: query}, nil
}

func (p *Products) Len() int { return p.atoms.Len() }
func (p *Products) Dim() int { return p.atoms.Dim() }

// Pull computes q_j v_ij.
func (p *Products) Pull(j int, arms []int, dst []float64) {
	p.atoms.Pull(j, arms, dst)
	q := float64(p.query[j])
	for i := range dst {
		dst[i] *= q
	}
}

// Range returns the smallest interval that holds q_j v for every coordinate
// and every v in [vlo, vhi].
func (p *Products) Range(vlo, vhi float32) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, q := range p.query {
		a, b := float64(q)*float64(vlo), float64(q)*float64(vhi)
		lo, hi = min(lo, a, b), max(hi, a, b)
	}
	return lo, hi
}

// Distances is nearest neighbour search. With p the value of the atoms' range
// nearest to q_j,
//
//	f(i, j) = (q_j - p)^2 - (q_j - v_ij)^2 = (v_ij - p) (2 q_j - p - v_ij)
//
// which is -(q_j - v_ij)^2 if q_j is in the range, and at most 0 everywhere. For q_j
// beyond the range, the term that all arms share would widen the range of rewards and,
// for a query about 2^31 times as long as its neighbours, make the differences between
// arms vanish by rounding. So would a p far from the range, such as 0 for coordinates
// with an offset.
type Distances struct {
	atoms    Arms
	query    []float32
	vlo, vhi float32
}

// NewDistances pairs atoms, arms whose rewards are the coordinates v_ij, all of
// them in [vlo, vhi], with a query of their dimension; the caller keeps both.
func NewDistances(atoms Arms, query []float32, vlo, vhi float32) (*Distances, error) {
	if err := checkQuery(atoms, query); err != nil {
		return nil, err
	}
	if !(vlo <= vhi) || !finite(float64(vlo)) || !finite(float64(vhi)) {
		return nil, fmt.Errorf("%w: coordinates in [%v, %v]", ErrRange, vlo, vhi)
	}
	return &Distances{atoms: atoms, query: query, vlo: vlo, vhi: vhi}, nil
}

func (d *Distances) Len() int { return d.atoms.Len() }
func (d *Distances) Dim() int { return d.atoms.Dim() }

// Pull computes (q_j - p)^2 - (q_j - v_ij)^2.
func (d *Distances) Pull(j int, arms []int, dst []float64) {
	d.atoms.Pull(j, arms, dst)
	q := float64(d.query[j])
	for i, v := range dst {
		dst[i] = d.reward(q, v)
	}
}

// reward has a relative error of at most 2^-51.
func (d *Distances) reward(q, v float64) float64 {
	p := min(max(q, float64(d.vlo)), float64(d.vhi))
	return (v - p) * ((q - p) + (q - v))
}

// Range returns an interval that holds the rewards of every coordinate and every
// float32 v in [vlo, vhi]: neighbours of these differ by more than rewards round.
func (d *Distances) Range() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, x := range d.query {
		q := float64(x)
		a, b := d.reward(q, float64(d.vlo)), d.reward(q, float64(d.vhi))
		lo, hi = min(lo, a, b), max(hi, a, b)
		if d.vlo < x && x < d.vhi { // the parabola's top
			hi = max(hi, d.reward(q, q))
		}
	}
	return lo, hi
}

func checkQuery(atoms Arms, query []float32) error {
	if err := checkArms(atoms); err != nil {
		return err
	}
	if d := atoms.Dim(); len(query) != d {
		return fmt.Errorf("%w: query of %d, atoms of %d", ErrDim, len(query), d)
	}
	for j, q := range query {
		if !finite(float64(q)) {
			return fmt.Errorf("%w: query coordinate %d is %v", ErrReward, j, q)
		}
	}
	return nil
}

func finite(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }

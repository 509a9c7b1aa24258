package slate

// Coverage is probabilistic coverage: f_g(S) = 1 - prod_{e in S} (1 - x_e(g)) for topics
// g (El-Arini, Veda, Shahaf, Guestrin, KDD 2009). With vectors of zeros and ones it is the
// coverage of d elements by sets.
type Coverage struct {
	n, d    int
	vectors []float64
	bound   float64
}

var _ Separable = (*Coverage)(nil)

// NewCoverage returns the coverage of d topics by n items with vectors in [0,1], n*d
// numbers row-major. It retains vectors, which must not change.
func NewCoverage(n, d int, vectors []float64) (*Coverage, error) {
	if err := checkVectors("coverage", n, d, vectors, 1); err != nil {
		return nil, err
	}
	return &Coverage{n: n, d: d, vectors: vectors, bound: longest(d, vectors)}, nil
}

// Size returns n.
func (c *Coverage) Size() int { return c.n }

// Features returns the number of topics.
func (c *Coverage) Features() int { return c.d }

// Bound returns the largest norm of a gain.
func (c *Coverage) Bound() float64 { return c.bound }

// Vectors returns the n*d numbers x_e, row-major; they must not be changed.
func (c *Coverage) Vectors() []float64 { return c.vectors }

// NewList returns an empty list.
func (c *Coverage) NewList() List {
	l := &coverageList{of: c, residual: make([]float64, c.d)}
	l.Reset()
	return l
}

// Shrink multiplies the residual by 1 - x_e.
func (c *Coverage) Shrink(residual []float64, e int) {
	for g, x := range c.row(e) {
		residual[g] *= 1 - x
	}
}

func (c *Coverage) row(e int) []float64 { return c.vectors[e*c.d : (e+1)*c.d] }

type coverageList struct {
	of       *Coverage
	residual []float64 // prod (1 - x_e(g)), the probability that g is still uncovered
}

func (l *coverageList) Gains(dst []float64, e int) {
	x := l.of.row(e)
	dst = dst[:len(x)]
	r := l.residual[:len(x)]
	for g := range dst {
		dst[g] = x[g] * r[g]
	}
}

func (l *coverageList) Append(e int) { l.of.Shrink(l.residual, e) }

func (l *coverageList) Reset() {
	for g := range l.residual {
		l.residual[g] = 1
	}
}

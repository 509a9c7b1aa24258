package papers

import (
	"math"
	"math/rand/v2"
	"testing"

	"thresher/internal/philox"

	"gonum.org/v1/gonum/stat/distuv"
)

// Data sets of the two papers, and the oracle and the test that the published
// algorithms are held to.

// publishedNormal is the i-th standard normal number of a source.
func publishedNormal(s *philox.Source, i uint64) float64 {
	a, b := s.Pair(i)
	u := (float64(a>>11) + 0.5) * 0x1p-53
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*float64(b>>11)*0x1p-53)
}

// generatedAtoms computes v_ij = scale_i q_j + shift_i + noise when it is pulled;
// no n x d matrix exists, and coordinate j is the same at every dimension.
type generatedAtoms struct {
	d            int
	scale, shift []float64
	query        []float32
	noise        *philox.Source
}

func (g *generatedAtoms) Len() int { return len(g.scale) }
func (g *generatedAtoms) Dim() int { return g.d }
func (g *generatedAtoms) Pull(j int, arms []int, dst []float64) {
	q := float64(g.query[j])
	for p, i := range arms {
		x := g.scale[i]*q + g.shift[i] + publishedNormal(g.noise, uint64(i)<<32|uint64(j))
		dst[p] = float64(float32(x))
	}
}

// publishedSet is a query with its atoms; means[i] is the expectation of
// q_j v_ij under the model.
type publishedSet struct {
	atoms    *generatedAtoms
	products *Products
	query    []float32
	means    []float64
}

// gap is the distance of the two largest expectations.
func (s *publishedSet) gap() float64 {
	_, top := ranked(allArms(len(s.means)), s.means, 2)
	return top[0] - top[1]
}

// newPublishedSet draws a set of arXiv 2212.07551, section 9.1 or appendix 13.
func newPublishedSet(t testing.TB, name string, n, d int, seed uint64) *publishedSet {
	t.Helper()
	r := rand.New(philox.New(seed, 1))
	theta := r.NormFloat64()
	s := &publishedSet{query: make([]float32, d), means: make([]float64, n)}
	g := &generatedAtoms{d: d, scale: make([]float64, n), shift: make([]float64, n), query: s.query, noise: philox.New(seed, 2)}
	for i := range n {
		a := r.NormFloat64()
		switch name {
		case "NORMAL_CUSTOM":
			g.shift[i], s.means[i] = a, theta*a
		case "CORRELATED_NORMAL_CUSTOM":
			g.scale[i], s.means[i] = a, a*(1+theta*theta)
		case "SymmetricNormal":
			theta = 0
		default:
			t.Fatalf("no data set %q", name)
		}
	}
	q := philox.New(seed, 3)
	for j := range s.query {
		s.query[j] = float32(theta + publishedNormal(q, uint64(j)))
	}
	s.atoms = g
	var err error
	if s.products, err = NewProducts(g, s.query); err != nil {
		t.Fatal(err)
	}
	return s
}

// oracle adds all rewards in float64 and returns the k best of ids.
func oracle(arms Arms, ids []int, k int) ([]int, []float64) {
	sums, column := make([]float64, len(ids)), make([]float64, len(ids))
	for j := range arms.Dim() {
		arms.Pull(j, ids, column)
		for p, x := range column {
			sums[p] += x
		}
	}
	return ranked(ids, sums, k)
}

// falseAlarm is the level of every one-sided binomial test here: a method that
// keeps its delta fails one such test in a million fresh seeds.
const falseAlarm = 1e-6

// exceeds says whether that many failures refute a failure probability of delta.
func exceeds(trials, failures int, delta float64) bool {
	return distuv.Binomial{N: float64(trials), P: delta}.Survival(float64(failures-1)) < falseAlarm
}

// randomRows is n x d values drawn from value.
func randomRows(t testing.TB, n, d int, seed uint64, value func(r *rand.Rand, i int) float32) *Matrix {
	t.Helper()
	r := rand.New(philox.New(seed, 4))
	rows := make([]float32, n*d)
	for p := range rows {
		rows[p] = value(r, p/d)
	}
	m, err := NewMatrix(rows, n, d)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

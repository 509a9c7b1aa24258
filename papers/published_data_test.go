package papers

import (
	"math/rand/v2"
	"testing"

	"thresher/internal/philox"
	"thresher/papers/data"

	"gonum.org/v1/gonum/stat/distuv"
)

// Data sets of the papers, and the oracle and the test that the published algorithms are held to.

// publishedSet is a generated set with the products of its first query.
type publishedSet struct {
	*data.Set
	products *Products
	query    []float32
	means    []float64
}

// gap is the distance of the two largest expectations.
func (s *publishedSet) gap() float64 { return s.Set.Gap(0) }

// newPublishedSet draws a set of arXiv 2212.07551, section 9.1 or appendix 13.
func newPublishedSet(t testing.TB, name string, n, d int, seed uint64) *publishedSet {
	t.Helper()
	var set *data.Set
	switch name {
	case "NORMAL_CUSTOM":
		set = data.Normal(n, d, 1, seed)
	case "CORRELATED_NORMAL_CUSTOM":
		set = data.Correlated(n, d, seed)
	case "CORRELATED (programs)":
		set = data.Mixed(n, d, 3, seed)
	case "SymmetricNormal":
		set = data.Symmetric(n, d, 1, seed)
	default:
		t.Fatalf("no data set %q", name)
	}
	products, err := NewProducts(set.Atoms, set.Queries[0])
	if err != nil {
		t.Fatal(err)
	}
	return &publishedSet{Set: set, products: products, query: set.Queries[0], means: set.Means[0]}
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

package bandit

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNewMatrixErrors(t *testing.T) {
	nan := float32(math.NaN())
	cases := []struct {
		name string
		rows []float32
		n, d int
		want error
	}{
		{"no rows", nil, 0, 3, ErrNoArms},
		{"no columns", nil, 3, 0, ErrNoArms},
		{"short", make([]float32, 5), 2, 3, ErrDim},
		{"long", make([]float32, 9), 2, 3, ErrDim},
		{"NaN", []float32{1, 2, 3, nan}, 2, 2, ErrReward},
		{"infinite", []float32{1, float32(math.Inf(-1))}, 1, 2, ErrReward},
	}
	for _, c := range cases {
		if _, err := NewMatrix(c.rows, c.n, c.d); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
	_, err := NewMatrix([]float32{1, 2, 3, nan}, 2, 2)
	if err == nil || err.Error() != "reward not usable: row 1, column 1 is NaN" {
		t.Errorf("message %q", err)
	}
}

func TestQueriesAreChecked(t *testing.T) {
	m, err := NewMatrix([]float32{1, 2, 3, 4}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewProducts(m, []float32{1}); !errors.Is(err, ErrDim) {
		t.Errorf("short query: %v", err)
	}
	if _, err := NewDistances(m, []float32{1, float32(math.NaN())}); !errors.Is(err, ErrReward) {
		t.Errorf("NaN query: %v", err)
	}
	if _, err := NewProducts(nil, []float32{1}); !errors.Is(err, ErrNoArms) {
		t.Errorf("no atoms: %v", err)
	}
	if _, err := NewComputed(1, 1, nil); !errors.Is(err, ErrNoArms) {
		t.Errorf("no function: %v", err)
	}
}

// Rewards are those of their definition, for any list of arms, and lie in the
// range that is claimed for them.
func TestRewardsAndRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 6).Draw(t, "n"), rapid.IntRange(1, 6).Draw(t, "d")
		value := rapid.Float32Range(-3, 2)
		rows := rapid.SliceOfN(value, n*d, n*d).Draw(t, "rows")
		query := rapid.SliceOfN(rapid.Float32Range(-9, 9), d, d).Draw(t, "query")
		m, err := NewMatrix(rows, n, d)
		if err != nil {
			t.Fatal(err)
		}
		products, err := NewProducts(m, query)
		if err != nil {
			t.Fatal(err)
		}
		distances, err := NewDistances(m, query)
		if err != nil {
			t.Fatal(err)
		}
		plo, phi := products.Range(-3, 2)
		dlo, dhi := distances.Range(-3, 2)
		arms := rapid.SliceOf(rapid.IntRange(0, n-1)).Draw(t, "arms")
		got, product, distance := make([]float64, len(arms)), make([]float64, len(arms)), make([]float64, len(arms))
		for j := range d {
			m.Pull(j, arms, got)
			products.Pull(j, arms, product)
			distances.Pull(j, arms, distance)
			for p, i := range arms {
				v, q := float64(rows[i*d+j]), float64(query[j])
				if got[p] != v || product[p] != v*q || distance[p] != -(q-v)*(q-v) {
					t.Fatalf("arm %d, coordinate %d: %v, %v, %v", i, j, got[p], product[p], distance[p])
				}
				if product[p] < plo || product[p] > phi || distance[p] < dlo || distance[p] > dhi {
					t.Fatalf("rewards %v, %v outside [%v, %v], [%v, %v]", product[p], distance[p], plo, phi, dlo, dhi)
				}
			}
		}
	})
}

func TestRankedOrder(t *testing.T) {
	ids, scores := ranked([]int{4, 2, 9, 7}, []float64{1, 3, 1, 3}, 3)
	if diff := cmp.Diff([]int{2, 7, 4}, ids); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{3, 3, 1}, scores); diff != "" {
		t.Error(diff)
	}
}

// A pull of many arms allocates nothing.
func TestPullsDoNotAllocate(t *testing.T) {
	m, err := NewMatrix(make([]float32, 640), 64, 10)
	if err != nil {
		t.Fatal(err)
	}
	products, err := NewProducts(m, make([]float32, 10))
	if err != nil {
		t.Fatal(err)
	}
	e, err := newElimination(products, BanditMIPSOptions{K: 1, Delta: .1, Sigma: 1})
	if err != nil {
		t.Fatal(err)
	}
	e.coords = &orderedCoordinates{order: make([]int, 1000)}
	e.rounds = make([]RoundTally, 0, 1000)
	if allocations := testing.AllocsPerRun(100, func() {
		if err := e.pull(); err != nil {
			t.Fatal(err)
		}
		e.drop()
	}); allocations != 0 {
		t.Errorf("%v allocations a coordinate", allocations)
	}
}

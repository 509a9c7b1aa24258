package papers

import (
	"errors"
	"math"
	"math/big"
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
	if _, err := NewDistances(m, []float32{1, float32(math.NaN())}, 1, 4); !errors.Is(err, ErrReward) {
		t.Errorf("NaN query: %v", err)
	}
	for _, end := range []float32{0, float32(math.NaN()), float32(math.Inf(1))} {
		if _, err := NewDistances(m, []float32{1, 2}, 1, end); !errors.Is(err, ErrRange) {
			t.Errorf("coordinates from 1 to %v: %v", end, err)
		}
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
		ends := [][2]float32{{-3, 2}, {1e-12, 3}, {-1e30, -999}, {999, 1001}, {0, 1e-20}}
		at := rapid.SampledFrom(ends).Draw(t, "ends")
		value := rapid.Float32Range(at[0], at[1])
		rows := rapid.SliceOfN(value, n*d, n*d).Draw(t, "rows")
		query := rapid.SliceOfN(rapid.OneOf(value, rapid.Float32Range(-9, 9)), d, d).Draw(t, "query")
		m, err := NewMatrix(rows, n, d)
		if err != nil {
			t.Fatal(err)
		}
		products, err := NewProducts(m, query)
		if err != nil {
			t.Fatal(err)
		}
		distances, err := NewDistances(m, query, at[0], at[1])
		if err != nil {
			t.Fatal(err)
		}
		plo, phi := products.Range(at[0], at[1])
		dlo, dhi := distances.Range()
		arms := rapid.SliceOf(rapid.IntRange(0, n-1)).Draw(t, "arms")
		got, product, distance := make([]float64, len(arms)), make([]float64, len(arms)), make([]float64, len(arms))
		for j := range d {
			m.Pull(j, arms, got)
			products.Pull(j, arms, product)
			distances.Pull(j, arms, distance)
			q := float64(query[j])
			p := min(max(q, float64(at[0])), float64(at[1]))
			for k, i := range arms {
				v := float64(rows[i*d+j])
				want := new(big.Float).Sub(square(q, p), square(q, v))
				off, _ := want.Sub(want, big.NewFloat(distance[k])).Float64()
				if got[k] != v || product[k] != v*q || math.Abs(off) > 0x1p-50*math.Abs(distance[k]) {
					t.Fatalf("arm %d, coordinate %d: %v, %v, %v, off by %g", i, j, got[k], product[k], distance[k], off)
				}
				if product[k] < plo || product[k] > phi || distance[k] < dlo || distance[k] > dhi {
					t.Fatalf("rewards %v, %v outside [%v, %v], [%v, %v]", product[k], distance[k], plo, phi, dlo, dhi)
				}
			}
		}
	})
}

// square is (x - y)^2 of float32 values, exact.
func square(x, y float64) *big.Float {
	d := new(big.Float).SetPrec(600).Sub(big.NewFloat(x), big.NewFloat(y))
	return d.Mul(d, d)
}

// The range of distances is at most twice that of the squares, wherever the atoms
// lie, and far smaller for a query far away.
func TestRangeOfDistances(t *testing.T) {
	for _, x := range []struct {
		vlo, vhi float32
		query    []float32
		most     float64
	}{
		{-1, 1, []float32{0, -1, 1, .3}, 4},
		{0, 1, []float32{0, 1}, 2},
		{999, 1001, []float32{999, 1000.5}, 8},
		{-1001, -999, []float32{-1000, -999}, 8},
		{-1, 1, []float32{1e10, 3, -1e10}, 4.1e10},
	} {
		m, err := NewMatrix([]float32{x.vlo, x.vhi}, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		d, err := NewDistances(constant{m, len(x.query)}, x.query, x.vlo, x.vhi)
		if err != nil {
			t.Fatal(err)
		}
		if lo, hi := d.Range(); !(hi-lo <= x.most*(1+1e-12)) {
			t.Errorf("atoms in [%g, %g], query %g: rewards in [%g, %g], wider than %g", x.vlo, x.vhi, x.query, lo, hi, x.most)
		}
	}
}

// constant arms have d equal coordinates.
type constant struct {
	*Matrix
	d int
}

func (c constant) Dim() int { return c.d }

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

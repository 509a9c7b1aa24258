package collection

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"thresher/internal/race"
	"thresher/internal/vectors"
)

// TestGivenOrder: a build in a given order has each atom's terms in that order, the codes of any
// other build, and the greatest norm of the later atoms of each panel.
func TestGivenOrder(t *testing.T) {
	const n, dim = 1000, 80
	rows := vectors.Scale(vectors.Rand(1), vectors.PowerLaw(vectors.Rand(2), n, dim), dim, -2, 2)
	r := rand.New(rand.NewPCG(1, 2))
	order := make([]uint32, n)
	for i, row := range r.Perm(n) {
		order[i] = uint32(row)
	}
	for _, metric := range []Metric{Cosine, Euclidean} { // whose heads do not weigh norms
		c, err := Build(t.Context(), rows, dim, &Options{Metric: metric, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		given, err := Build(t.Context(), rows, dim, &Options{Metric: metric, Seed: 1, Order: order})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(given.Order, order) {
			t.Fatalf("%s: another order", metric)
		}
		at := make([]int, n)
		for i, row := range c.Order {
			at[row] = i
		}
		for i, row := range order {
			if metric == Cosine && !slices.Equal(given.Code(i), c.Code(at[row])) || given.Norm[i] != c.Norm[at[row]] {
				t.Fatalf("%s: atom %d (row %d) has other codes", metric, i, row)
			}
			if given.Norm[i] > given.NormCaps[i/PanelAtoms] {
				t.Fatalf("%s: norm %g of atom %d exceeds %g", metric, given.Norm[i], i, given.NormCaps[i/PanelAtoms])
			}
		}
	}
}

func TestGivenOrderRefuses(t *testing.T) {
	rows := vectors.Gaussian(vectors.Rand(1), 4, 32)
	for want, o := range map[string]*Options{
		"order of 3 vectors":  {Metric: InnerProduct, Order: []uint32{0, 1, 2}},
		"is no permutation":   {Metric: InnerProduct, Order: []uint32{0, 1, 2, 2}},
		"of the 4 rows":       {Metric: InnerProduct, Order: []uint32{0, 1, 2, 4}},
		"needs basis rotated": {Metric: InnerProduct, Order: []uint32{0, 1, 2, 3}, Basis: Raw},
	} {
		if _, err := Build(t.Context(), rows, 32, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestHeadOption: the head has the directions asked for, as far as rows and dimension allow.
func TestHeadOption(t *testing.T) {
	race.Skip(t, "one goroutine")
	rows := vectors.PowerLaw(vectors.Rand(2), 3000, 200)
	for head, want := range map[int]int{0: 32, 48: 48, 50: 48, 96: 96, 4096: 96} {
		c, err := Build(t.Context(), rows, 200, &Options{Metric: InnerProduct, Seed: 1, Head: head})
		if err != nil {
			t.Fatal(err)
		}
		if c.R != want {
			t.Errorf("head %d: %d directions, want %d", head, c.R, want)
		}
	}
	small, err := Build(t.Context(), rows[:30*40], 40, &Options{Metric: InnerProduct, Head: 96})
	if err != nil {
		t.Fatal(err)
	}
	if small.R != 0 {
		t.Errorf("%d directions of 30 rows", small.R)
	}
}

package looks

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"thresher/collection"
	"thresher/internal/vectors"
)

// TestCapFrom: no atom of a panel or of a later one scores more than their cap, whether atoms near the centre come
// first or last, and an atom in the direction of the query comes near it.
func TestCapFrom(t *testing.T) {
	const n, dim = 1500, 40
	rows := vectors.Scale(vectors.Rand(1), vectors.Gaussian(vectors.Rand(2), n, dim), dim, -1, 1)
	nearFirst, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: collection.Euclidean, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	order := make([]uint32, n)
	for i, row := range nearFirst.Order {
		order[n-1-i] = row
	}
	farFirst, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: collection.Euclidean, Seed: 1, Order: order})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*collection.Collection{"near first": nearFirst, "far first": farFirst} {
		reached := 0
		for _, from := range []int{0, n / 2, n - 1} {
			for _, f := range []float64{.01, .5, 1, 3} { // times atom from, relative to the centre
				q := relative(c, int(c.Order[from]))
				floats.Scale(f, q)
				norm := floats.Norm(q, 2)
				exp := c.Metric.Exponent(norm)
				factor := math.Ldexp(1, -exp)
				best := math.Inf(-1)
				for panel := c.PanelCount() - 1; panel >= 0; panel-- {
					for i := panel * collection.PanelAtoms; i < min((panel+1)*collection.PanelAtoms, n); i++ {
						v := relative(c, int(c.Order[i]))
						best = max(best, (floats.Dot(q, v)-floats.Dot(v, v)/2)*factor)
					}
					most := CapFrom(c, norm*factor*collection.Up, factor, panel)
					if !(most >= best) || most > Cap(c, norm*factor*collection.Up, panel)*(1+1e-6) {
						t.Fatalf("%s, panel %d, %g times atom %d: an atom scores %g, of at most %g", name, panel, f, from, best, most)
					}
					if best > most-1e-5*math.Abs(most) {
						reached++
					}
				}
				if got := CapFrom(c, norm, factor, c.PanelCount()); !math.IsInf(got, -1) {
					t.Errorf("of no atom %g", got)
				}
			}
		}
		if reached == 0 {
			t.Errorf("%s: no cap is near the best score", name)
		}
	}
}

// relative returns a row less the centre.
func relative(c *collection.Collection, row int) []float64 {
	v := make([]float64, c.Dim)
	for j, x := range c.Row(row) {
		v[j] = float64(x) - c.Centre[j]
	}
	return v
}

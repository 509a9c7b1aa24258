package dense

import (
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/internal/vectors"
	"thresher/simd"
)

// TestDenseOfFarRows: if all rows share a large offset, the dense path scores as few rows
// in float64 as without it. If it did not subtract the centre it would score almost all.
func TestDenseOfFarRows(t *testing.T) {
	const n, dim, m, k = 6000, 40, 20, 10
	near := vectors.Gaussian(vectors.Rand(4), n+m, dim)
	for i, v := range near {
		near[i] = float32(math.Round(float64(v)*8) / 8) // the offset takes nothing of them
	}
	exact := func(offset float32, ignored bool) int {
		rows := slices.Clone(near)
		for i := range rows {
			rows[i] += offset
		}
		c, err := collection.Build(t.Context(), rows[:n*dim], dim, &collection.Options{Metric: collection.Euclidean})
		if err != nil {
			t.Fatal(err)
		}
		if far := offset > 0; c.Far() != far {
			t.Errorf("offset %g: far is %v", offset, c.Far())
		}
		r := rowsOf(t, c, simd.Best(), 2)
		if ignored {
			terms := r.terms()
			terms.far = false
			terms.greatest += c.CentreNorm()
			for row := range terms.size {
				terms.size[row] += float32(c.CentreNorm())
			}
		}
		goals := make([]backend.Goal, m)
		for j := range goals {
			goals[j] = backend.Goal{K: k, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
		}
		answers, scored := answerAll(t, begin(t, r, rows[n*dim:], goals))
		o := backendtest.NewOracle(c)
		for j, a := range answers {
			q := rows[(n+j)*dim : (n+j+1)*dim]
			if ds := o.Explain(q, goals[j], a, o.Answer(q, goals[j])); len(ds) > 0 {
				t.Errorf("offset %g, query %d: %v", offset, j, ds)
			}
		}
		return scored
	}
	without, with, ignored := exact(0, false), exact(1<<20, false), exact(1<<20, true)
	if with > 2*without || without > m*n/20 {
		t.Errorf("%d rows of %d scored in float64, %d with an offset", without, m*n, with)
	}
	if ignored < 10*with {
		t.Errorf("%d rows scored in float64 where no centre is subtracted, %d where one is: the test shows nothing", ignored, with)
	}
}

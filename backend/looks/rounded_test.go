package looks

import (
	"math"
	"math/rand/v2"
	"testing"

	"thresher/collection"
	"thresher/dataset"
)

// roundedAlike returns rows and a query of float64 whose coordinates all lose nearly half a step of float32 in the same
// direction, so that the error of their product is nearly the greatest.
func roundedAlike(n, dim int) (rows, query []float64) {
	for range (n + 1) * dim {
		rows = append(rows, 1+.999*0x1p-24)
	}
	return rows[:n*dim], rows[n*dim:]
}

func drawn(n, dim int) (rows, query []float64) {
	r := rand.New(rand.NewPCG(uint64(n), 24))
	for range (n + 1) * dim {
		rows = append(rows, math.Ldexp(r.NormFloat64(), r.IntN(8)-200*(r.IntN(9)/8)))
	}
	return rows[:n*dim], rows[n*dim:]
}

// TestRounded: the score of a row of float64 for a query is within Apart, or its distance within Away, of that of both
// rounded to float32, so thresholds that scores or lower bounds make are below the rounded scores of rows that must stay;
// and the bounds are not much greater than the error can be.
func TestRounded(t *testing.T) {
	const n, dim = 30, 17
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		for name, draw := range map[string]func(int, int) ([]float64, []float64){"alike": roundedAlike, "drawn": drawn} {
			rows, q := draw(n, dim)
			v, err := dataset.VectorsOf(rows, dim)
			if err != nil {
				t.Fatal(err)
			}
			c, err := collection.BuildVectors(t.Context(), v, &collection.Options{Metric: metric})
			if err != nil {
				t.Fatal(err)
			}
			narrow := make([]float32, dim)
			if _, err := collection.Narrow(narrow, q, dim, c.Origin); err != nil {
				t.Fatal(err)
			}
			const exp = 3
			s := NewConversion(c, c.WorkingNorm(narrow), exp).Rounded(c, collection.Norm(narrow), exp)
			worst := 0.
			for i := range n {
				given, rounded := exactScores(c, q, narrow, i)
				given, rounded = math.Ldexp(given, -exp), math.Ldexp(rounded, -exp)
				bound := rounded + s.Lead // the least that an upper bound can be
				if tau := s.Threshold(given); bound < tau {
					t.Errorf("%v, %s: row %d of score %g has bound %g, below the threshold %g of its score", metric, name, i, given, bound, tau)
				}
				if upper := s.UpperScore(bound); given > upper {
					t.Errorf("%v, %s: row %d scores %g, above %g", metric, name, i, given, upper)
				}
				for k := range n {
					better, other := exactScores(c, q, narrow, k)
					if low := s.LowerThreshold(bound); better >= math.Ldexp(given, exp) && math.Ldexp(other, -exp)+s.Lead < low {
						t.Errorf("%v, %s: row %d makes a threshold %g by its bound, which row %d does not reach", metric, name, i, low, k)
					}
				}
				worst = max(worst, math.Abs(given-rounded))
			}
			if name == "alike" && metric == collection.InnerProduct && worst < .9*s.Apart {
				t.Errorf("%v: errors of at most %g are bounded by %g", metric, worst, s.Apart)
			}
		}
	}
}

// exactScores are the search scores of row i as given, and of row and query rounded to float32.
func exactScores(c *collection.Collection, q []float64, narrow []float32, i int) (given, rounded float64) {
	var dot, far, v2, q2, dot32, far32, v32, q32 float64
	row := c.Row(i)
	for j, x := range c.Given(i) {
		dot, far, v2, q2 = dot+x*q[j], far+(x-q[j])*(x-q[j]), v2+x*x, q2+q[j]*q[j]
		y, z := float64(row[j]), float64(narrow[j])
		dot32, far32, v32, q32 = dot32+y*z, far32+(y-z)*(y-z), v32+y*y, q32+z*z
	}
	switch c.Metric {
	case collection.Euclidean:
		return -far / 2, -far32 / 2
	case collection.Cosine:
		return dot / math.Sqrt(v2*q2), dot32 / math.Sqrt(v32*q32)
	}
	return dot, dot32
}

package dense

import (
	"math"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu/arms"
	"thresher/cpu/threads"
	"thresher/internal/vectors"
	"thresher/simd"
)

// TestDenseTau: a threshold is lowered by as many least numbers as there are coordinates, whether or not
// its step is so small that this can be seen.
func TestDenseTau(t *testing.T) {
	for _, dim := range []int{1, 768, collection.MaxDim} {
		s := &Query{Query: &arms.Query{C: &collection.Collection{Dim: dim}}}
		for _, tau := range []float64{0, 1e-44, -1e-44, 1e-38, -1e-36, 0x1p-106, math.Nextafter(absorbsTiny, 0), absorbsTiny, -absorbsTiny, 1, -3e38, math.Inf(-1), math.Inf(1)} {
			want := float32(float64(float32(tau)) - s.tiny())
			if got := s.testOf(tau/2, tau/2); got != want {
				t.Errorf("%d coordinates: %g is lowered to %g, want %g", dim, tau, got, want)
			}
		}
	}
}

// TestLowerBoundFrom: the lower bound by the greatest gap is at most that of each row that it is for, also
// where norms, and with them the rounding of offsets, differ by orders of magnitude.
func TestLowerBoundFrom(t *testing.T) {
	const n, dim = 300, 32
	rows := vectors.Scale(vectors.Rand(1), vectors.Gaussian(vectors.Rand(2), n, dim), dim, -3, 3)
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Euclidean} {
		c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: metric, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		r := rowsOf(t, c, simd.Best(), 1)
		x := begin(t, r, rows[:dim], []backend.Goal{{K: 1, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}})
		w, terms := &scratch{Scratch: &threads.Scratch{}}, r.terms()
		x.prepare(w, []int{0}, 0)
		tight := false
		for row := range uint32(n) {
			from, of := w.tests.lowerBoundFrom(&x.queries[0], terms, 0, 1), w.tests.lowerBound(&x.queries[0], terms, 0, row, 1)
			if from > of {
				t.Errorf("%v, row %d: %g by the greatest gap, %g by its own", metric, row, from, of)
			}
			tight = tight || from > of-1e-6*(1-of)
		}
		if !tight {
			t.Errorf("%v: no row has the greatest gap", metric)
		}
	}
}

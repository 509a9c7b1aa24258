package join_test

import (
	"math"
	"strings"
	"testing"

	"thresher/collection"
	"thresher/internal/vectors"
	"thresher/join"
)

// TestLikenessWarning: inner products of vectors of different norms are warned of; those of
// normalised ones are not, as floats of 16 bits neither, nor other metrics.
func TestLikenessWarning(t *testing.T) {
	const n, dim = 60, 24
	unit := func(round func(x float64) float64) []float32 {
		rows := vectors.Gaussian(vectors.Rand(1), n, dim)
		for i := range n {
			row := rows[i*dim : (i+1)*dim]
			norm := collection.Norm(row)
			for j, x := range row {
				row[j] = float32(round(float64(x) / norm))
			}
		}
		return rows
	}
	same := unit(func(x float64) float64 { return x })
	half := unit(func(x float64) float64 { // to 11 bits, as float16
		frac, exp := math.Frexp(x)
		return math.Ldexp(math.Round(frac*2048)/2048, exp)
	})
	last := unit(func(x float64) float64 { return x })
	for j := range dim {
		last[(n-1)*dim+j] *= 1.01
	}
	zero := unit(func(x float64) float64 { return x })
	clear(zero[5*dim : 6*dim])
	for name, x := range map[string]struct {
		rows   []float32
		metric collection.Metric
		says   string
	}{
		"norms of all sizes":         {vectors.PowerLaw(vectors.Rand(2), n, dim), collection.InnerProduct, "metric ip compares vectors of different norms (row"},
		"norms of all sizes, cosine": {vectors.PowerLaw(vectors.Rand(2), n, dim), collection.Cosine, ""},
		"norms of all sizes, l2":     {vectors.PowerLaw(vectors.Rand(2), n, dim), collection.Euclidean, ""},
		"normalised":                 {same, collection.InnerProduct, ""},
		"normalised, as float16":     {half, collection.InnerProduct, ""},
		"normalised but the last":    {last, collection.InnerProduct, "row 59 1.01), and long ones"},
		"normalised or zero":         {zero, collection.InnerProduct, ""},
		"nothing but zero":           {make([]float32, n*dim), collection.InnerProduct, ""},
	} {
		c, err := collection.Build(t.Context(), x.rows, dim, &collection.Options{Metric: x.metric, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := join.LikenessWarning(c); (got == "") != (x.says == "") || !strings.Contains(got, x.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

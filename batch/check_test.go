package batch_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestCheckQueriesTogether: of several bad values the first is reported, although several goroutines look
// for them, with its row and column; so is a row with too great a norm.
func TestCheckQueriesTogether(t *testing.T) {
	const n, dim, m = 100, 512, 2048
	rows := vectors.Embeddings(vectors.Rand(5), n, dim)
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 4)
	nan, huge := float32(math.NaN()), float32(math.MaxFloat32)
	for _, x := range []struct {
		bad  map[int]float32 // by index in the queries
		want string
	}{
		{map[int]float32{3*dim + 5: nan, 3*dim + 7: nan, 900 * dim: nan, 2047 * dim: nan}, "queries: query 3: column 5: value NaN"},
		{map[int]float32{1999*dim + 511: float32(math.Inf(-1)), 2000 * dim: nan}, "queries: query 1999: column 511: value -Inf"},
		{map[int]float32{1024 * dim: huge, 1025 * dim: nan}, "queries: query 1024: norm 3.40282"},
	} {
		queries := make([]float32, m*dim)
		for i, v := range x.bad {
			queries[i] = v
		}
		_, err := e.Search(t.Context(), batch.Request{Queries: queries, K: 3})
		var bad *batch.RequestError
		if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%v, want %s", err, x.want)
		}
	}
}

package batch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// levelled returns n rows of dim coordinates, each about a mean of its own, so that few atoms compete.
func levelled(r *rand.Rand, n, dim int) []float32 {
	x := make([]float32, n*dim)
	for i := range n {
		level := r.NormFloat64()
		for j := range dim {
			x[i*dim+j] = float32(level + r.NormFloat64())
		}
	}
	return x
}

// TestWideSearches: no method asks the backend for a look that is too wide for it, and below the whole
// row elimination still reads a small part of the codes.
func TestWideSearches(t *testing.T) {
	for _, dim := range []int{65_504, 65_536, 70_016, 140_000} {
		rows := levelled(vectors.Rand(4), 320, dim)
		queries := levelled(vectors.Rand(5), 3, dim)
		for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
			e := over(t, build(t, rows, dim, &collection.Options{Metric: metric, Seed: 3}), 1, nil)
			want := search(t, e, batch.Request{Queries: queries, K: 2, Method: batch.Exact})
			for _, m := range []batch.Method{batch.Auto, batch.Certain, batch.Adaptive} {
				t.Run(fmt.Sprintf("%d %v %s", dim, metric, m), func(t *testing.T) {
					got := search(t, e, batch.Request{Queries: queries, K: 2, Method: m, Delta: 1e-9})
					for j := range got.Answers {
						if !slices.Equal(got.Answers[j].IDs, want.Answers[j].IDs) {
							t.Errorf("query %d: %v, exact finds %v", j, got.Answers[j].IDs, want.Answers[j].IDs)
						}
						t.Log(got.Answers[j].Certificate.Plan, got.Answers[j].Certificate.Pulls)
					}
				})
			}
		}
	}
}

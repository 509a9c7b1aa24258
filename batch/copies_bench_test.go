package batch_test

import (
	"fmt"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// BenchmarkCopies times searches of atoms that are copies of 64 vectors, so that thousands of them tie
// for the last place of every answer.
func BenchmarkCopies(b *testing.B) {
	const distinct, copies, dim, queries = 64, 1000, 32, 64
	few := vectors.Gaussian(vectors.Rand(1), distinct, dim)
	rows := make([]float32, 0, distinct*copies*dim)
	for range copies {
		rows = append(rows, few...)
	}
	e := over(b, build(b, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}), 1, nil)
	for _, method := range []batch.Method{batch.Exact, batch.Certain, batch.Adaptive} {
		for _, k := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/k=%d", method, k), func(b *testing.B) {
				req := batch.Request{Queries: few[:queries*dim], K: k, Method: method}
				for b.Loop() {
					if _, err := e.Search(b.Context(), req); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*queries), "us/query")
			})
		}
	}
}

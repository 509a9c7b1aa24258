package batch_test

import (
	"fmt"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// BenchmarkOneQuery times searches of one query, and of batches, on one thread and on two: sixteen
// requests that follow each other on the one, then the same on the other. "1/2" is the time on one
// thread as a multiple of that on two.
func BenchmarkOneQuery(b *testing.B) {
	const queries, block = 256, 16
	for _, size := range []struct{ n, dim int }{{10_000, 768}, {60_000, 768}, {100_000, 768}, {1_000_000, 256}} {
		b.Run(fmt.Sprintf("%dx%d", size.n, size.dim), func(b *testing.B) {
			rows := vectors.Embeddings(vectors.Rand(1), size.n+queries, size.dim)
			c := build(b, rows[queries*size.dim:], size.dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
			engines := [2]*batch.Engine{over(b, c, 1, nil), over(b, c, 2, nil)}
			for _, m := range []int{1, queries} {
				for _, method := range []batch.Method{batch.Adaptive, batch.Certain, batch.Exact} {
					for _, k := range []int{1, 10, 100} {
						b.Run(fmt.Sprintf("m=%d/%s/k=%d", m, method, k), func(b *testing.B) {
							var took [2]time.Duration
							searches, at := 0, 0
							for b.Loop() { // threads are set here: with -cpu, testing runs b.Loop for the first value before setting it
								for i, e := range engines {
									begun := time.Now()
									for r := range block / min(m, block) {
										first := (at + r) * m % queries
										search(b, e, batch.Request{Queries: rows[first*size.dim : (first+m)*size.dim], K: k, Method: method})
									}
									took[i] += time.Since(begun)
								}
								at += block / min(m, block)
								searches += block / min(m, block)
							}
							b.ReportMetric(float64(took[0])/float64(took[1]), "1/2")
							b.ReportMetric(float64(took[1].Microseconds())/float64(searches*m), "us/query")
						})
					}
				}
			}
		})
	}
}

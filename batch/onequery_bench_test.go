package batch_test

import (
	"fmt"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// BenchmarkOneQuery is the time of a search for one query, and of one for 256, on one thread and on
// two. Threads are set here: with -cpu, testing runs b.Loop for the first value before setting it.
func BenchmarkOneQuery(b *testing.B) {
	for _, size := range []struct{ n, dim int }{{100_000, 768}, {1_000_000, 64}} {
		b.Run(fmt.Sprintf("%dx%d", size.n, size.dim), func(b *testing.B) {
			const queries = 256
			rows := vectors.Embeddings(vectors.Rand(1), size.n+queries, size.dim)
			c := build(b, rows[queries*size.dim:], size.dim, &collection.Options{Seed: 1})
			for _, m := range []int{1, queries} {
				for _, threads := range []int{1, 2} {
					b.Run(fmt.Sprintf("m=%d/threads=%d", m, threads), func(b *testing.B) {
						e := over(b, c, threads, nil)
						at := 0
						for b.Loop() {
							search(b, e, batch.Request{Queries: rows[at*size.dim : (at+m)*size.dim], K: 10})
							at = (at + m) % queries
						}
					})
				}
			}
		})
	}
}

package batch_test

import (
	"fmt"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// BenchmarkOneQuery is the time of a search for one query, and of one for 256, by the number of
// threads: run it with -cpu 1,2.
func BenchmarkOneQuery(b *testing.B) {
	for _, size := range []struct{ n, dim int }{{100_000, 768}, {1_000_000, 64}} {
		b.Run(fmt.Sprintf("%dx%d", size.n, size.dim), func(b *testing.B) {
			const queries = 256
			rows := vectors.Embeddings(vectors.Rand(1), size.n+queries, size.dim)
			c := build(b, rows[queries*size.dim:], size.dim, &collection.Options{Seed: 1})
			for _, m := range []int{1, queries} {
				b.Run(fmt.Sprintf("m=%d", m), func(b *testing.B) {
					e := over(b, c, 0, nil)
					at := 0
					for b.Loop() {
						search(b, e, batch.Request{Queries: rows[at*size.dim : (at+m)*size.dim], K: 10})
						at = (at + m) % queries
					}
				})
			}
		})
	}
}

package batch_test

import (
	"fmt"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// BenchmarkTies reports us a query of dense scans and, in turns, of the planner's choice over rows that count words, of whose scores
// many are 0 and others tie, and over as many rows without ties, whose dense scans take as long if ties cost nothing.
func BenchmarkTies(b *testing.B) {
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		for _, dim := range []int{128, 500, 2000} {
			const n, most = 10000, 256
			r := vectors.Rand(1)
			for _, what := range []string{"counts", "no-ties"} {
				rows := vectors.Embeddings(r, n+most, dim)
				if what == "counts" {
					rows = vectors.Counts(r, n+most, dim, 6)
				}
				e := open(b, rows[most*dim:], dim, &collection.Options{Metric: metric, Seed: 1}, 1)
				for _, m := range []int{1, 16, most} {
					for _, k := range []int{10, 100} {
						b.Run(fmt.Sprintf("%v/%dx%d/%s/m=%d/k=%d", metric, n, dim, what, m, k), func(b *testing.B) {
							auto := batch.Request{Queries: rows[:m*dim], K: k}
							exact := auto
							exact.Method = batch.Exact
							for range most / m { // so many that traits of rows are read
								search(b, e, exact)
							}
							var took, chosen int64
							for b.Loop() {
								took += search(b, e, exact).Took.Nanoseconds()
								chosen += search(b, e, auto).Took.Nanoseconds()
							}
							b.ReportMetric(float64(took)/1e3/float64(b.N*m), "exact-us/query")
							b.ReportMetric(float64(chosen)/1e3/float64(b.N*m), "auto-us/query")
							b.ReportMetric(0, "ns/op")
						})
					}
				}
			}
		}
	}
}

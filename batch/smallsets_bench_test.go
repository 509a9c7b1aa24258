package batch_test

import (
	"fmt"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
	"thresher/simd"
)

// BenchmarkSmallSets reports the least us a query of searches of small sets, and of the product of
// the same rows and queries alone.
func BenchmarkSmallSets(b *testing.B) {
	for _, dim := range []int{128, 768} {
		for _, n := range []int{100, 300, 800} {
			r := vectors.Rand(1)
			rows := vectors.Embeddings(r, n+1024, dim)
			e := open(b, rows[1024*dim:], dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
			for _, m := range []int{1, 16, 64, 1024} {
				for _, k := range []int{1, 10, 100} {
					b.Run(fmt.Sprintf("%dx%d/m=%d/k=%d", n, dim, m, k), func(b *testing.B) {
						queries := rows[:m*dim]
						var least, product time.Duration
						var chosen string
						for b.Loop() {
							begun := time.Now()
							resp := search(b, e, batch.Request{Queries: queries, K: k})
							if took := time.Since(begun); least == 0 || took < least {
								least = took
							}
							chosen = resp.Answers[0].Certificate.Plan
							begun = time.Now()
							multiply(rows[1024*dim:], queries, dim)
							if took := time.Since(begun); product == 0 || took < product {
								product = took
							}
						}
						each := 1e3 * float64(m)
						b.ReportMetric(float64(least)/each, "us/query")
						b.ReportMetric(float64(product)/each, "product-us/query")
						b.ReportMetric(float64(product)/float64(least), "product/search")
						b.ReportMetric(0, "ns/op")
						b.Logf("auto chose %s", chosen)
					})
				}
			}
		}
	}
}

// multiply multiplies all rows by all queries, 64 at a time.
func multiply(rows, queries []float32, dim int) {
	const width = 64
	kern, n := simd.Best(), len(rows)/dim
	panel, out := make([]float32, width*dim), make([]float32, n*width)
	for ; len(queries) > 0; queries = queries[min(width*dim, len(queries)):] {
		m := min(width, len(queries)/dim)
		if m < 8 {
			kern.Gemm(out, 16, rows, dim, n, panel, dim, 16, false)
			continue
		}
		wide := 16
		for wide < m {
			wide *= 2
		}
		kern.Pack(panel, queries, dim, m, dim, wide)
		kern.Gemm(out, wide, rows, dim, n, panel, dim, wide, false)
	}
}

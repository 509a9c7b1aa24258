package batch_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// BenchmarkDense reports the least us a query of dense scans and of the planner's choice, in turns,
// for requests of m queries.
func BenchmarkDense(b *testing.B) {
	for _, dim := range []int{64, 128, 384, 768} {
		for _, n := range []int{1000, 5000, 20000, 60000} {
			b.Run(fmt.Sprintf("%dx%d", n, dim), func(b *testing.B) {
				r := vectors.Rand(1)
				rows := vectors.Embeddings(r, n+64, dim)
				e := open(b, rows[64*dim:], dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
				for _, m := range []int{1, 2, 4, 7, 12, 16, 20, 24, 40, 48} {
					b.Run(fmt.Sprintf("m=%d", m), func(b *testing.B) { benchmarkDense(b, e, rows[:m*dim], m) })
				}
			})
		}
	}
}

func benchmarkDense(b *testing.B, e *batch.Engine, queries []float32, m int) {
	methods := []batch.Method{batch.Exact, batch.Auto, batch.Adaptive}
	least := map[batch.Method]time.Duration{}
	var chosen string
	for b.Loop() {
		for i := range 3 * len(methods) { // each three times in a row: a scan fills the caches
			method := methods[i/3]
			resp := search(b, e, batch.Request{Queries: queries, K: 10, Method: method})
			if was, ok := least[method]; !ok || resp.Took < was {
				least[method] = resp.Took
			}
			if method == batch.Auto {
				chosen = resp.Answers[0].Certificate.Plan
			}
		}
	}
	us := func(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1e3 / float64(m) }
	b.ReportMetric(us(least[batch.Exact]), "exact-us/query")
	b.ReportMetric(us(least[batch.Adaptive]), "adaptive-us/query")
	b.ReportMetric(us(least[batch.Auto]), "auto-us/query")
	best := math.Min(us(least[batch.Exact]), us(least[batch.Adaptive]))
	b.ReportMetric(us(least[batch.Auto])/best, "regret")
	b.ReportMetric(0, "ns/op")
	b.Logf("auto chose %s", chosen)
}

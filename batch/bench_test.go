package batch_test

import (
	"context"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// BenchmarkAgainstDense runs adaptive and exact in turn on the same queries and
// reports their ratio, the dense time over the adaptive one.
func BenchmarkAgainstDense(b *testing.B) {
	r := vectors.Rand(1)
	for _, set := range []struct {
		name string
		rows func() ([]float32, int)
	}{
		{"mnist-10k-784", func() ([]float32, int) { return mnist(b) }},
		{"powerlaw-20k-768", func() ([]float32, int) { return vectors.PowerLaw(r, 20000, 768), 768 }},
		{"gaussian-20k-768", func() ([]float32, int) { return vectors.Gaussian(r, 20000, 768), 768 }},
		{"powerlaw-8k-2048", func() ([]float32, int) { return vectors.PowerLaw(r, 8000, 2048), 2048 }},
	} {
		b.Run(set.name, func(b *testing.B) {
			rows, dim := set.rows()
			m := 256
			e := open(b, rows[m*dim:], dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
			queries := rows[:m*dim]
			for _, k := range []int{1, 10, 100} {
				b.Run(map[int]string{1: "k=1", 10: "k=10", 100: "k=100"}[k], func(b *testing.B) {
					var fast, slow time.Duration
					var last *batch.Response
					for b.Loop() {
						for _, method := range []batch.Method{batch.Adaptive, batch.Exact} {
							resp, err := e.Search(context.Background(), batch.Request{Queries: queries, K: k, Method: method})
							if err != nil {
								b.Fatal(err)
							}
							if method == batch.Exact {
								slow += resp.Took
								continue
							}
							fast += resp.Took
							last = resp
						}
					}
					b.ReportMetric(slow.Seconds()/fast.Seconds(), "dense/adaptive")
					b.ReportMetric(last.Stats.Saving(), "saving")
					b.ReportMetric(float64(last.Stats.RowsScored)/float64(m), "rows/query")
					b.ReportMetric(fast.Seconds()/float64(b.N)/float64(m)*1e6, "us/query")
					c := last.Answers[0].Certificate
					b.Logf("%s predicted %.4f looks %+v", c.Plan, c.Predicted, c.Looks)
				})
			}
		})
	}
}

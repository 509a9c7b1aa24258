package batch_test

import (
	"context"
	"fmt"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// BenchmarkLargeK searches for 1,000 to 100,000 atoms a query, 64 queries at a time, and reports
// the time a query, the rows scored in float64, and the forecast of the plan as a multiple of
// the time. With -count the methods interleave.
func BenchmarkLargeK(b *testing.B) {
	const m = 64
	for _, x := range []struct {
		n, dim int
		ks     []int
	}{
		{10_000, 784, []int{100, 1000, 10_000}},
		{60_000, 784, []int{100, 1000, 10_000, 60_000}},
		{400_000, 96, []int{1000, 10_000, 100_000}},
	} {
		r := vectors.Rand(1)
		c, err := collection.Build(context.Background(), vectors.PowerLaw(r, x.n, x.dim), x.dim, &collection.Options{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		e, err := batch.Open(context.Background(), c, cpu.New(cpu.Options{Threads: 1}), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer e.Close()
		queries := vectors.PowerLaw(r, m, x.dim)
		for _, k := range x.ks {
			for _, method := range []batch.Method{batch.Exact, batch.Certain, batch.Adaptive} {
				b.Run(fmt.Sprintf("n=%d/dim=%d/k=%d/%s", x.n, x.dim, k, method), func(b *testing.B) {
					req := batch.Request{K: k, Method: method, Queries: queries}
					var last *batch.Response
					for b.Loop() {
						resp, err := e.Search(context.Background(), req)
						if err != nil {
							b.Fatal(err)
						}
						last = resp
					}
					took := float64(b.Elapsed().Nanoseconds()) / float64(b.N*m)
					b.ReportMetric(took, "ns/query")
					b.ReportMetric(float64(last.Stats.RowsScored)/m, "rows/query")
					b.ReportMetric(last.Answers[0].Certificate.PredictedCost*float64(x.n)/took, "forecast/time")
					b.Log(last.Answers[0].Certificate.Plan)
				})
			}
		}
	}
}

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

// BenchmarkLargeK searches for 100 atoms a query up to all, and reports the time a query, the
// rows scored in float64, and the forecast of the plan as a multiple of the time. With -count the
// methods interleave.
func BenchmarkLargeK(b *testing.B) {
	for _, x := range []struct {
		n, dim int
		ms, ks []int
	}{
		{10_000, 128, []int{16, 256}, []int{100, 1000}},
		{10_000, 768, []int{16, 256}, []int{100, 1000, 10_000}},
		{60_000, 128, []int{16, 256}, []int{100, 1000}},
		{60_000, 768, []int{16, 256}, []int{100, 1000, 10_000, 60_000}},
		{400_000, 96, []int{64}, []int{1000, 10_000, 100_000}},
	} {
		b.Run(fmt.Sprintf("n=%d/d=%d", x.n, x.dim), func(b *testing.B) {
			r := vectors.Rand(1)
			c, err := collection.Build(context.Background(), vectors.PowerLaw(r, x.n, x.dim), x.dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			e, err := batch.Open(context.Background(), c, cpu.New(cpu.Options{Threads: 1}), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			for _, m := range x.ms {
				queries := vectors.PowerLaw(vectors.Rand(2), m, x.dim)
				for _, k := range x.ks {
					for _, method := range []batch.Method{batch.Exact, batch.Certain, batch.Adaptive, batch.Auto} {
						b.Run(fmt.Sprintf("m=%d/k=%d/%s", m, k, method), func(b *testing.B) {
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
							b.ReportMetric(float64(last.Stats.RowsScored)/float64(m), "rows/query")
							b.ReportMetric(last.Answers[0].Certificate.PredictedCost*float64(x.n)/took, "forecast/time")
							b.Log(last.Answers[0].Certificate.Plan)
						})
					}
				}
			}
		})
	}
}

package batch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// BenchmarkBuildingPays searches vectors once, on one core, with and without codes, in turns. It reports the least times;
// what a built coordinate costs beside the forecast, and by how much codes divide a scan, as the planner's model has
// them; and from how many queries on building pays, measured and by the model.
func BenchmarkBuildingPays(b *testing.B) {
	for _, set := range []struct {
		name string
		rows func(*rand.Rand, int, int) []float32
	}{{"gaussian", vectors.Gaussian}, {"embeddings", vectors.Embeddings}, {"powerlaw", vectors.PowerLaw}} {
		for _, s := range []struct{ n, dim int }{{1000, 768}, {4000, 128}, {20000, 128}, {60000, 768}} {
			for _, m := range []int{16, 512} {
				b.Run(fmt.Sprintf("%s/%dx%d/m=%d", set.name, s.n, s.dim, m), func(b *testing.B) {
					rows := set.rows(vectors.Rand(1), s.n+m, s.dim)
					benchmarkBuildingPays(b, rows[:s.n*s.dim], rows[s.n*s.dim:], s.dim)
				})
			}
		}
	}
}

func benchmarkBuildingPays(b *testing.B, rows, queries []float32, dim int) {
	n, m, k := len(rows)/dim, len(queries)/dim, 10
	back := cpu.New(cpu.Options{Threads: 1})
	defer back.Close()
	costs := backend.Describe(back).Costs
	ctx := context.Background()
	least := map[string]time.Duration{}
	timed := func(name string, f func()) {
		began := time.Now()
		f()
		if took, have := time.Since(began), least[name]; have == 0 || took < have {
			least[name] = took
		}
	}
	req := batch.Request{Queries: queries, K: k}
	var name string
	for b.Loop() {
		for _, bare := range []bool{true, false} {
			var c *collection.Collection
			var e *batch.Engine
			var err error
			timed(fmt.Sprint("build", bare), func() {
				c, err = collection.Build(ctx, rows, dim, &collection.Options{Metric: collection.InnerProduct, NoCodes: bare, Threads: 1})
			})
			if err != nil {
				b.Fatal(err)
			}
			timed(fmt.Sprint("forecast", bare), func() { c.Forecast() })
			if e, err = batch.Open(ctx, c, back, nil); err != nil {
				b.Fatal(err)
			}
			for range 2 { // the first reads memory that no cache has
				timed(fmt.Sprint("search", bare), func() {
					var resp *batch.Response
					if resp, err = e.Search(ctx, req); err == nil {
						name = resp.Answers[0].Certificate.Plan
					}
				})
			}
			if err != nil {
				b.Fatal(err)
			}
			e.Close()
		}
	}
	ns := func(name string) float64 { return float64(least[name]) }
	coded := ns("buildfalse") + ns("forecastfalse") - ns("buildtrue")
	scan, looks := ns("searchtrue")/float64(m), ns("searchfalse")/float64(m)
	b.ReportMetric(ns("buildfalse")/1e6, "build-ms")
	b.ReportMetric(ns("forecastfalse")/1e6, "forecast-ms")
	b.ReportMetric(ns("buildtrue")/1e6, "norms-ms")
	b.ReportMetric(scan/1e3, "scan-us/query")
	b.ReportMetric(looks/1e3, "codes-us/query")
	b.ReportMetric((ns("buildfalse")-ns("buildtrue"))/(float64(n)*float64(dim)*costs.Rotate), "rotations/coordinate")
	b.ReportMetric(scan/looks, "scan/codes")
	b.ReportMetric(coded/max(1, scan-looks), "queries-pay")
	from := int64(1)
	for ; from < 1<<30 && !req.BuildingPays(n, dim, collection.InnerProduct, from, &costs); from++ {
		from += from / 8
	}
	b.ReportMetric(float64(from), "model-says")
	b.Log(name)
}

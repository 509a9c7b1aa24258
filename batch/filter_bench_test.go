package batch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// BenchmarkFilters searches 100,000 atoms with random filters for one query, 64 and 1,024, and reports the time and the
// coordinates read per query. With -count the methods interleave.
func BenchmarkFilters(b *testing.B) {
	const n, most = 100000, 1024
	for _, dim := range []int{128, 256} {
		r := vectors.Rand(1)
		c, err := collection.Build(context.Background(), vectors.PowerLaw(r, n, dim), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		e, err := batch.Open(context.Background(), c, cpu.New(cpu.Options{Threads: 1}), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer e.Close()
		queries := vectors.PowerLaw(r, most, dim)
		order := rand.New(rand.NewPCG(1, 2)).Perm(n)
		for _, method := range []batch.Method{batch.Auto, batch.Exact} {
			for _, m := range []int{1, 64, most} {
				for _, x := range []struct {
					name    string
					allowed int
				}{{"none", 0}, {"10", 10}, {"1%", n / 100}, {"10%", n / 10}, {"50%", n / 2}, {"90%", n * 9 / 10}} {
					b.Run(fmt.Sprintf("dim=%d/method=%s/m=%d/filter=%s", dim, method, m, x.name), func(b *testing.B) {
						req := batch.Request{K: 10, Method: method}
						for _, row := range slices.Sorted(slices.Values(order[:x.allowed])) {
							req.Filter = append(req.Filter, int64(row))
						}
						benchFilter(b, e, req, queries, m, dim)
					})
				}
			}
		}
	}
}

// benchFilter times searches for m queries, of which there are len(queries)/dim.
func benchFilter(b *testing.B, e *batch.Engine, req batch.Request, queries []float32, m, dim int) {
	var last *batch.Response
	j := 0
	for b.Loop() {
		req.Queries = queries[j*dim : (j+m)*dim]
		if j += m; (j+m)*dim > len(queries) {
			j = 0
		}
		resp, err := e.Search(context.Background(), req)
		if err != nil {
			b.Fatal(err)
		}
		last = resp
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*m), "ns/query")
	b.ReportMetric(float64(last.Stats.Pulls)/float64(m), "pulls/query")
	b.Log(last.Answers[0].Certificate.Plan)
}

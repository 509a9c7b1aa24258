package batch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// BenchmarkWholeRows searches by a look at whole rows, by a dense scan and as planned, in turns, and reports the lower quartile of the
// time of whole rows a query, and as multiples of it those of the dense scan and of the plan. "-benchtime 1x" is one round of 512 queries each, "9x" are nine.
func BenchmarkWholeRows(b *testing.B) {
	const queries = 512
	for _, set := range []struct {
		n, dim int
		metric collection.Metric
	}{
		{10_000, 64, collection.InnerProduct}, {10_000, 64, collection.Cosine}, {10_000, 128, collection.InnerProduct},
		{10_000, 384, collection.InnerProduct}, {10_000, 768, collection.Euclidean}, {20_000, 128, collection.Euclidean},
	} {
		rows := vectors.PowerLaw(vectors.Rand(1), set.n+queries, set.dim)
		e := open(b, rows[queries*set.dim:], set.dim, &collection.Options{Seed: 1, Metric: set.metric}, 1)
		for _, k := range []int{10, 100, 1000} {
			for _, m := range []int{1, 16, 256} {
				b.Run(fmt.Sprintf("%dx%d/%v/k=%d/m=%d", set.n, set.dim, set.metric, k, m), func(b *testing.B) {
					ways := []batch.Request{{Method: batch.Certain, Plan: "whole,rescore"}, {Method: batch.Exact}, {Method: batch.Auto}}
					took := make([][]time.Duration, len(ways))
					for b.Loop() {
						for w, req := range ways {
							req.K = k
							for at := 0; at < queries && (m > 1 || at < 64); at += m {
								req.Queries = rows[at*set.dim : (at+m)*set.dim]
								begun := time.Now()
								search(b, e, req)
								took[w] = append(took[w], time.Since(begun))
							}
						}
					}
					quartile := func(w int) float64 {
						slices.Sort(took[w])
						return float64(took[w][len(took[w])/4].Nanoseconds()) / float64(m)
					}
					whole := quartile(0)
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(whole, "ns/query")
					b.ReportMetric(quartile(1)/whole, "dense/whole")
					b.ReportMetric(quartile(2)/whole, "auto/whole")
				})
			}
		}
	}
}

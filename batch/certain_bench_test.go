package batch_test

import (
	"fmt"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
)

// BenchmarkCertain searches in turns by adaptive and by plans of certain, the planner's choice first, with
// BenchmarkThresholds' data. Times are microseconds a query, by plan; "passed" are the shares of the
// atoms, in per cent, that pass the looks of a plan.
func BenchmarkCertain(b *testing.B) {
	const most, maxAtoms, dim = 256, 100_000, 768
	all, width := thresholdRows(b, *thresholdAtoms, maxAtoms+most, dim)
	queries := all[(len(all)/width-most)*width:]
	if *thresholdQueries != "" {
		queries, _ = thresholdRows(b, *thresholdQueries, most, dim)
		queries = queries[:most*width]
	} else {
		all = all[:len(all)-most*width]
	}
	rows := all[:min(len(all), maxAtoms*width)]
	e := open(b, rows, width, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
	for _, k := range []int{1, 10, 100} {
		for _, m := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("k=%d/m=%d", k, m), func(b *testing.B) {
				requests := []batch.Request{{K: k, Method: batch.Adaptive}, {K: k, Method: batch.Certain}}
				for _, plan := range []string{"whole,rescore", "128,whole,rescore", "64,signs,rescore", "128,signs,rescore", "128,signs,whole,rescore"} {
					r := batch.Request{K: k, Method: batch.Certain, Plan: plan}
					r.Queries = queries[:width]
					if _, err := e.Search(b.Context(), r); err == nil {
						requests = append(requests, r)
					}
				}
				took, names := make([]time.Duration, len(requests)), make([]string, len(requests))
				at := 0
				for b.Loop() {
					for i, r := range requests {
						r.Queries = queries[at*width : (at+m)*width]
						begun := time.Now()
						got := search(b, e, r)
						took[i] += time.Since(begun)
						names[i] = fmt.Sprintf("%s:%s", r.Method, got.Answers[0].Certificate.Plan)
						if r.Plan == "" {
							names[i] += "(chosen)"
						}
					}
					at = (at + m) % most
				}
				for i, name := range names {
					b.ReportMetric(float64(took[i].Nanoseconds())/1e3/float64(b.N*m), name)
				}
			})
		}
	}
}

package batch_test

import (
	"fmt"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// BenchmarkSpare: what it costs that the first runs of an engine have few queries, because looks might drop nothing: the time
// of an engine's first 1,024 queries if memory is spare for so many, in turns, relative to that in one run.
func BenchmarkSpare(b *testing.B) {
	const n, dim, m = 200_000, 128, 1024
	rows := vectors.PowerLaw(vectors.Rand(5), n, dim)
	c := build(b, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	req := batch.Request{Queries: rows[:m*dim], K: 10}
	parts := []int64{8, 16, 32, 64, 128, m}
	took := make([]time.Duration, len(parts))
	search(b, over(b, c, 2, nil), req)
	for b.Loop() {
		for i, part := range parts {
			e := over(b, c, 2, &batch.Options{Spare: func(int64) int64 { return part * batch.MaxQueryBytes(n, dim, 10) }})
			begun := time.Now()
			search(b, e, req)
			took[i] += time.Since(begun)
		}
	}
	for i, part := range parts {
		b.ReportMetric(float64(took[i])/float64(took[len(parts)-1]), fmt.Sprintf("of-%d", part))
	}
}

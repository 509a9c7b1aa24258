package batch_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// BenchmarkCeilings searches 61,440 embeddings for the 10 best below a ceiling that so many atoms of
// each query score above.
func BenchmarkCeilings(b *testing.B) {
	const n, dim, m = 61440, 256, 64
	ctx := context.Background()
	rows := vectors.Embeddings(vectors.Rand(1), n+m, dim)
	c, err := collection.Build(ctx, rows[:n*dim], dim, &collection.Options{Metric: collection.Cosine, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	e, err := batch.Open(ctx, c, cpu.New(cpu.Options{Threads: 1}), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	queries := rows[n*dim:]
	for _, above := range []int{0, 10, 100, 1000, 3072} {
		req := batch.Request{Queries: queries, K: 10, Goals: make([]batch.QueryGoal, m)}
		for j := range req.Goals {
			scores := make([]float64, n)
			for i := range scores {
				scores[i] = c.Score(queries[j*dim:(j+1)*dim], i)
			}
			slices.Sort(scores)
			req.Goals[j].MaxScore = &scores[n-1-above]
		}
		for _, method := range []batch.Method{batch.Adaptive, batch.Certain, batch.Exact} {
			b.Run(fmt.Sprintf("above=%d/method=%s", above, method), func(b *testing.B) {
				req.Method = method
				for b.Loop() {
					if _, err := e.Search(ctx, req); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*m), "ns/query")
			})
		}
	}
}

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
	benchmarkWithoutBest(b, "above", func(g *batch.QueryGoal, _ []int64, scores []float64) { g.MaxScore = &scores[len(scores)-1] })
}

// BenchmarkExclusions searches the same embeddings for the 10 best but for so many best atoms of each
// query, which its goal excludes.
func BenchmarkExclusions(b *testing.B) {
	benchmarkWithoutBest(b, "excluded", func(g *batch.QueryGoal, rows []int64, _ []float64) { g.Exclude = rows[:len(rows)-1] })
}

// benchmarkWithoutBest times searches for the 10 best atoms but for the n best, for several n named by
// what. without changes a query's goal so that it wants none of the n best, given their row numbers
// and scores in descending order, and after them those of the next atom.
func benchmarkWithoutBest(b *testing.B, what string, without func(g *batch.QueryGoal, rows []int64, scores []float64)) {
	const n, dim, m = 61440, 256, 64
	ctx := context.Background()
	rows := vectors.Embeddings(vectors.Rand(1), n+m, dim)
	c, err := collection.Build(ctx, rows[:n*dim], dim, &collection.Options{Metric: collection.Cosine, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	cpus := cpu.New(cpu.Options{Threads: 1})
	costs, err := cpus.Measure(ctx) // as the command line does
	if err != nil {
		b.Fatal(err)
	}
	e, err := batch.Open(ctx, c, cpus, &batch.Options{Costs: &costs})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	queries := rows[n*dim:]
	counts := []int{0, 10, 100, 1000, 3072}
	best, err := e.Search(ctx, batch.Request{Queries: queries, K: slices.Max(counts) + 1, Method: batch.Exact, SearchScores: true})
	if err != nil {
		b.Fatal(err)
	}
	for _, count := range counts {
		req := batch.Request{Queries: queries, K: 10, Goals: make([]batch.QueryGoal, m)}
		for j := range req.Goals {
			a := &best.Answers[j]
			without(&req.Goals[j], a.IDs[:count+1], a.SearchScores[:count+1])
		}
		for _, method := range []batch.Method{batch.Adaptive, batch.Certain, batch.Exact} {
			b.Run(fmt.Sprintf("%s=%d/method=%s", what, count, method), func(b *testing.B) {
				req.Method = method
				dense := 0
				for b.Loop() {
					resp, err := e.Search(ctx, req)
					if err != nil {
						b.Fatal(err)
					}
					dense = resp.Stats.Dense
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*m), "ns/query")
				b.ReportMetric(float64(dense), "dense")
			})
		}
	}
}

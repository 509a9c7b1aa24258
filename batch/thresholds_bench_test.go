package batch_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/vectors"
)

var (
	thresholdAtoms   = flag.String("threshold-atoms", "", "`file` of vectors for BenchmarkThresholds; default are generated embeddings")
	thresholdQueries = flag.String("threshold-queries", "", "`file` of at least 256 queries for them")
)

// BenchmarkThresholds shows how much better thresholds could save. It searches in turns without
// any help, and with
//
//   - perfect: the k-th best score as the query's least score,
//   - answers: the k best atoms as candidates, whose scores then need not be computed later,
//   - similar: the answers of the most similar query before it as candidates,
//   - sample: the k-th best score of one atom in 64 as the least score, and
//   - first: that of 4,096 atoms.
//
// Finding out these scores is not part of the times. They are reported as multiples of the time
// without help.
func BenchmarkThresholds(b *testing.B) {
	const m, most, dim = 256, 60_000, 768
	ctx := context.Background()
	all, width := thresholdRows(b, *thresholdAtoms, most+m, dim)
	queries := all[(len(all)/width-m)*width:]
	if *thresholdQueries != "" {
		queries, _ = thresholdRows(b, *thresholdQueries, m, dim)
		queries = queries[:m*width]
	}
	for _, n := range []int{10_000, most} {
		rows := all[:min(n*width, len(all)-m*width)]
		e := open(b, rows, width, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
		for _, k := range []int{10, 100} {
			b.Run(fmt.Sprintf("n=%d/k=%d", n, k), func(b *testing.B) {
				exact := batch.Request{Queries: queries, K: k, Method: batch.Exact, SearchScores: true}
				best := search(b, e, exact).Answers
				names := []string{"none", "perfect", "answers", "similar", "sample", "first"}
				goals := make([][]batch.QueryGoal, len(names))
				for i := range goals[1:] {
					goals[i+1] = make([]batch.QueryGoal, m)
				}
				for j := range m {
					goals[1][j].MinScore = &best[j].SearchScores[k-1]
					goals[2][j].Candidates = best[j].IDs
					if j > 0 {
						goals[3][j].Candidates = best[maxSimilar(queries, width, j)].IDs
					}
				}
				for i, some := range [][]float32{everyNth(rows, width, 64), rows[:4096*width]} {
					if len(some) < k*width {
						continue
					}
					few := open(b, some, width, &collection.Options{Metric: collection.InnerProduct}, 1)
					for j, a := range search(b, few, exact).Answers {
						goals[4+i][j].MinScore = &a.SearchScores[k-1]
					}
				}
				var took [6]time.Duration
				for b.Loop() {
					for i := range names {
						began := time.Now()
						if _, err := e.Search(ctx, batch.Request{Queries: queries, K: k, Goals: goals[i]}); err != nil {
							b.Fatal(err)
						}
						took[i] += time.Since(began)
					}
				}
				b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N*m), "ns/query")
				for i, name := range names[1:] {
					b.ReportMetric(float64(took[i+1])/float64(took[0]), name+"/none")
				}
			})
		}
	}
}

// thresholdRows reads a file, or generates n embeddings of dim coordinates without one.
func thresholdRows(b *testing.B, file string, n, dim int) ([]float32, int) {
	if file == "" {
		return vectors.Embeddings(vectors.Rand(1), n, dim), dim
	}
	m, err := dataset.ReadAll(context.Background(), file, nil)
	if err != nil {
		b.Fatal(err)
	}
	return m.Data, m.Dim
}

// everyNth returns one row in n.
func everyNth(rows []float32, dim, n int) (some []float32) {
	for i := 0; i < len(rows); i += n * dim {
		some = append(some, rows[i:i+dim]...)
	}
	return some
}

// maxSimilar returns the query before j that has the largest product with it.
func maxSimilar(queries []float32, dim, j int) (at int) {
	row := func(i int) []float32 { return queries[i*dim : (i+1)*dim] }
	for i, most := 0, float32(0); i < j; i++ {
		var x float32
		for c, v := range row(i) {
			x += v * row(j)[c]
		}
		if i == 0 || x > most {
			at, most = i, x
		}
	}
	return at
}

package batch_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// median returns the median of times, which it sorts.
func median(times []float64) float64 {
	slices.Sort(times)
	return times[len(times)/2]
}

// BenchmarkCandidates searches 61,440 embeddings with candidates of different worth, and
// without, in turns within each iteration; it reports the time of each as a multiple of the time
// without in the same iteration, as the median of all iterations.
func BenchmarkCandidates(b *testing.B) {
	const n, dim, m = 61440, 256, 256
	ctx := context.Background()
	r := vectors.Rand(1)
	c, err := collection.Build(ctx, vectors.Embeddings(r, n+m, dim)[:n*dim], dim, &collection.Options{Metric: collection.Cosine, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	e, err := batch.Open(ctx, c, cpu.New(cpu.Options{Threads: 1}), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	// Queries are near atoms: those rows with some of the next one added.
	queries := make([]float32, m*dim)
	for j := range m {
		for i := range dim {
			queries[j*dim+i] = c.Row(j * 200)[i] + .3*c.Row(j*200 + 1)[i]
		}
	}
	for _, method := range []batch.Method{batch.Certain, batch.Adaptive} {
		for _, k := range []int{10, 100} {
			b.Run(fmt.Sprintf("method=%s/k=%d", method, k), func(b *testing.B) {
				plain := batch.Request{Queries: queries, K: k, Method: method}
				exact, err := e.Search(ctx, batch.Request{Queries: queries, K: k, Method: batch.Exact})
				if err != nil {
					b.Fatal(err)
				}
				// wrong replaces every so many of the right atoms, 0 for none, by others
				given := func(every int) batch.Request {
					req := plain
					req.Goals = make([]batch.QueryGoal, m)
					for j := range req.Goals {
						for at, id := range exact.Answers[j].IDs {
							if every > 0 && (j*k+at)%every == 0 {
								id = (id + 7919) % n
							}
							req.Goals[j].Candidates = append(req.Goals[j].Candidates, id)
						}
					}
					return req
				}
				requests := []batch.Request{plain, given(0), given(20), given(10), given(1)}
				var took [5][]float64 // ns a query
				var rows [5]int64
				for b.Loop() {
					for i, req := range requests {
						began := time.Now()
						resp, err := e.Search(ctx, req)
						if err != nil {
							b.Fatal(err)
						}
						took[i] = append(took[i], float64(time.Since(began).Nanoseconds())/m)
						rows[i] = resp.Stats.RowsScored
					}
				}
				for i, name := range []string{"", "recall1", "recall.95", "recall.9", "useless"} {
					if i == 0 {
						continue
					}
					for n := range took[i] {
						took[i][n] /= took[0][n]
					}
					b.ReportMetric(median(took[i]), name+"/none")
				}
				b.ReportMetric(median(took[0]), "ns/query")
				b.Log("rows scored", rows)
			})
		}
	}
}

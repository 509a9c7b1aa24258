package batch_test

import (
	"bufio"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// ml100k returns the ratings of MovieLens 100k, movies by users; missing ratings are 0.
func ml100k(t testing.TB) ([]float32, int) {
	const users, items = 943, 1682
	x := make([]float32, items*users)
	s := bufio.NewScanner(data(t, "ml-100k/u.data"))
	for s.Scan() {
		var user, item int
		var rating float32
		if _, err := fmt.Sscan(strings.ReplaceAll(s.Text(), "\t", " "), &user, &item, &rating); err != nil {
			t.Fatalf("%q: %v", s.Text(), err)
		}
		x[(item-1)*users+user-1] = rating
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return x, users
}

// benchmarkRegret times the planner's choice for req and the other plans of little greater forecast
// cost, alternately. It reports the least time of the choice over that of the best plan, and
// the saving over the dense scan.
func benchmarkRegret(b *testing.B, e *batch.Engine, req batch.Request) {
	const rivals = 6
	plans, err := e.Plans(req)
	if err != nil {
		b.Fatal(err)
	}
	type way struct {
		method batch.Method
		plan   string
	}
	least := map[way]time.Duration{}
	var chosen way
	var dense *way
	for i, f := range plans {
		x := way{f.Method, f.Plan}
		if f.Chosen {
			chosen = x
		}
		if f.Method == batch.Exact {
			dense = &x
		}
		if i < rivals || f.Chosen || f.Method == batch.Exact {
			least[x] = math.MaxInt64
		}
	}
	for b.Loop() {
		for x := range least {
			req.Method, req.Plan = x.method, x.plan
			least[x] = min(least[x], search(b, e, req).Took)
		}
	}
	best := chosen
	for x, took := range least {
		if took < least[best] {
			best = x
		}
	}
	b.ReportMetric(float64(least[chosen])/float64(least[best]), "regret")
	if dense != nil {
		b.ReportMetric(float64(least[*dense])/float64(least[chosen]), "dense/chosen")
	}
	b.Logf("chose %v; best %v", chosen, best)
}

// BenchmarkRegret is the regret of plans for the k best.
func BenchmarkRegret(b *testing.B) {
	const queries = 128
	for _, set := range []struct {
		name string
		rows func(t testing.TB) ([]float32, int)
	}{{"mnist", mnist}, {"ml-100k", ml100k}} {
		b.Run(set.name, func(b *testing.B) {
			rows, dim := set.rows(b)
			e := open(b, rows[queries*dim:], dim, &collection.Options{Seed: 1}, 1)
			for _, k := range []int{1, 10, 100} {
				b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
					benchmarkRegret(b, e, batch.Request{Queries: rows[:queries*dim], K: k})
				})
			}
		})
	}
}

// BenchmarkRegretOfLeastScore is the regret of plans for the mean score of an atom's neighbour of this
// rank as the least, if the request says how many atoms reach it and if it does not.
func BenchmarkRegretOfLeastScore(b *testing.B) {
	const n, dim, queries = 100_000, 256, 256
	rows := vectors.Embeddings(vectors.Rand(1), n, dim)
	e := open(b, rows, dim, &collection.Options{Seed: 1, Metric: collection.Cosine}, 1)
	for _, rank := range []int{1, 10, 100} {
		req := batch.Request{Queries: rows[:queries*dim], K: rank + 1, ExcludeSelf: true}
		least := 0.
		for _, a := range search(b, e, req).Answers {
			least += float64(a.Scores[rank-1]+a.Scores[rank]) / 2 / queries
		}
		req.K, req.MinScore = 0, &least
		mean := 0.
		for _, a := range search(b, e, req).Answers {
			mean += float64(min(len(a.IDs), 100)) / queries
		}
		for _, method := range []batch.Method{batch.Certain, batch.Auto} {
			for _, known := range []bool{true, false} {
				b.Run(fmt.Sprintf("%s/rank=%d/known=%v", method, rank, known), func(b *testing.B) {
					req.Method, req.Reaching = method, 0
					if known {
						req.Reaching = mean
					}
					benchmarkRegret(b, e, req)
				})
			}
		}
	}
}

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
	"thresher/cpu"
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

// benchmarkRegret times the planner's choices for reqs, which differ in their queries only, and the
// other plans of little greater forecast cost, alternately. It reports the least time of the choice
// over that of the best plan, and the saving over the dense scan. The second engine, if there is one,
// has other costs, by which its choice is made.
func benchmarkRegret(b *testing.B, reqs []batch.Request, engines ...*batch.Engine) {
	const rivals = 6
	type way struct {
		engine int
		method batch.Method
		plan   string
	}
	least := map[way]time.Duration{}
	chosen := make([]way, len(engines))
	var dense *way
	for n, e := range engines {
		plans, err := e.Plans(reqs[0])
		if err != nil {
			b.Fatal(err)
		}
		for i, f := range plans {
			x := way{n, f.Method, f.Plan}
			if n > 0 {
				if first := (way{0, f.Method, f.Plan}); least[first] > 0 {
					x = first // timed once
				}
			}
			if f.Chosen {
				chosen[n] = x
			}
			if f.Method == batch.Exact && n == 0 {
				dense = &x
			}
			if n == 0 && (i < rivals || f.Method == batch.Exact) || f.Chosen {
				least[x] = math.MaxInt64
			}
		}
	}
	for b.Loop() {
		for x := range least {
			took := time.Duration(0)
			for _, req := range reqs {
				req.Method, req.Plan = x.method, x.plan
				took += search(b, engines[x.engine], req).Took
			}
			least[x] = min(least[x], took)
		}
	}
	best := chosen[0]
	for x, took := range least {
		if took < least[best] {
			best = x
		}
	}
	b.ReportMetric(float64(least[chosen[0]])/float64(least[best]), "regret")
	if len(engines) > 1 {
		b.ReportMetric(float64(least[chosen[1]])/float64(least[best]), "regret-other-costs")
	}
	if dense != nil {
		b.ReportMetric(float64(least[*dense])/float64(least[chosen[0]]), "dense/chosen")
	}
	b.Logf("chose %v; best %v", chosen, best)
}

// BenchmarkRegret is the regret of plans for the k best, by costs measured here and by the built-in
// ones, for 256 queries together and for queries alone.
func BenchmarkRegret(b *testing.B) {
	const queries, alone = 256, 32
	c, err := cpu.New(cpu.Options{}).Measure(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, set := range []struct {
		name string
		rows func(t testing.TB) ([]float32, int)
	}{{"mnist", mnist}, {"ml-100k", ml100k}, {"embeddings", func(testing.TB) ([]float32, int) {
		return vectors.Embeddings(vectors.Rand(1), 40_000+queries, 768), 768
	}}} {
		b.Run(set.name, func(b *testing.B) {
			rows, dim := set.rows(b)
			col := build(b, rows[queries*dim:], dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
			measured, builtin := over(b, col, 1, &batch.Options{Costs: &c}), over(b, col, 1, nil)
			for _, k := range []int{1, 10, 100} {
				b.Run(fmt.Sprintf("k=%d/together", k), func(b *testing.B) {
					benchmarkRegret(b, []batch.Request{{Queries: rows[:queries*dim], K: k}}, measured, builtin)
				})
				b.Run(fmt.Sprintf("k=%d/alone", k), func(b *testing.B) {
					var reqs []batch.Request
					for j := range alone {
						reqs = append(reqs, batch.Request{Queries: rows[j*dim : (j+1)*dim], K: k})
					}
					benchmarkRegret(b, reqs, measured, builtin)
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
					benchmarkRegret(b, []batch.Request{req}, e)
				})
			}
		}
	}
}

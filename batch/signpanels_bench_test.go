package batch_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// BenchmarkSignPanels times one to four queries at a time, alternately by the planner's choice and by the plans of least forecast
// cost that do not begin at panels of signs. "codes/choice" is the least time by the best of those as a multiple of that of
// the choice, "signs/choice" the same by the best of those that do.
func BenchmarkSignPanels(b *testing.B) {
	const queries, rivals = 48, 3
	for _, set := range []struct {
		name   string
		n, dim int
		rows   func(n, dim int) []float32
	}{
		{"power law", 10_000, 768, func(n, dim int) []float32 { return vectors.PowerLaw(vectors.Rand(1), n, dim) }},
		{"power law", 60_000, 768, func(n, dim int) []float32 { return vectors.PowerLaw(vectors.Rand(1), n, dim) }},
		{"power law", 200_000, 128, func(n, dim int) []float32 { return vectors.PowerLaw(vectors.Rand(1), n, dim) }},
		{"embeddings", 100_000, 384, func(n, dim int) []float32 { return vectors.Embeddings(vectors.Rand(1), n, dim) }},
		{"embeddings", 300_000, 384, func(n, dim int) []float32 { return vectors.Embeddings(vectors.Rand(1), n, dim) }},
		{"Gaussian", 60_000, 384, func(n, dim int) []float32 { return vectors.Gaussian(vectors.Rand(1), n, dim) }},
	} {
		b.Run(fmt.Sprintf("%s/%dx%d", set.name, set.n, set.dim), func(b *testing.B) {
			rows := set.rows(set.n+queries, set.dim)
			e := over(b, build(b, rows[queries*set.dim:], set.dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}), 1, nil)
			for _, k := range []int{1, 10, 100} {
				for m := 1; m <= 4; m++ {
					b.Run(fmt.Sprintf("k=%d/m=%d", k, m), func(b *testing.B) { benchmarkSigns(b, e, rows[:queries*set.dim], set.dim, m, k, rivals) })
				}
			}
		})
	}
}

func benchmarkSigns(b *testing.B, e *batch.Engine, queries []float32, dim, m, k, rivals int) {
	plans, err := e.Plans(batch.Request{Queries: queries[:m*dim], K: k})
	if err != nil {
		b.Fatal(err)
	}
	type way struct {
		method batch.Method
		plan   string
	}
	signs := func(x way) bool { return strings.HasPrefix(x.plan, "signs") }
	least, chosen := map[way]time.Duration{}, way{}
	count := map[bool]int{}
	for _, p := range plans {
		x := way{p.Method, p.Plan}
		if p.Chosen {
			chosen = x
		} else if count[signs(x)]++; count[signs(x)] > rivals {
			continue
		}
		least[x] = math.MaxInt64
	}
	for b.Loop() {
		for x := range least {
			begun := time.Now()
			for j := 0; j < len(queries); j += m * dim {
				search(b, e, batch.Request{Queries: queries[j : j+m*dim], K: k, Method: x.method, Plan: x.plan})
			}
			least[x] = min(least[x], time.Since(begun))
		}
	}
	best := map[bool]time.Duration{true: math.MaxInt64, false: math.MaxInt64}
	for x, took := range least {
		best[signs(x)] = min(best[signs(x)], took)
	}
	b.ReportMetric(float64(best[false])/float64(least[chosen]), "codes/choice")
	b.ReportMetric(float64(best[true])/float64(least[chosen]), "signs/choice")
	b.Logf("chose %v", chosen)
}

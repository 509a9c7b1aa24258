package batch_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// BenchmarkHeadDirections times one query at a time on two collections of the same rows in turns: with a head of as many
// directions as collections have, and with one of 16, half of what a first look at 128 signs reads of an atom. Of each
// the plans of least forecast cost and first looks at 128 and 256 signs take part. "32/16" is the least time of the
// best plan of the first as a multiple of that of the second.
func BenchmarkHeadDirections(b *testing.B) {
	const queries, rivals = 48, 2
	heads := [2]int{0, 16}
	for _, set := range []struct {
		name   string
		n, dim int
		rows   func(n, dim int) []float32
	}{
		{"embeddings", 100_000, 384, func(n, dim int) []float32 { return vectors.Embeddings(vectors.Rand(1), n, dim) }},
		{"power law", 60_000, 768, func(n, dim int) []float32 { return vectors.PowerLaw(vectors.Rand(1), n, dim) }},
		{"power law", 200_000, 128, func(n, dim int) []float32 { return vectors.PowerLaw(vectors.Rand(1), n, dim) }},
		{"Gaussian", 60_000, 384, func(n, dim int) []float32 { return vectors.Gaussian(vectors.Rand(1), n, dim) }},
	} {
		b.Run(fmt.Sprintf("%s/%dx%d", set.name, set.n, set.dim), func(b *testing.B) {
			rows := set.rows(set.n+queries, set.dim)
			var engines [2]*batch.Engine
			for i, head := range heads {
				engines[i] = over(b, build(b, rows[queries*set.dim:], set.dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1, Head: head}), 1, nil)
			}
			for _, k := range []int{1, 10, 100} {
				b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) { benchmarkHeads(b, engines, rows[:queries*set.dim], set.dim, k, rivals) })
			}
		})
	}
}

func benchmarkHeads(b *testing.B, engines [2]*batch.Engine, queries []float32, dim, k, rivals int) {
	type way struct {
		engine int
		method batch.Method
		plan   string
	}
	least := map[way]time.Duration{}
	for i, e := range engines {
		plans, err := e.Plans(batch.Request{Queries: queries[:dim], K: k})
		if err != nil {
			b.Fatal(err)
		}
		for at, p := range plans {
			if at < rivals || p.Chosen || p.Plan == "signs128,rescore" || p.Plan == "signs256,rescore" || p.Plan == "signs128,whole,rescore" {
				least[way{i, p.Method, p.Plan}] = math.MaxInt64
			}
		}
	}
	for b.Loop() {
		for x := range least {
			begun := time.Now()
			for j := 0; j < len(queries); j += dim {
				search(b, engines[x.engine], batch.Request{Queries: queries[j : j+dim], K: k, Method: x.method, Plan: x.plan})
			}
			least[x] = min(least[x], time.Since(begun))
		}
	}
	var best [2]time.Duration
	var plan [2]string
	for x, took := range least {
		if best[x.engine] == 0 || took < best[x.engine] {
			best[x.engine], plan[x.engine] = took, x.plan
		}
	}
	b.ReportMetric(float64(best[0])/float64(best[1]), "32/16")
	b.Logf("best: %v", plan)
}

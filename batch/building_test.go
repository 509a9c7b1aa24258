package batch_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/draws"
	"thresher/simd"
)

// drawnRows draws n rows with ties, rows of zeros, and norms that differ by many orders of magnitude.
func drawnRows(t *rapid.T, n, dim int) []float32 {
	r := draws.Rand(rapid.Uint64().Draw(t, "rows"))
	kind := rapid.SampledFrom([]string{"normal", "counts", "offset", "norms"}).Draw(t, "kind")
	rows := make([]float32, n*dim)
	for i := range n {
		row := rows[i*dim : (i+1)*dim]
		scale := 1.
		if kind == "norms" {
			scale = math.Ldexp(1, r.IntN(80)-60)
		}
		for j := range row {
			switch kind {
			case "counts":
				row[j] = float32(max(0, r.IntN(8)-5))
			case "offset":
				row[j] = float32(1000 + r.NormFloat64())
			default:
				row[j] = float32(scale * r.NormFloat64())
			}
		}
		if i > 0 && r.IntN(4) == 0 {
			copy(row, rows[(i-1)*dim:i*dim])
		}
		if r.IntN(16) == 0 {
			clear(row)
		}
	}
	return rows
}

// TestWithoutCodes compares answers of a collection without codes with those of the same rows with codes, under
// all that a request can ask for.
func TestWithoutCodes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, dim := rapid.IntRange(1, 700).Draw(rt, "n"), rapid.SampledFrom([]int{16, 19, 40, 130}).Draw(rt, "dim")
		rows := drawnRows(rt, n, dim)
		m := rapid.IntRange(1, 70).Draw(rt, "m")
		r := draws.Rand(rapid.Uint64().Draw(rt, "queries"))
		queries := make([]float32, m*dim)
		for i := range queries {
			queries[i] = rows[r.IntN(len(rows))] + float32(r.IntN(3))
		}
		metric := rapid.SampledFrom([]collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean}).Draw(rt, "metric")
		o := collection.Options{Metric: metric, Seed: 3, Threads: 2}
		built := over(t, build(t, rows, dim, &o), 2, nil)
		o.NoCodes = true
		bare := over(t, build(t, rows, dim, &o), 2, nil)

		req := batch.Request{Queries: queries, K: rapid.IntRange(1, n+1).Draw(rt, "k"), SearchScores: true}
		score := built.Collection().Score(queries[:dim], r.IntN(n))
		if rapid.Bool().Draw(rt, "floor") {
			shown := metric.Shown(score)
			req.MinScore = &shown
		}
		if rapid.Bool().Draw(rt, "ceiling") {
			shown := metric.Shown(score)
			req.MaxScore = &shown
		}
		switch rapid.IntRange(0, 3).Draw(rt, "filter") {
		case 0:
			req.Filter = []int64{int64(r.IntN(n)), int64(n - 1)}
		case 1:
			req.Exclude = []int64{int64(r.IntN(n))}
		}
		if rapid.Bool().Draw(rt, "goals") {
			req.Goals = make([]batch.QueryGoal, m)
			for j := range req.Goals {
				req.Goals[j].Exclude = []int64{int64(r.IntN(n))}
				req.Goals[j].Candidates = []int64{int64(r.IntN(n))}
			}
		}
		for _, method := range []batch.Method{batch.Exact, batch.Certain} {
			req.Method = method
			want := search(t, built, req)
			for _, method := range []batch.Method{method, batch.Auto} {
				req.Method = method
				got := search(t, bare, req)
				for j := range want.Answers {
					g, w := &got.Answers[j], &want.Answers[j]
					if !slices.Equal(g.IDs, w.IDs) || !slices.Equal(g.SearchScores, w.SearchScores) || !slices.Equal(g.Scores, w.Scores) {
						rt.Fatalf("%s, query %d: %v %v without codes, %v %v with codes", method, j, g.IDs, g.SearchScores, w.IDs, w.SearchScores)
					}
					if c := &g.Certificate; c.Guarantee != batch.GuaranteeExact || !strings.HasSuffix(c.Plan, ", no building") {
						rt.Fatalf("query %d: guarantee %s, plan %q", j, c.Guarantee, c.Plan)
					}
				}
			}
		}
	})
}

// TestPlanWithoutCodes gives the plan that a certificate names back to the engine, and asks for what only codes answer.
func TestPlanWithoutCodes(t *testing.T) {
	rows := make([]float32, 100*20)
	for i := range rows {
		rows[i] = float32(i % 7)
	}
	e := open(t, rows, 20, &collection.Options{Metric: collection.InnerProduct, NoCodes: true}, 1)
	resp := search(t, e, batch.Request{Queries: rows[:20], K: 3})
	if again := search(t, e, batch.Request{Queries: rows[:20], K: 3, Plan: resp.Answers[0].Certificate.Plan}); !slices.Equal(again.Answers[0].IDs, resp.Answers[0].IDs) {
		t.Errorf("plan %q: %v, not %v", resp.Answers[0].Certificate.Plan, again.Answers[0].IDs, resp.Answers[0].IDs)
	}
	if _, err := e.Search(t.Context(), batch.Request{Queries: rows[:20], K: 3, Method: batch.Adaptive}); err == nil || !strings.Contains(err.Error(), "needs codes") {
		t.Errorf("adaptive without codes: %v", err)
	}
}

// TestBuildingPays counts building among the costs: few queries do not pay for it, many do, and method exact never.
func TestBuildingPays(t *testing.T) {
	costs := backend.Describe(cpu.New(cpu.Options{Threads: 1})).Costs
	type demand struct {
		method  batch.Method
		plan    string
		n, dim  int
		k       int
		queries int64
		pays    bool
	}
	demands := []demand{
		{batch.Auto, "", 60000, 768, 10, 1, false},
		{batch.Auto, "", 20000, 128, 10, 64, false},
		{batch.Certain, "", 1000, 64, 10, 512, false},
		{batch.Auto, "", 60000, 768, 10, 1 << 20, true},
		{batch.Certain, "", 60000, 768, 10, 1 << 20, true},
		{batch.Exact, "", 60000, 768, 10, 1 << 20, false},
		{batch.Auto, "", 60000, 768, 60000, 1 << 20, false}, // all are wanted
		{batch.Auto, "", 60000, 768, 10, -1, true},          // nobody knows how many
		{batch.Adaptive, "", 60000, 768, 10, 1, true},
		{batch.Auto, "64,rescore", 60000, 768, 10, 1, true},
		{batch.Strict, "", 60000, 768, 10, 1, true},
		{batch.Auto, "", 60000, collection.MinRotated - 1, 10, 1 << 20, false},
	}
	if simd.Best() == simd.AVX512 { // with which BenchmarkBuildingPays was measured
		demands = append(demands, []demand{
			{batch.Auto, "", 60000, 768, 10, 300, false},
			{batch.Auto, "", 60000, 768, 10, 800, true}, // 510 to 780 pay
			{batch.Auto, "", 20000, 128, 10, 1600, false},
			{batch.Auto, "", 20000, 128, 10, 4000, true},    // 1,800 to 5,200 pay
			{batch.Auto, "", 1000, 768, 10, 1 << 20, false}, // a scan is as fast as codes
		}...)
	}
	for _, x := range demands {
		req := batch.Request{Method: x.method, Plan: x.plan, K: x.k}
		if pays := req.BuildingPays(x.n, x.dim, collection.InnerProduct, x.queries, &costs); pays != x.pays {
			t.Errorf("%+v: pays %v", x, pays)
		}
	}
}

package batch_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/draws"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

// TestScoresGivenBackAreLimits: a score of an answer, in float64 as SearchScores have it or in float32 as it is
// shown, given back as MinScore or MaxScore of a query, lets its atom through, and no better atom is lost, or
// returned. The next float64 that is worse or better does too, and does not.
func TestScoresGivenBackAreLimits(t *testing.T) {
	race.Skip(t, "one goroutine")
	draw := draws.Rand(0xf100)
	rounds := 0
	for i := range 200 {
		n, dim := 1+draw.IntN(300), 1+draw.IntN(24)
		if i%10 == 9 { // enough for looks
			n, dim = 3000+draw.IntN(3000), 48+draw.IntN(48)
		}
		metric := collection.InnerProduct + collection.Metric(i%len(collection.Metrics()))
		const m = 3
		rows := vectors.Embeddings(draw, n+m, dim)
		scale := float32(math.Exp2(float64(draw.IntN(40) - 20)))
		for at := range rows {
			rows[at] *= scale
			if i%4 == 3 { // far from zero
				rows[at] += 100 * scale
			}
			if i%5 == 4 { // ties
				rows[at] = float32(math.Round(float64(rows[at]/scale))) * scale
			}
		}
		queries := rows[n*dim:]
		e := over(t, build(t, rows[:n*dim], dim, &collection.Options{Metric: metric, Seed: uint64(i)}), 1, nil)
		k := 1 + draw.IntN(min(n, 40))
		for _, method := range []batch.Method{batch.Exact, batch.Certain} {
			name := fmt.Sprintf("%s, %v, %d x %d, k %d, draw %d", method, metric, n, dim, k, i)
			best := search(t, e, batch.Request{Queries: queries, K: k, Method: method, SearchScores: true}).Answers
			// limits asks by a goal for each query, whose limit is the k-th score.
			limited := func(k int, limit func(a *batch.Answer) batch.QueryGoal) []batch.Answer {
				goals := make([]batch.QueryGoal, m)
				for j := range goals {
					goals[j] = limit(&best[j])
				}
				return search(t, e, batch.Request{Queries: queries, K: k, Method: method, SearchScores: true, Goals: goals}).Answers
			}
			last := func(a *batch.Answer) float64 { return a.SearchScores[len(a.SearchScores)-1] }
			exact := func(a *batch.Answer) *float64 { x := metric.Shown(last(a)); return &x }
			shown := func(a *batch.Answer) *float64 { x := float64(a.Scores[len(a.Scores)-1]); return &x }
			for _, of := range []func(a *batch.Answer) *float64{exact, shown} {
				for _, wanted := range []int{0, k} {
					got := limited(wanted, func(a *batch.Answer) batch.QueryGoal { return batch.QueryGoal{MinScore: of(a)} })
					for j := range got {
						if ids := got[j].IDs; len(ids) < len(best[j].IDs) || !slices.Equal(ids[:len(best[j].IDs)], best[j].IDs) || !slices.Equal(got[j].SearchScores[:len(best[j].IDs)], best[j].SearchScores) {
							t.Errorf("%s: with min_score %v, K %d, query %d has %v, and without %v", name, *of(&best[j]), wanted, j, ids, best[j].IDs)
						}
						for _, s := range got[j].SearchScores {
							if s < metric.Floor(*of(&best[j])) {
								t.Errorf("%s: query %d: %v is below min_score %v", name, j, metric.Shown(s), *of(&best[j]))
							}
						}
						rounds++
					}
				}
				got := limited(n, func(a *batch.Answer) batch.QueryGoal { return batch.QueryGoal{MaxScore: of(a)} })
				for j := range got {
					if id := best[j].IDs[k-1]; !slices.Contains(got[j].IDs, id) {
						t.Errorf("%s: with max_score %v query %d lacks %d", name, *of(&best[j]), j, id)
					}
				}
			}
			// A limit of more digits than float32 has is exact: the next one beyond excludes the atom.
			better := math.Inf(1)
			if metric == collection.Euclidean {
				better = math.Inf(-1)
			}
			beyond := func(a *batch.Answer) *float64 { x := math.Nextafter(*exact(a), better); return &x }
			got := limited(0, func(a *batch.Answer) batch.QueryGoal { return batch.QueryGoal{MinScore: beyond(a)} })
			for j := range got {
				floor := metric.Floor(*beyond(&best[j]))
				if id, s := best[j].IDs[k-1], last(&best[j]); floor > s && slices.Contains(got[j].IDs, id) {
					t.Errorf("%s: query %d: %d scores %v, and min_score is %v", name, j, id, metric.Shown(s), *beyond(&best[j]))
				}
			}
		}
	}
	if rounds < 200 {
		t.Errorf("%d draws", rounds)
	}
}

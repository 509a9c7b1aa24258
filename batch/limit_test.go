package batch_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
)

// TestLimit: a query with more atoms than Limit gets the best of them and says so; another
// query's answer is what it is without a limit.
func TestLimit(t *testing.T) {
	const n, dim, m, limit = 900, 24, 60, 5
	r := rand.New(rand.NewPCG(7, 7))
	rows := make([]float32, n*dim)
	for i := range rows {
		rows[i] = float32(r.NormFloat64())
	}
	for i := range 40 { // the first query has 40 duplicates, which tie
		copy(rows[(100+i)*dim:], rows[:dim])
	}
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		e := open(t, rows, dim, &collection.Options{Metric: metric, Seed: 3}, 2)
		least := map[collection.Metric]float64{collection.InnerProduct: 12, collection.Cosine: .5, collection.Euclidean: 24}[metric]
		for _, way := range []batch.Request{{Method: batch.Exact}, {Method: batch.Certain}, {Method: batch.Certain, Plan: "whole,rescore"}, {Method: batch.Auto}} {
			t.Run(fmt.Sprint(metric, way.Method, way.Plan), func(t *testing.T) {
				req := way
				req.Queries, req.MinScore, req.Delta = rows[:m*dim], &least, 1e-9
				all := search(t, e, req)
				req.Limit = limit
				some := search(t, e, req)
				limited := 0
				for j := range all.Answers {
					a, b := &all.Answers[j], &some.Answers[j]
					if a.Limited {
						t.Errorf("query %d is limited without a limit", j)
					}
					if a.Certificate.Plan != b.Certificate.Plan {
						t.Errorf("query %d: the plan is %s with the limit, %s without", j, b.Certificate.Plan, a.Certificate.Plan)
					}
					if b.Limited != (len(a.IDs) >= limit) {
						t.Errorf("query %d: limited is %v for %d vectors", j, b.Limited, len(a.IDs))
					}
					k := min(limit, len(a.IDs))
					if d := cmp.Diff(a.IDs[:k], b.IDs); d != "" {
						t.Errorf("query %d: %s", j, d)
					}
					if d := cmp.Diff(a.Scores[:k], b.Scores); d != "" {
						t.Errorf("query %d: %s", j, d)
					}
					if b.Limited {
						limited++
					}
				}
				if limited == 0 || limited == m {
					t.Fatalf("%d of %d queries are limited", limited, m)
				}
			})
		}
	}
}

// TestReaching: the planner forecasts fewer survivors for a least score that few atoms reach, and
// no answer depends on it.
func TestReaching(t *testing.T) {
	const n, dim, m = 4000, 64, 20
	r := rand.New(rand.NewPCG(8, 8))
	rows := make([]float32, n*dim)
	for i := range rows {
		rows[i] = float32(r.NormFloat64())
	}
	e := open(t, rows, dim, &collection.Options{Metric: collection.Cosine, Seed: 3}, 2)
	least := .5
	req := batch.Request{Queries: rows[:m*dim], MinScore: &least, Method: batch.Certain, Plan: "whole,rescore"}
	share := -1.
	var ids [][]int64
	for _, reaching := range []float64{1, 64, 0, 1000} { // 0: as if 100 did
		req.Reaching = reaching
		resp := search(t, e, req)
		c := &resp.Answers[0].Certificate
		if c.Predicted <= share {
			t.Errorf("reaching %g: share %g, not above %g", reaching, c.Predicted, share)
		}
		share = c.Predicted
		var now [][]int64
		for _, a := range resp.Answers {
			now = append(now, a.IDs)
		}
		if ids != nil {
			if d := cmp.Diff(ids, now); d != "" {
				t.Errorf("reaching %g: %s", reaching, d)
			}
		}
		ids = now
	}
}

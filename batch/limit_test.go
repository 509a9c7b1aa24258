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
						t.Errorf("query %d: limited is %v for %d atoms", j, b.Limited, len(a.IDs))
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

func TestLimitBelowZero(t *testing.T) {
	e := open(t, make([]float32, 20), 4, nil, 1)
	least := .5
	_, err := e.Search(t.Context(), batch.Request{Queries: make([]float32, 4), MinScore: &least, Limit: -1})
	if err == nil || err.Error() != "limit: -1, at least 1, or 0 for none" {
		t.Fatal(err)
	}
}

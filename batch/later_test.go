package batch_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
)

// TestLaterOnly: a collection searched by its own atoms finds each pair above a score once with
// LaterOnly, and twice without; the pairs are the same, whatever the plan and the order of the queries.
func TestLaterOnly(t *testing.T) {
	const n, dim = 600, 64
	ctx := context.Background()
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		c, err := collection.Build(ctx, clusters(3, n, dim), dim, &collection.Options{Metric: metric, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		b := cpu.New(cpu.Options{Threads: 2})
		defer b.Close()
		e, err := batch.Open(ctx, c, b, &batch.Options{Costs: builtinCosts()})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		deny := []int64{5, 6, 7}
		least := metric.Shown(c.Score(c.Row(0), 64)) // of an atom near the same centre
		for _, x := range []struct {
			method batch.Method
			plan   string
		}{{batch.Auto, ""}, {batch.Exact, "dense"}, {batch.Exact, "gather"}, {batch.Certain, "whole,rescore"}} {
			pairs := func(later bool) map[[2]int64]int {
				found := map[[2]int64]int{}
				for lo := 0; lo < n; lo += 250 {
					resp, err := e.Search(ctx, batch.Request{Queries: c.Rows[lo*dim : min(lo+250, n)*dim], MinScore: &least, Method: x.method, Plan: x.plan,
						ExcludeSelf: true, SelfFirst: int64(lo), LaterOnly: later, Exclude: deny})
					if err != nil {
						t.Fatal(err)
					}
					for j, a := range resp.Answers {
						for _, id := range a.IDs {
							i := int64(lo + j)
							found[[2]int64{min(i, id), max(i, id)}]++
						}
					}
				}
				return found
			}
			both, once := pairs(false), pairs(true)
			if len(both) == 0 {
				t.Fatalf("%v: no pair reaches %g", metric, least)
			}
			want := map[[2]int64]int{}
			for pair := range both {
				if first := pair[0]; first >= 5 && first <= 7 || pair[1] >= 5 && pair[1] <= 7 {
					continue // found from the side of the denied atom only, if the other is later
				}
				want[pair] = 1
			}
			for pair := range once {
				if pair[0] >= 5 && pair[0] <= 7 || pair[1] >= 5 && pair[1] <= 7 {
					delete(once, pair)
				}
			}
			if diff := cmp.Diff(want, once); diff != "" {
				t.Errorf("%v, plan %q: pairs, with how often each is found (-want +LaterOnly):\n%s", metric, x.plan, diff)
			}
		}
	}
}

package batch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestKeptFilters: searches with a filter that came before, whose codes are gathered once, have the answers of a scan of
// the allowed rows by an engine that has not seen it, bit for bit, whatever looks they take; in any order of the rows and
// beside filters of as many rows that differ in one.
func TestKeptFilters(t *testing.T) {
	const n, dim, k = 12000, 128, 5
	for _, metric := range []collection.Metric{collection.Cosine, collection.Euclidean} {
		rows, queries := vectors.PowerLaw(vectors.Rand(1), n, dim), vectors.PowerLaw(vectors.Rand(2), 10, dim)
		opt := &collection.Options{Metric: metric, Seed: 1}
		e, fresh := open(t, rows, dim, opt, 2), open(t, rows, dim, opt, 2)
		r := rand.New(rand.NewPCG(3, 4))
		order := r.Perm(n)
		var allowed []int64
		for _, row := range order[:n/80] {
			allowed = append(allowed, int64(row))
		}
		slices.Sort(allowed)
		want := search(t, fresh, batch.Request{Queries: queries, K: k, Method: batch.Exact, Filter: allowed})
		best := want.Answers[0].IDs[0]
		other := slices.Clone(allowed) // without the best, and another row in its place
		other[slices.Index(other, best)] = int64(order[n-1])
		without := search(t, fresh, batch.Request{Queries: queries, K: k, Method: batch.Exact, Filter: other})
		before := e.Kept()
		for _, plan := range []string{"64,rescore", "whole,rescore", ""} {
			for _, m := range []int{1, 10} {
				for again := range 4 {
					name := fmt.Sprintf("%v, %q, %d queries, search %d", metric, plan, m, again)
					req := batch.Request{Queries: queries[:m*dim], K: k, Method: batch.Certain, Plan: plan, Filter: slices.Clone(allowed)}
					if again == 2 {
						r.Shuffle(len(req.Filter), func(i, j int) { req.Filter[i], req.Filter[j] = req.Filter[j], req.Filter[i] })
					}
					sameLists(t, name, want.Answers[:m], search(t, e, req).Answers)
					req.Filter = other
					sameLists(t, name+", another filter", without.Answers[:m], search(t, e, req).Answers)
				}
			}
		}
		if kept, most := e.Kept()-before, e.Collection().Bytes()/4; kept <= 0 || kept > most {
			t.Errorf("%v: %d bytes kept, at most %d", metric, kept, most)
		}
	}
}

// sameLists compares answers but for their certificates.
func sameLists(t *testing.T, name string, want, got []batch.Answer) {
	t.Helper()
	for j := range want {
		w, g := want[j], got[j]
		if !slices.Equal(w.IDs, g.IDs) || !slices.Equal(w.Scores, g.Scores) {
			t.Errorf("%s, query %d (-want +got):\n%s", name, j, cmp.Diff([]any{w.IDs, w.Scores}, []any{g.IDs, g.Scores}))
		}
	}
}

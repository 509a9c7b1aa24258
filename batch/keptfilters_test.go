package batch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
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

// TestKeptFiltersCertificates: answers with a filter that came before have the certificates of the first search with it.
func TestKeptFiltersCertificates(t *testing.T) {
	const n, dim, k = 6000, 128, 5
	rows, queries := vectors.PowerLaw(vectors.Rand(1), n, dim), vectors.PowerLaw(vectors.Rand(2), 9, dim)
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
	for i, plan := range []string{"64,rescore", "whole,rescore"} {
		for j, m := range []int{1, 9} {
			req := batch.Request{Queries: queries[:m*dim], K: k, Method: batch.Certain, Plan: plan, Filter: someRows(uint64(10+2*i+j), n, n/120)}
			before, first := e.Kept(), search(t, e, req).Answers
			for again := range 3 {
				if diff := cmp.Diff(first, search(t, e, req).Answers); diff != "" {
					t.Errorf("%s, %d queries, search %d (-first +got):\n%s", plan, m, again+2, diff)
				}
			}
			if len(first) == 1 && e.Kept() == before {
				t.Errorf("%s: the filter is not kept", plan)
			}
		}
	}
}

// TestKeptFiltersTogether: searches at a time with more filters than are kept, some of which differ in one row, some ended
// before they are done, have the answers of a scan by another engine. What callers do with their lists afterwards changes
// nothing.
func TestKeptFiltersTogether(t *testing.T) {
	const n, dim, m, k, searches = 6000, 128, 6, 4, 40
	rows, queries := vectors.PowerLaw(vectors.Rand(1), n, dim), vectors.PowerLaw(vectors.Rand(2), m, dim)
	opt := &collection.Options{Metric: collection.InnerProduct, Seed: 1}
	e, fresh := open(t, rows, dim, opt, 2), open(t, rows, dim, opt, 2)
	filters := [][]int64{someRows(3, n, n/120), nil, someRows(4, n, n/120), someRows(5, n, n/130), nil, someRows(6, n, 200)}
	filters[1], filters[4] = slices.Clone(filters[0]), slices.Clone(filters[0])
	filters[1][7]++ // perhaps twice there then
	filters[4] = filters[4][1:]
	want := make([][]batch.Answer, len(filters))
	for i, filter := range filters {
		want[i] = search(t, fresh, batch.Request{Queries: queries, K: k, Method: batch.Exact, Filter: filter}).Answers
	}
	before := e.Kept()
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(g)))
			for range searches {
				i, m := r.IntN(len(filters)), []int{1, m}[r.IntN(2)]
				req := batch.Request{Queries: queries[:m*dim], K: k, Method: batch.Certain, Plan: []string{"64,rescore", "whole,rescore", ""}[r.IntN(3)], Filter: slices.Clone(filters[i])}
				if r.IntN(3) == 0 {
					checks, ctx := r.Int64N(12), &afterChecks{Context: context.Background()}
					ctx.left.Store(checks)
					resp, err := e.Search(ctx, req)
					if err != nil && !errors.Is(err, context.Canceled) || resp == nil {
						t.Errorf("filter %d, ended after %d checks: %v", i, checks, err)
					}
				} else if resp, err := e.Search(context.Background(), req); err != nil {
					t.Errorf("filter %d: %v", i, err)
				} else {
					sameLists(t, fmt.Sprintf("filter %d, %q", i, req.Plan), want[i][:m], resp.Answers)
				}
				clear(req.Filter)
			}
		})
	}
	all.Wait()
	if e.Kept() == before {
		t.Error("no filter is kept")
	}
}

// someRows draws so many of n rows, ascending.
func someRows(seed uint64, n, many int) []int64 {
	rows := make([]int64, many)
	for i, row := range rand.New(rand.NewPCG(seed, 9)).Perm(n)[:many] {
		rows[i] = int64(row)
	}
	slices.Sort(rows)
	return rows
}

// TestKeptFiltersEnded: what an ended search had copied of a filter is not taken for all of it by the next, wherever it ended.
func TestKeptFiltersEnded(t *testing.T) {
	const n, dim, m, k = 6000, 128, 6, 4
	rows, queries := vectors.PowerLaw(vectors.Rand(1), n, dim), vectors.PowerLaw(vectors.Rand(2), m, dim)
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1}, 1)
	ended, before := 0, e.Kept()
	for checks := range int64(40) {
		req := batch.Request{Queries: queries, K: k, Method: batch.Exact, Filter: someRows(100+uint64(checks), n, n/120)}
		want := search(t, e, req)
		req.Method, req.Plan = batch.Certain, "64,rescore"
		ctx := &afterChecks{Context: context.Background()}
		ctx.left.Store(checks)
		if _, err := e.Search(ctx, req); err != nil {
			ended++
		} else if e.Kept() == before {
			t.Error("the filter is not kept")
		}
		sameLists(t, fmt.Sprintf("after one that ended at check %d", checks), want.Answers, search(t, e, req).Answers)
	}
	if ended == 0 || ended == 40 {
		t.Errorf("%d of 40 searches ended early", ended)
	}
}

package batch

import (
	"context"
	"math"
	"slices"
	"testing"

	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/draws"
	"thresher/internal/vectors"
)

// TestWithin: of a part of a larger set a search finds the k best of the rows that are still there and allowed, of those that
// reach the floor, those of exactly the floor included, by plans that look and by those that scan.
func TestWithin(t *testing.T) {
	const n, dim, k = 3000, 64, 10
	rows := vectors.Ties(draws.Rand(31), n, dim)
	c, err := collection.Build(context.Background(), rows, dim, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	b := cpu.New(cpu.Options{Threads: 2})
	defer b.Close()
	e, err := Open(context.Background(), c, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var gone []int
	var left []int64
	few := []int64{0, 1, 1000, 2000, 2001} // of which 1 and 1000 are gone
	for row := range n {
		if row%3 == 1 {
			gone = append(gone, row)
		} else {
			left = append(left, int64(row))
		}
	}
	live := e.Without(e.Without(nil, gone[:100]), gone[100:])
	if live.Len() != len(left) || e.Has(live, gone[0]) || !e.Has(live, 0) || !e.Has(nil, gone[0]) {
		t.Fatalf("%d rows of %d are left", live.Len(), len(left))
	}
	req := Request{Queries: rows[:4*dim], K: k, SearchScores: true}
	for _, p := range []string{"dense", "64,rescore", "whole,rescore"} {
		req.Method, req.Plan = Certain, p
		for _, allowed := range []struct{ filter, exclude, same []int64 }{
			{nil, nil, left},
			{nil, left[:50], left[50:]},
			{few, nil, []int64{0, 2000, 2001}},
			{left[100:900], left[200:300], slices.Concat(left[100:200], left[300:900])},
		} {
			asked, plain := req, req
			asked.Filter, asked.Exclude = allowed.filter, allowed.exclude
			plain.Filter = slices.DeleteFunc(slices.Clone(allowed.same), func(row int64) bool { return row%3 == 1 })
			want, err := e.Search(context.Background(), plain)
			if err != nil {
				t.Fatal(err)
			}
			floors := make([]float64, 4)
			for j := range floors {
				floors[j] = math.Inf(-1)
				if s := want.Answers[j].SearchScores; j > 0 && len(s) > j {
					floors[j] = s[len(s)-j]
				}
			}
			got, err := e.SearchWithin(context.Background(), asked, Within{Live: live, Floors: floors, Before: n})
			if err != nil {
				t.Fatal(err)
			}
			for j := range got.Answers {
				g, w := &got.Answers[j], &want.Answers[j]
				reaching := len(w.SearchScores)
				for reaching > 0 && w.SearchScores[reaching-1] < floors[j] {
					reaching--
				}
				if !slices.Equal(g.IDs, w.IDs[:reaching]) || !slices.Equal(g.SearchScores, w.SearchScores[:reaching]) || !g.Certificate.Exact {
					t.Errorf("%s, query %d, floor %g:\n got %v %v\nwant %v %v", p, j, floors[j], g.IDs, g.SearchScores, w.IDs, w.SearchScores)
				}
			}
		}
	}
	for _, floors := range [][]float64{{1}, {1, 2, 3, math.NaN()}, {math.Inf(1), 1, 1, 1}} {
		if _, err := e.SearchWithin(context.Background(), req, Within{Floors: floors}); err == nil {
			t.Errorf("floors %v were taken", floors)
		}
	}
}

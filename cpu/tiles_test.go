package cpu

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/collection"
)

// lists draws ascending lists of rows of n, some of them empty.
func lists(t *rapid.T, n int) [][]uint32 {
	all := make([][]uint32, rapid.IntRange(1, 5).Draw(t, "lists"))
	for e := range all {
		every := rapid.IntRange(1, n).Draw(t, "every")
		for row := rapid.IntRange(0, n).Draw(t, "first"); row < n; row += every {
			all[e] = append(all[e], uint32(row))
		}
	}
	return all
}

// TestVisitTiles: every row is visited once for each list that has it, in order, and a row that
// several lists have is visited for all of them before rows a tile further on are for any. A context
// that ends leaves what was not visited.
func TestVisitTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, dim, tileRows := rapid.IntRange(1, 3000).Draw(t, "rows"), rapid.SampledFrom([]int{1 << 10, 1 << 16}).Draw(t, "dim"), rapid.IntRange(1, 400).Draw(t, "tile")
		r := &resident{crew: &crew{threads: 1}, c: &collection.Collection{N: n, Dim: dim}, tileBytes: 4 * dim * tileRows}
		var l rowLists
		l.reset(1) // memory of an earlier use
		l.lists[0] = []uint32{3}
		want := lists(t, n)
		l.reset(len(want))
		copy(l.lists, want)
		stopAfter := rapid.IntRange(0, 3000).Draw(t, "visits before the end")
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		got, visits, last := make([][]uint32, len(want)), 0, 0
		err := l.visitTiles(ctx, r, &scratch{}, func(e int, rows []uint32, _ bool) {
			got[e] = append(got[e], rows...)
			if len(want) > 1 && int(rows[0])+tileRows <= last {
				t.Fatalf("row %d is visited for list %d after row %d, with tiles of at most %d", rows[0], e, last, tileRows)
			}
			last = max(last, int(rows[len(rows)-1]))
			if visits++; visits == stopAfter {
				stop()
			}
		})
		for e := range want {
			if !slices.Equal(got[e], want[e][:l.from[e]]) {
				t.Fatalf("list %d: visited %d, which are not its first %d", e, got[e], l.from[e])
			}
			if err == nil && l.from[e] != len(want[e]) {
				t.Fatalf("list %d: %d of %d visited", e, l.from[e], len(want[e]))
			}
		}
		if stopAfter == 0 && err != nil {
			t.Fatal(err)
		}
	})
}

// TestDropScored: of the first arms those stay whose rows were not scored, in their order, before the
// others.
func TestDropScored(t *testing.T) {
	c := &collection.Collection{Order: []uint32{7, 3, 9, 1, 5, 0}}
	for scored, want := range [][]uint32{{2, 0, 1, 3, 5}, {2, 0, 1, 5}, {2, 0, 5}, {2, 5}, {5}} {
		q := &finishing{state: &state{c: c}}
		for _, i := range []uint32{4, 2, 0, 1, 3, 5} {
			q.arms = append(q.arms, arm{i: i})
		}
		q.done = 1
		q.dropScored([]uint32{1, 3, 7, 9}, scored)
		var got []uint32
		for _, a := range q.arms[q.done:] {
			got = append(got, a.i)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d scored: %d are left, want %d", scored, got, want)
		}
	}
}

// TestNextOfFew: a query that wants few atoms scores arms as long as some reach the threshold.
func TestNextOfFew(t *testing.T) {
	q := &finishing{state: &state{tau: 1}, arms: []arm{{bound: 3}, {bound: 2}, {bound: 0}}}
	q.goal.K = 1
	q.best.reset(1)
	q.best.push(scored{score: 1})
	for want := 2; want >= 0; want-- {
		left := 2 - q.done
		next := q.next(&scratch{})
		if left != want || len(next) > left || want > 0 && len(next) == 0 {
			t.Fatalf("%d arms of %d that reach the threshold", len(next), left)
		}
		q.done += len(next)
	}
}

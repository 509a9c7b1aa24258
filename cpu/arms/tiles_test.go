package arms

import (
	"context"
	"slices"
	"testing"
	_ "thresher/internal/draws"

	"pgregory.net/rapid"

	"thresher/collection"
	"thresher/cpu/threads"
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
		r := &Resident{Crew: &threads.Crew{Threads: 1}, C: &collection.Collection{N: n, Dim: dim}, TileBytes: 4 * dim * tileRows}
		var l RowLists
		l.Reset(1) // memory of an earlier use
		l.Lists[0] = []uint32{3}
		want := lists(t, n)
		l.Reset(len(want))
		copy(l.Lists, want)
		stopAfter := rapid.IntRange(0, 3000).Draw(t, "visits before the end")
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		got, visits, last := make([][]uint32, len(want)), 0, 0
		err := l.VisitTiles(ctx, r, &threads.Scratch{}, func(e int, rows []uint32, _ bool) {
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
			if !slices.Equal(got[e], want[e][:l.From[e]]) {
				t.Fatalf("list %d: visited %d, which are not its first %d", e, got[e], l.From[e])
			}
			if err == nil && l.From[e] != len(want[e]) {
				t.Fatalf("list %d: %d of %d visited", e, l.From[e], len(want[e]))
			}
		}
		if stopAfter == 0 && err != nil {
			t.Fatal(err)
		}
	})
}

package arms

import (
	"context"

	"thresher/cpu/threads"
	"thresher/cpu/topk"
)

const (
	// scoredBytes is the least size of a tile of rows that queries score in float64. So much and the
	// queries, in float64, fit a second-level cache.
	scoredBytes = 512 << 10
	// leastRows and leastBytes are how much a query should find in a tile: less is not worth reading the
	// query. If it would be less, tiles are so large that queries find visitTimes as much.
	leastRows, leastBytes, visitTimes = 8, 24 << 10, 4
	// aloneRows is about how many rows a query that is alone scores in a visit.
	aloneRows = 256
)

// RowLists are lists of rows to be scored, by number, ascending; one for each of several queries.
type RowLists struct {
	Lists [][]uint32
	From  []int // entries of each list that were visited
}

// Reset empties l, for lists of n queries.
func (l *RowLists) Reset(n int) {
	l.Lists, l.From = topk.Grow(l.Lists, n), topk.Grow(l.From, n)
	clear(l.Lists)
	clear(l.From)
}

// VisitTiles calls visit for the rows of each list, tile by tile, so that a row that several queries
// score is read from memory once and then found in a cache; near says that most of the rows are in one.
// It ends early with an error of ctx, then also between two lists of a tile. w counts what is visited.
func (l *RowLists) VisitTiles(ctx context.Context, r *Resident, w *threads.Scratch, visit func(e int, rows []uint32, near bool)) error {
	left, first, last := 0, r.C.N, 0
	for _, rows := range l.Lists {
		if n := len(rows); n > 0 {
			left, first, last = left+n, min(first, int(rows[0])), max(last, int(rows[n-1]))
		}
	}
	if left == 0 {
		return nil
	}
	row := 4 * r.C.Dim
	tile := scoredBytes / row
	if least := max(leastRows, leastBytes/row) * (last - first + 1) * len(l.Lists) / left; tile < least {
		tile = visitTimes * least
	}
	tile = max(1, min(tile, r.TileBytes/row))
	if len(l.Lists) == 1 { // which shares no row
		tile = max(tile, (last-first+1)*aloneRows/left+1)
	}
	tile = min(tile, threads.MaxUnchecked)
	for end := first + tile; left > 0; end += tile {
		if err := r.Checkpoint(ctx, len(l.Lists)); err != nil {
			return err
		}
		visited := 0 // as many rows at random places as the tile has contain 63% of these
		for e, rows := range l.Lists {
			from := l.From[e]
			to := from
			for to < len(rows) && int(rows[to]) < end {
				to++
			}
			if from < to {
				if err := r.Spend(ctx, w, to-from, len(l.Lists)); err != nil {
					return err
				}
				l.From[e] = to
				left -= to - from
				visit(e, rows[from:to], visited >= tile)
				visited += to - from
			}
		}
	}
	return nil
}

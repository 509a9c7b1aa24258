package cpu

import "context"

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

// rowLists are lists of rows to be scored, by number, ascending; one for each of several queries.
type rowLists struct {
	lists [][]uint32
	from  []int // entries of each list that were visited
}

// reset empties l, for lists of n queries.
func (l *rowLists) reset(n int) {
	l.lists, l.from = grow(l.lists, n), grow(l.from, n)
	clear(l.lists)
	clear(l.from)
}

// visitTiles calls visit for the rows of each list, tile by tile, so that a row that several queries
// score is read from memory once and then found in a cache; near says that most of the rows are in one.
// It ends early with an error of ctx, then also between two lists of a tile. w counts what is visited.
func (l *rowLists) visitTiles(ctx context.Context, r *resident, w *scratch, visit func(e int, rows []uint32, near bool)) error {
	left, first, last := 0, r.c.N, 0
	for _, rows := range l.lists {
		if n := len(rows); n > 0 {
			left, first, last = left+n, min(first, int(rows[0])), max(last, int(rows[n-1]))
		}
	}
	if left == 0 {
		return nil
	}
	row := 4 * r.c.Dim
	tile := scoredBytes / row
	if least := max(leastRows, leastBytes/row) * (last - first + 1) * len(l.lists) / left; tile < least {
		tile = visitTimes * least
	}
	tile = max(1, min(tile, r.tileBytes/row))
	if len(l.lists) == 1 { // which shares no row
		tile = max(tile, (last-first+1)*aloneRows/left+1)
	}
	tile = min(tile, mostUnchecked)
	for end := first + tile; left > 0; end += tile {
		if err := r.checkpoint(ctx, len(l.lists)); err != nil {
			return err
		}
		visited := 0 // as many rows at random places as the tile has contain 63% of these
		for e, rows := range l.lists {
			from := l.from[e]
			to := from
			for to < len(rows) && int(rows[to]) < end {
				to++
			}
			if from < to {
				if err := r.spend(ctx, w, to-from, len(l.lists)); err != nil {
					return err
				}
				l.from[e] = to
				left -= to - from
				visit(e, rows[from:to], visited >= tile)
				visited += to - from
			}
		}
	}
	return nil
}

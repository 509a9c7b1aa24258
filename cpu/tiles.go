package cpu

import "context"

const (
	// scoredBytes is the least size of a tile of rows that queries score in float64. So much and the
	// queries, in float64, fit a second-level cache.
	scoredBytes = 512 << 10
	// visitRows and visitBytes are how much a query should find in a tile: less is not worth reading the
	// query.
	visitRows, visitBytes = 12, 32 << 10
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
// score is read from memory once and then found in a cache. It ends early with an error of ctx.
func (l *rowLists) visitTiles(ctx context.Context, r *resident, visit func(e int, rows []uint32)) error {
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
	wanted := max(visitRows, visitBytes/row) * (last - first + 1) * len(l.lists) / left
	tile := max(1, min(max(scoredBytes/row, wanted), r.tileBytes/row))
	for end := first + tile; left > 0; end += tile {
		if err := r.checkpoint(ctx, len(l.lists)); err != nil {
			return err
		}
		for e, rows := range l.lists {
			from := l.from[e]
			to := from
			for to < len(rows) && int(rows[to]) < end {
				to++
			}
			if from < to {
				l.from[e] = to
				left -= to - from
				visit(e, rows[from:to])
			}
		}
	}
	return nil
}

package join

import (
	"cmp"
	"fmt"
	"slices"

	"thresher/dataset"
)

// Undirected is a graph without directions in memory, made of one with directions.
type Undirected struct {
	n       int
	mutual  bool
	nearest bool // the least scores are best: distances
	wide    bool // scores are those before they were rounded to float32
	forward links
	reverse links // the same edges by their targets
}

// links are the edges of each row: those of row i are at starts[i] to starts[i+1].
type links struct {
	starts []int64
	ids    []uint32
	scores []float64
}

// UndirectedBytes is the memory that NewUndirected takes for n rows of at most k edges.
func UndirectedBytes(n, k int) float64 { return 24*float64(n)*float64(k) + 16*float64(n+1) }

// NewUndirected reads a graph of n rows with at most k edges each. The edges of the new one join
// two atoms if either is a neighbour of the other or, if mutual, both are. The weight of an edge is the
// score of its atoms, which is the same in both directions; where cosines differ in
// their last bit it is the better one. Its rows have Scores64 if those of all rows are there. nearest says that the scores are distances. It takes
// UndirectedBytes, whatever the rows.
func NewUndirected(rows dataset.EachResult, n, k int, nearest, mutual bool) (*Undirected, error) {
	u := &Undirected{n: n, mutual: mutual, nearest: nearest, wide: true, forward: newLinks(n, n*k), reverse: links{starts: make([]int64, n+1)}}
	counts := u.reverse.starts
	err := rows(func(i int64, r *dataset.Result) error {
		if r.Query != i || i >= int64(n) || len(r.Rows) > k || len(r.Scores) != len(r.Rows) || r.Scores64 != nil && len(r.Scores64) != len(r.Rows) {
			return fmt.Errorf("row %d with %d edges and %d scores where row %d of %d, with at most %d, is expected", r.Query, len(r.Rows), len(r.Scores), i, n, k)
		}
		for at, id := range r.Rows {
			if id < 0 || id >= int64(n) {
				return fmt.Errorf("row %d: edge to %d, there are %d rows", i, id, n)
			}
			score := float64(r.Scores[at])
			if r.Scores64 != nil {
				score = r.Scores64[at]
			}
			u.forward.ids, u.forward.scores = append(u.forward.ids, uint32(id)), append(u.forward.scores, score)
			counts[id+1]++
		}
		u.wide = u.wide && (r.Scores64 != nil || len(r.Rows) == 0)
		u.forward.starts = append(u.forward.starts, int64(len(u.forward.ids)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(u.forward.starts) != n+1 {
		return nil, fmt.Errorf("%d rows of a graph of %d", len(u.forward.starts)-1, n)
	}
	u.transpose()
	return u, nil
}

func newLinks(n, edges int) links {
	return links{starts: make([]int64, 1, n+1), ids: make([]uint32, 0, edges), scores: make([]float64, 0, edges)}
}

// transpose fills reverse, whose starts[i+1] is the number of edges to i.
func (u *Undirected) transpose() {
	r := &u.reverse
	for i := range u.n {
		r.starts[i+1] += r.starts[i]
	}
	r.ids, r.scores = make([]uint32, len(u.forward.ids)), make([]float64, len(u.forward.ids))
	for i := range u.n {
		ids, scores := u.forward.row(i)
		for at, to := range ids {
			r.ids[r.starts[to]], r.scores[r.starts[to]] = uint32(i), scores[at]
			r.starts[to]++
		}
	}
	// Each start has moved to the end of its row, where the next one starts.
	copy(r.starts[1:], r.starts[:u.n])
	r.starts[0] = 0
}

func (l *links) row(i int) ([]uint32, []float64) {
	lo, hi := l.starts[i], l.starts[i+1]
	return l.ids[lo:hi], l.scores[lo:hi]
}

// link is one edge of a row, and from how many directions it is known.
type link struct {
	id         uint32
	score      float64
	directions int
}

// Each calls do with each row, best edge first, ties by ascending row number. It is a
// dataset.EachResult.
func (u *Undirected) Each(do func(i int64, r *dataset.Result) error) error {
	var row []link
	var r dataset.Result
	if u.wide {
		r.Scores64 = []float64{}
	}
	for i := range u.n {
		row = row[:0]
		for _, l := range []*links{&u.forward, &u.reverse} {
			ids, scores := l.row(i)
			for at, id := range ids {
				row = append(row, link{id, scores[at], 1})
			}
		}
		row = u.merge(row)
		r.Query, r.Rows, r.Scores, r.Scores64 = int64(i), r.Rows[:0], r.Scores[:0], r.Scores64[:0]
		for _, e := range row {
			if !u.mutual || e.directions == 2 {
				r.Rows, r.Scores = append(r.Rows, int64(e.id)), append(r.Scores, float32(e.score))
				if u.wide {
					r.Scores64 = append(r.Scores64, e.score)
				}
			}
		}
		if err := do(int64(i), &r); err != nil {
			return err
		}
	}
	return nil
}

// merge joins the edges to the same atom and sorts them, best first by their scores in float32.
func (u *Undirected) merge(row []link) []link {
	slices.SortFunc(row, func(a, b link) int { return cmp.Or(cmp.Compare(a.id, b.id), u.better(a, b)) })
	kept := row[:0]
	for _, e := range row {
		if last := len(kept) - 1; last >= 0 && kept[last].id == e.id {
			kept[last].directions++
			continue
		}
		kept = append(kept, e)
	}
	rounded := func(e link) link { return link{score: float64(float32(e.score))} }
	slices.SortFunc(kept, func(a, b link) int { return cmp.Or(u.better(rounded(a), rounded(b)), cmp.Compare(a.id, b.id)) })
	return kept
}

// better is negative if a scores better than b.
func (u *Undirected) better(a, b link) int {
	if u.nearest {
		return cmp.Compare(a.score, b.score)
	}
	return cmp.Compare(b.score, a.score)
}

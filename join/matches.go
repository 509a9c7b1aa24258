package join

import (
	"thresher/collection"
)

// LeftRows are consecutive rows of the left table of a join by keys.
type LeftRows struct {
	Queries []float32 // [m, dim], relative to the origin of the right table
	Changes []float64 // of each by rounding to float32, as batch.Request.Changes; nil: none
	Groups  []int32   // of each; nil: all are in group 0
	First   int64     // number of the first, for errors
}

// Matches are what rows of the left table found.
type Matches struct {
	// Row j found those from Lims[j] to Lims[j+1]-1, best first, equal scores by ascending row.
	Lims   []int
	Rows   []int64   // of the right table
	Scores []float64 // inner products, cosines, or squared distances
	Work   PairWork
}

// extent is where the matches of a row are: in the memory of a goroutine.
type extent struct {
	of     *found
	lo, hi int
}

// found is memory of matches.
type found struct {
	rows   []int64
	scores []float64 // search scores
}

// found notes that best, which are places in rows, are the matches of row j of the left table.
func (t *scanner) found(j int32, rows []uint32) {
	if t.to == nil || len(t.to.rows)+len(t.best) > cap(t.to.rows) { // what is there stays where it is
		n := max(foundTogether, len(t.best))
		t.to = &found{make([]int64, 0, n), make([]float64, 0, n)}
	}
	at := len(t.to.rows)
	for _, b := range t.best {
		t.to.rows = append(t.to.rows, t.number(int(rows[b])))
	}
	t.to.scores = append(t.to.scores, t.scores...)
	t.spans[j] = extent{t.to, at, len(t.to.rows)}
}

// foundTogether is how many matches memory is taken for at a time.
const foundTogether = 1 << 14

// gather moves what was found into the order of the left table.
func (w *matching) gather() {
	n := 0
	for j, s := range w.spans {
		w.out.Lims[j] = n
		n += s.hi - s.lo
	}
	w.out.Lims[len(w.spans)] = n
	w.out.Rows, w.out.Scores = make([]int64, n), make([]float64, n)
	for j, s := range w.spans {
		if s.of == nil {
			continue
		}
		at := w.out.Lims[j]
		copy(w.out.Rows[at:], s.of.rows[s.lo:s.hi])
		collection.ShowAll(w.c.Metric, w.out.Scores[at:][:s.hi-s.lo], s.of.scores[s.lo:s.hi])
	}
}

package collection

import (
	"math"
	"slices"

	"thresher/bandit"
)

// pilotThresholds returns, for the pilot's queries (row-major in q, scaled to their working
// units), the k-th best score for each of pilotKs(c.N) among all atoms except the query itself,
// or the least if there are fewer atoms, and the same of the first EarlyAtoms. selves are the
// queries' rows. It takes one more pass over the rows, in float32, a
// few per cent of a build. A sample of the atoms is no substitute: if the best answers are a
// few atoms of the query's own topic, it may contain none of them.
func (b *builder) pilotThresholds(q []float32, queries []Query, selves []uint32) ([][]float64, error) {
	c := b.c
	isEarly := make([]bool, c.N)
	for _, row := range c.Order[:min(EarlyAtoms, c.N)] {
		isEarly[row] = true
	}
	// A tile of rows is read columns at a time. The products with all queries stay in the cache.
	const columns, tileRows = 4096, 256
	panel := newPacked(c.Dim, len(queries))
	panel.fillColumns(q, c.Dim, len(queries))
	found, early := make([][]*topScores, b.threads), make([][]*topScores, b.threads)
	dots, rows := make([][]float32, b.threads), make([][]float32, b.threads)
	for w := range found {
		found[w], early[w] = make([]*topScores, len(queries)), make([]*topScores, len(queries))
		for j := range queries {
			found[w][j], early[w][j] = newTopScores(c.N), newTopScores(c.N)
		}
		dots[w] = make([]float32, tileRows*panel.columns)
		if c.Centre != nil {
			rows[w] = make([]float32, tileRows*min(columns, c.Dim))
		}
	}
	err := b.each(c.N, tileRows, func(w, lo, hi int) error {
		for from := 0; from < c.Dim; from += columns {
			width := min(columns, c.Dim-from)
			vectors, ld := c.Rows[lo*c.Dim+from:], c.Dim
			if c.Centre != nil {
				vectors, ld = rows[w], width
				for row := lo; row < hi; row++ {
					c.Relative(vectors[(row-lo)*ld:][:width], row, from)
				}
			}
			panel.multiply(dots[w], panel.columns, vectors, ld, hi-lo, from, width, from > 0)
		}
		for row := lo; row < hi; row++ {
			scale, offset := b.workingFactor(uint32(row)), 0.0
			if c.Offset != nil {
				offset = -b.rowNorms[row] * b.rowNorms[row] / 2
			}
			for j, dot := range dots[w][(row-lo)*panel.columns:][:len(queries)] {
				if uint32(row) == selves[j] {
					continue
				}
				score := float64(dot)*scale + math.Ldexp(offset, -queries[j].Exp)
				found[w][j].addScore(score)
				if isEarly[row] {
					early[w][j].addScore(score)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	thetas := make([][]float64, len(queries))
	for j := range queries {
		thetas[j] = append(merged(found, j).thetas(), merged(early, j).thetas()...)
	}
	return thetas, nil
}

// merged returns the greatest scores of query j that the threads found.
func merged(found [][]*topScores, j int) *topScores {
	all := found[0][j]
	for _, f := range found[1:] {
		for _, score := range f[j].scores {
			all.addScore(score)
		}
	}
	return all
}

// topScores holds the greatest scores added, at least as many as the greatest of its ks.
type topScores struct {
	ks     []int // ascending
	scores []float64
	floor  float64 // at least the greatest of ks scores reach it; -Inf while there are fewer
}

// newTopScores returns an empty topScores for pilotKs(n).
func newTopScores(n int) *topScores { return &topScores{ks: pilotKs(n), floor: math.Inf(-1)} }

// spareScores is how many scores a topScores holds before it drops some, as a multiple of those that count.
const spareScores = 3

// addScore adds a score if it can be among the greatest.
func (b *topScores) addScore(score float64) {
	if score <= b.floor {
		return
	}
	most := b.ks[len(b.ks)-1]
	if b.scores = append(b.scores, score); len(b.scores) < spareScores*most {
		return
	}
	b.floor = bandit.KthLargest(slices.Clone(b.scores), most)
	above := b.scores[:0]
	for _, s := range b.scores {
		if s > b.floor {
			above = append(above, s)
		}
	}
	b.scores = above
	for len(b.scores) < most { // those equal to it
		b.scores = append(b.scores, b.floor)
	}
}

// thetas returns the scores of ranks ks; the least if there are fewer.
func (b *topScores) thetas() []float64 {
	thetas := make([]float64, len(b.ks))
	for i, k := range b.ks {
		thetas[i] = math.Inf(-1)
		if n := len(b.scores); n > 0 {
			thetas[i] = bandit.KthLargest(slices.Clone(b.scores), min(k, n))
		}
	}
	return thetas
}

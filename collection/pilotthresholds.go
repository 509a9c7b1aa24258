package collection

import (
	"math"
	"slices"

	"thresher/bandit"
)

// pilotThresholds returns, for the pilot's queries (row-major in q, scaled to their working
// units), the k-th best score for each of pilotKs(c.N) among all atoms except the query itself,
// or the least if there are fewer atoms, and, if there are more, the same of the first EarlyAtoms. selves are the
// queries' rows. It sets scores[j][k] to the score of arms[k] for query j. It takes one more pass over the rows, in
// float32, a few per cent of a build. A sample of the atoms is no substitute: if the best answers are a
// few atoms of the query's own topic, it may contain none of them.
func (b *builder) pilotThresholds(q []float32, queries []Query, selves, arms []uint32, scores [][]float64) ([][]float64, error) {
	c := b.c
	earlyAtoms := EarlyAtoms
	if c.N <= EarlyAtoms {
		earlyAtoms = 0
	}
	earlyRows := placesOf(c.Order[:earlyAtoms])
	rowsOfArms := make([]uint32, len(arms))
	for k, i := range arms {
		rowsOfArms[k] = c.Order[i]
	}
	armRows := placesOf(rowsOfArms)
	// A tile of rows is read columns at a time. The products with all queries stay in the cache.
	const columns, tileRows = 4096, 256
	panel := newPacked(c.Dim, len(queries))
	panel.fillColumns(q, c.Dim, len(queries))
	units := make([]float64, len(queries)) // a working unit in those of the query
	for j := range queries {
		units[j] = math.Ldexp(1, -queries[j].Exp)
	}
	found, early := make([][]*topScores, b.threads), make([][]*topScores, b.threads)
	dots, rows := make([][]float32, b.threads), make([][]float32, b.threads)
	for w := range found {
		found[w], early[w] = make([]*topScores, len(queries)), make([]*topScores, len(queries))
		for j := range queries {
			found[w][j], early[w][j] = newTopScores(c.N), newTopScores(c.N)
		}
		dots[w] = make([]float32, tileRows*panel.columns)
		if c.Centre != nil || c.Rows == nil {
			rows[w] = make([]float32, tileRows*min(columns, c.Dim))
		}
	}
	behind := b.rowSweep()
	defer behind.end()
	err := b.each(c.N, tileRows, func(w, lo, hi int) error {
		for from := 0; from < c.Dim; from += columns {
			width := min(columns, c.Dim-from)
			vectors, ld := rows[w], width
			switch {
			case c.Centre != nil:
				for row := lo; row < hi; row++ {
					c.Relative(vectors[(row-lo)*ld:][:width], row, from)
				}
			case c.Rows != nil:
				vectors, ld = c.Rows[lo*c.Dim+from:], c.Dim
			default:
				for row := lo; row < hi; row++ {
					c.Read(vectors[(row-lo)*ld:][:width], row*c.Dim+from)
				}
			}
			panel.multiply(dots[w], panel.columns, vectors, ld, hi-lo, from, width, from > 0)
		}
		sampled, soon := armRows.from(lo), earlyRows.from(lo)
		for row := lo; row < hi; row++ {
			scale, offset := b.workingFactor(uint32(row)), 0.0
			if c.Offset != nil {
				offset = -b.rowNorms[row] * b.rowNorms[row] / 2
			}
			arm, isArm := sampled.next(row)
			_, isEarly := soon.next(row)
			for j, dot := range dots[w][(row-lo)*panel.columns:][:len(queries)] {
				score := float64(dot)*scale + offset*units[j]
				if isArm {
					scores[j][arm] = score
				}
				if uint32(row) == selves[j] {
					continue
				}
				if all := found[w][j]; score > all.floor {
					all.addScore(score)
				}
				if isEarly {
					early[w][j].addScore(score)
				}
			}
		}
		behind.passed(lo, hi)
		return nil
	})
	if err != nil {
		return nil, err
	}
	thetas := make([][]float64, len(queries))
	for j := range queries {
		thetas[j] = merged(found, j).thetas()
		if earlyAtoms > 0 {
			thetas[j] = append(thetas[j], merged(early, j).thetas()...)
		}
	}
	return thetas, nil
}

// places are rows in ascending order, each with its place in a list.
type places []uint64 // row<<32 | place

func placesOf(rows []uint32) places {
	p := make(places, len(rows))
	for k, row := range rows {
		p[k] = uint64(row)<<32 | uint64(k)
	}
	slices.Sort(p)
	return p
}

// from returns the places of rows from row lo on.
func (p places) from(lo int) places {
	at, _ := slices.BinarySearch(p, uint64(lo)<<32)
	return p[at:]
}

// next returns the place of row, if it is in the list, and forgets it. It is called for ascending rows.
func (p *places) next(row int) (place int, ok bool) {
	if len(*p) == 0 || int((*p)[0]>>32) != row {
		return 0, false
	}
	place = int(uint32((*p)[0]))
	*p = (*p)[1:]
	return place, true
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
func newTopScores(n int) *topScores {
	ks := pilotKs(n)
	return &topScores{ks: ks, floor: math.Inf(-1), scores: make([]float64, 0, min(n, spareScores*ks[len(ks)-1]))}
}

// spareScores is how many scores a topScores holds before it drops some, as a multiple of those that count.
const spareScores = 3

// addScore adds a score if it can be among the greatest.
func (b *topScores) addScore(score float64) {
	if score <= b.floor {
		return
	}
	most := b.ks[len(b.ks)-1]
	if b.scores = append(b.scores, score); len(b.scores) >= spareScores*most {
		b.keep(most)
	}
}

// keep drops all but the k greatest scores, of which the least is the floor. There must be as many.
func (b *topScores) keep(k int) {
	b.floor = bandit.KthLargest(slices.Clone(b.scores), k)
	above := b.scores[:0]
	for _, s := range b.scores {
		if s > b.floor {
			above = append(above, s)
		}
	}
	b.scores = above
	for len(b.scores) < k { // those equal to it
		b.scores = append(b.scores, b.floor)
	}
}

// thetas returns the scores of ranks ks, the least if there are fewer, and uses the scores up.
func (b *topScores) thetas() []float64 {
	thetas := make([]float64, len(b.ks))
	for i := len(b.ks) - 1; i >= 0; i-- {
		thetas[i] = math.Inf(-1)
		if n := len(b.scores); n > 0 {
			b.keep(min(b.ks[i], n))
			thetas[i] = b.floor
		}
	}
	return thetas
}

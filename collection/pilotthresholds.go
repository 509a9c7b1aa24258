package collection

import (
	"math"
	"slices"
)

// pilotThresholds returns, for the pilot's queries (row-major in q, scaled to their working
// units), the k-th best score for each of pilotKs among all atoms except the query itself,
// or the least if there are fewer atoms. A sample would not do: where the best answers are
// few atoms of the query's own topic, it has none of them. It is one more pass over the
// rows, in float32, a few per cent of a build.
func (b *builder) pilotThresholds(q []float32, queries []Query) ([][]float64, error) {
	c := b.c
	const columns = 4096 // of a strip, whose products with all queries stay in cache
	const strip = 256    // rows
	panel := newPacked(c.Dim, len(queries))
	panel.fill(q, c.Dim, len(queries))
	found := make([][]best, b.threads)
	dots, rows := make([][]float32, b.threads), make([][]float32, b.threads)
	for w := range found {
		found[w], dots[w] = make([]best, len(queries)), make([]float32, strip*panel.columns)
		if c.Centre != nil {
			rows[w] = make([]float32, strip*min(columns, c.Dim))
		}
	}
	err := b.each(c.N, strip, func(w, lo, hi int) error {
		for from := 0; from < c.Dim; from += columns {
			width := min(columns, c.Dim-from)
			vectors, ld := c.Rows[lo*c.Dim+from:], c.Dim
			if c.Centre != nil {
				vectors, ld = rows[w], width
				for row := lo; row < hi; row++ {
					c.Relative(vectors[(row-lo)*ld:][:width], row, from)
				}
			}
			panel.times(dots[w], panel.columns, vectors, ld, hi-lo, from, width, from > 0)
		}
		for row := lo; row < hi; row++ {
			scale, offset := b.working(uint32(row)), 0.0
			if c.Offset != nil {
				offset = -b.exact[row] * b.exact[row] / 2
			}
			for j, dot := range dots[w][(row-lo)*panel.columns:][:len(queries)] {
				found[w][j].add(float64(dot)*scale + math.Ldexp(offset, -queries[j].Exp))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	thetas := make([][]float64, len(queries))
	for j := range queries {
		all := &found[0][j]
		for _, f := range found[1:] {
			for _, score := range f[j].scores {
				all.add(score)
			}
		}
		thetas[j] = all.thetas()
	}
	return thetas, nil
}

// best holds the greatest scores added, one more than the greatest of pilotKs for the query
// itself.
type best struct {
	scores []float64
	floor  float64 // a score at or below it is not among them
	full   bool    // floor is set
}

// add considers a score.
func (b *best) add(score float64) {
	if b.full && score <= b.floor {
		return
	}
	if b.scores = append(b.scores, score); len(b.scores) >= 8*pilotKs[len(pilotKs)-1] {
		b.cut()
	}
}

// cut sorts the scores in descending order and drops the excess.
func (b *best) cut() {
	slices.Sort(b.scores)
	slices.Reverse(b.scores)
	if last := pilotKs[len(pilotKs)-1]; len(b.scores) > last {
		b.scores, b.floor, b.full = b.scores[:last+1], b.scores[last], true
	}
}

// thetas returns the scores of ranks pilotKs after the first, which is the query's own; the
// least if there are fewer.
func (b *best) thetas() []float64 {
	b.cut()
	thetas := make([]float64, len(pilotKs))
	for i, k := range pilotKs {
		thetas[i] = b.scores[min(k, len(b.scores)-1)]
	}
	return thetas
}

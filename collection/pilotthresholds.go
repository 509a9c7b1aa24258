package collection

import (
	"math"
	"slices"

	"thresher/bandit"
)

// A tile of rows is read columns at a time. Its products with all queries stay in the cache.
const pilotColumns, pilotRows = 4096, 256

// pilotPass is a pass over the rows that finds the scores and thresholds of the pilot's queries, in float32: a few per
// cent of a build. A sample of the atoms is no substitute: if the best answers are a few atoms of the query's own
// topic, it may contain none of them.
type pilotPass struct {
	b       *builder
	queries []Query
	units   []float64   // a working unit in those of each query
	selves  []uint32    // the queries' rows
	scores  [][]float64 // of each query with all arms

	panel           packed // the queries, scaled to their working units
	armRows, early  places
	hasEarly        bool
	found, earliest [][]*topScores // of each goroutine and query
	dots, rows      [][]float32    // of each goroutine
}

// newPilotPass returns a pass with the first nonzero of the arms as queries, of which none was made yet.
func (b *builder) newPilotPass(arms []uint32) *pilotPass {
	c := b.c
	p := &pilotPass{b: b}
	q, scales := p.chooseQueries(arms)
	if len(scales) == 0 {
		return p
	}
	c.PrepareBatch(p.queries, q, scales, nil)
	p.scores, p.units = make([][]float64, len(p.queries)), make([]float64, len(p.queries))
	for j := range p.queries {
		c.toWorking(q[j*c.Dim:][:c.Dim], math.Ldexp(scales[j], -p.queries[j].Exp))
		p.scores[j] = make([]float64, len(arms))
		p.units[j] = math.Ldexp(1, -p.queries[j].Exp)
	}
	if p.hasEarly = c.N > EarlyAtoms; p.hasEarly {
		p.early = placesOf(c.Order[:EarlyAtoms])
	}
	rowsOfArms := make([]uint32, len(arms))
	for k, i := range arms {
		rowsOfArms[k] = c.Order[i]
	}
	p.armRows = placesOf(rowsOfArms)
	p.panel = newPacked(c.Dim, len(p.queries))
	p.panel.fillColumns(q, c.Dim, len(p.queries))
	p.found, p.earliest = make([][]*topScores, b.threads), make([][]*topScores, b.threads)
	p.dots, p.rows = make([][]float32, b.threads), make([][]float32, b.threads)
	for w := range p.found {
		p.found[w], p.earliest[w] = make([]*topScores, len(p.queries)), make([]*topScores, len(p.queries))
		for j := range p.queries {
			p.found[w][j], p.earliest[w][j] = newTopScores(c.N), newTopScores(c.N)
		}
		p.dots[w] = make([]float32, pilotRows*p.panel.columns)
		if c.Centre != nil || c.Rows == nil {
			p.rows[w] = make([]float32, pilotRows*min(pilotColumns, c.Dim))
		}
	}
	return p
}

// tile has goroutine w score rows lo to hi-1, at most pilotRows.
func (p *pilotPass) tile(w, lo, hi int) {
	if len(p.queries) == 0 {
		return
	}
	b, c := p.b, p.b.c
	for from := 0; from < c.Dim; from += pilotColumns {
		width := min(pilotColumns, c.Dim-from)
		vectors, ld := p.rows[w], width
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
		p.panel.multiply(p.dots[w], p.panel.columns, vectors, ld, hi-lo, from, width, from > 0)
	}
	sampled, soon := p.armRows.from(lo), p.early.from(lo)
	found, earliest := p.found[w], p.earliest[w]
	for row := lo; row < hi; row++ {
		scale, offset := b.workingFactor(uint32(row)), 0.0
		if c.Offset != nil {
			offset = -b.rowNorms[row] * b.rowNorms[row] / 2
		}
		arm, isArm := sampled.next(row)
		_, isEarly := soon.next(row)
		for j, dot := range p.dots[w][(row-lo)*p.panel.columns:][:len(p.queries)] {
			score := float64(dot)*scale + offset*p.units[j]
			if isArm {
				p.scores[j][arm] = score
			}
			if uint32(row) == p.selves[j] {
				continue
			}
			if all := found[j]; score > all.floor {
				all.addScore(score)
			}
			if isEarly {
				earliest[j].addScore(score)
			}
		}
	}
}

// run passes all rows.
func (p *pilotPass) run() error {
	if len(p.queries) == 0 {
		return nil
	}
	return p.b.each(p.b.c.N, pilotRows, func(w, lo, hi int) error {
		p.tile(w, lo, hi)
		return nil
	})
}

// thetas returns, once all rows are passed, for each query the k-th best score for each of pilotKs(c.N) among all atoms except the query
// itself, or the least if there are fewer atoms, and, if there are more, the same of the first EarlyAtoms.
func (p *pilotPass) thetas() [][]float64 {
	thetas := make([][]float64, len(p.queries))
	for j := range thetas {
		thetas[j] = merged(p.found, j).thetas()
		if p.hasEarly {
			thetas[j] = append(thetas[j], merged(p.earliest, j).thetas()...)
		}
	}
	return thetas
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

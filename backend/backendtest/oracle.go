package backendtest

import (
	"cmp"
	"math"
	"slices"

	"thresher/backend"
	"thresher/collection"
)

// Oracle computes the exact search score of every atom: float64 sums over the rows as given,
// without any code under test.
type Oracle struct {
	c       *collection.Collection
	norms   []float64 // |v|, by row
	inverse []int     // row to internal index
	known   map[*float32]*judged
	given   map[*float32][]float64 // of rows of float64: queries as given, by the first element of the rounded one
}

// judged is what an oracle remembers of a query.
type judged struct {
	norm   float64
	scores []float64 // by row
	ranked []int64   // all rows, best first; nil until an answer needs them
}

// NewOracle returns an oracle that reads only the rows, the metric and the order of c. It
// caches the scores and the order of a query by the address of its first element, so queries must not
// change. It is not safe for concurrent use.
func NewOracle(c *collection.Collection) *Oracle {
	o := &Oracle{c: c, norms: make([]float64, c.N), inverse: make([]int, c.N), known: map[*float32]*judged{}}
	for i := range o.norms {
		o.norms[i] = norm(o.row(i))
	}
	for i, row := range c.Order {
		o.inverse[row] = i
	}
	return o
}

// row returns row i as given, relative to what queries are.
func (o *Oracle) row(i int) []float64 {
	if o.c.Float64() {
		return o.c.Given(i)
	}
	return widened(o.c.Row(i))
}

// query returns a query as it is compared with rows.
func (o *Oracle) query(q []float32) []float64 {
	if given, ok := o.given[&q[0]]; ok {
		return given
	}
	return widened(q)
}

func widened(x []float32) []float64 {
	out := make([]float64, len(x))
	for j, v := range x {
		out[j] = float64(v)
	}
	return out
}

func norm[T float32 | float64](x []T) float64 {
	var s float64
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

// Norm is |v| of a row.
func (o *Oracle) Norm(row int) float64 { return o.norms[row] }

// Scores returns the search score (inner product, cosine, or -|q-v|^2/2) of
// every row. The slice is the oracle's.
func (o *Oracle) Scores(q []float32) []float64 { return o.judge(q).scores }

func (o *Oracle) judge(q []float32) *judged {
	if known, ok := o.known[&q[0]]; ok {
		return known
	}
	given := o.query(q)
	s, size := make([]float64, o.c.N), norm(given)
	known := &judged{norm: size, scores: s}
	o.known[&q[0]] = known
	for i := range s {
		var dot, far float64
		for j, v := range o.row(i) {
			dot += v * given[j]
			e := given[j] - v
			far += e * e
		}
		s[i] = searchScore(o.c.Metric, dot, far, size, o.norms[i])
	}
	return known
}

// rank returns all rows, best first, and of equal scores the least row first.
func (o *Oracle) rank(q []float32) []int64 {
	known := o.judge(q)
	if known.ranked == nil {
		for i := range known.scores {
			known.ranked = append(known.ranked, int64(i))
		}
		slices.SortFunc(known.ranked, func(a, b int64) int {
			if c := cmp.Compare(known.scores[b], known.scores[a]); c != 0 {
				return c
			}
			return cmp.Compare(a, b)
		})
	}
	return known.ranked
}

// allows reports whether a goal allows a row.
func (o *Oracle) allows(g *backend.Goal, row int) bool {
	i := o.inverse[row]
	return i >= g.From && !slices.Contains(g.Exclude, uint32(i)) && (g.Filter == nil || g.Filter.Has(i))
}

// Filter returns the filter of the rows that keep accepts, and how many there are.
func (o *Oracle) Filter(keep func(row int) bool) (f *backend.Filter, allowed int) {
	bits := make([]uint64, (o.c.N+63)/64)
	for i, row := range o.c.Order {
		if keep(int(row)) {
			bits[i/64] |= 1 << (i % 64)
			allowed++
		}
	}
	return backend.NewFilter(o.c.Order, bits), allowed
}

// Internal is the internal index of a row, as in Goal.Exclude.
func (o *Oracle) Internal(row int) int { return o.inverse[row] }

// Answer returns the exact answer to q: ids and scores, best first.
func (o *Oracle) Answer(q []float32, g backend.Goal) backend.Answer {
	scores := o.Scores(q)
	var ids []int64
	for _, id := range o.rank(q) {
		if g.K > 0 && len(ids) == g.K {
			break
		}
		if scores[id] >= g.Floor && scores[id] <= g.Ceiling && o.allows(&g, int(id)) {
			ids = append(ids, id)
		}
	}
	a := backend.Answer{IDs: ids, Tau: g.Floor, OpenBound: math.Inf(-1)}
	for _, id := range ids {
		a.Scores = append(a.Scores, scores[id])
	}
	if g.K > 0 && len(ids) == g.K {
		a.Tau = max(a.Tau, scores[ids[g.K-1]]+g.Epsilon)
	}
	return a
}

package verify

import (
	"math"

	"thresher/collection"
)

// pairScores are the scores of atoms for one query, one at a time.
type pairScores struct {
	oracle *Oracle
	q      []float64
	norm   float64   // |q|
	row    []float64 // memory for one
}

func (o *Oracle) pairs(q []float32) pairScores {
	wide := make([]float64, len(q))
	for c, x := range q {
		wide[c] = float64(x)
	}
	return o.pairs64(wide)
}

// pairs64 is pairs of a query of float64, which it retains.
func (o *Oracle) pairs64(q []float64) pairScores {
	return pairScores{o, q, norm(q), make([]float64, o.dim)}
}

// pair is what every score of a query and an atom is computed from.
type pair struct {
	dot     float64 // q.v
	squared float64 // |q-v|^2
	q, v    float64 // |q|, |v|
}

func (s *pairScores) pair(id int64) pair {
	p := pair{q: s.norm, v: s.oracle.length(int(id))}
	for c, b := range s.oracle.row64(int(id), s.row) {
		a := s.q[c]
		p.dot += a * b
		p.squared += (a - b) * (a - b)
	}
	return p
}

// margin is Scores.margin of two atoms with these search scores.
func (s *pairScores) margin(i, j int64, score, other float64) float64 {
	return s.oracle.margin(s.norm, int(i), int(j), score, other)
}

// scoreForm is a function of a metric's sum that a program may state as the score.
type scoreForm struct {
	name   string
	metric collection.Metric
	of     func(sum float64) float64 // the score, from what sumOf returns
}

// fitsSum reports at which precisions stated is the score of a pair in this form; sum and off are what
// sumOf returns.
func (f *scoreForm) fitsSum(sum, off, stated float64) [precisions]bool {
	score := f.of(sum)
	room := math.Abs(score) * 1e-6 // seven decimal digits
	for _, edge := range []float64{f.of(sum - off), f.of(sum + off)} {
		room = max(room, math.Abs(score-edge)+math.Abs(score)*1e-6)
	}
	return fits(stated, score, room)
}

// scale is a form of scores at a precision, as a bit of a scales.
type scale int

func scaleOf(form int, p precision) scale { return scale(form*int(precisions) + int(p)) }

func (s scale) form() int            { return int(s) / int(precisions) }
func (s scale) precision() precision { return precision(int(s) % int(precisions)) }

func (s scale) String() string { return knownForms[s.form()].name + s.precision().suffix() }

// scales is a set of them.
type scales uint64

func (s scales) has(x scale) bool { return s>>x&1 == 1 }

// scalesOf returns the scales of a metric's forms on which stated is the score.
func (p *pair) scalesOf(m collection.Metric, dim int, stated float64) (found scales) {
	for i := range knownForms {
		if f := &knownForms[i]; f.metric == m {
			sum, off := p.sumOf(m, dim)
			found |= f.scales(i, sum, off, stated)
		}
	}
	return found
}

// scales returns those of the form, whose number is i.
func (f *scoreForm) scales(i int, sum, off, stated float64) (found scales) {
	for p, ok := range f.fitsSum(sum, off, stated) {
		if ok {
			found |= 1 << scaleOf(i, precision(p))
		}
	}
	return found
}

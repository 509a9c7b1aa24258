package verify

import (
	"fmt"
	"math"

	"thresher/collection"
)

// pairScores are the scores of atoms for one query, one at a time.
type pairScores struct {
	oracle *Oracle
	q      []float32
	norm   float64 // |q|
}

func (o *Oracle) pairs(q []float32) pairScores { return pairScores{o, q, norm(q)} }

// pair is what every score of a query and an atom is computed from.
type pair struct {
	dot     float64 // q.v
	squared float64 // |q-v|^2
	q, v    float64 // |q|, |v|
}

func (s *pairScores) pair(id int64) pair {
	p := pair{q: s.norm, v: s.oracle.length(int(id))}
	for c, x := range s.oracle.row(int(id)) {
		a, b := float64(s.q[c]), float64(x)
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

// fits reports whether stated is the score of a pair in this form, within float32 rounding.
func (f *scoreForm) fits(p *pair, dim int, stated float64) bool {
	sum, off := p.sumOf(f.metric, dim)
	score := f.of(sum)
	room := math.Abs(score) * 1e-6 // seven decimal digits
	for _, edge := range []float64{f.of(sum - off), f.of(sum + off)} {
		room = max(room, math.Abs(score-edge)+math.Abs(score)*1e-6)
	}
	return math.Abs(stated-score) <= room
}

// StatedScores counts the scores that answers state, and those of them that each known form does
// not explain. The zero value has none. As JSON it can be kept with the progress of a run.
type StatedScores struct {
	Stated int64           `json:"stated"`
	Wrong  [16]WrongScores `json:"wrong"` // by index of knownForms
}

// WrongScores are the stated scores that a form does not explain.
type WrongScores struct {
	Count  int64        `json:"count,omitempty"`
	Sample []WrongScore `json:"sample,omitempty"` // the first; of forms of other metrics none
}

// WrongScore is a stated score that is not the atom's.
type WrongScore struct {
	Query  int64   `json:"query"`
	ID     int64   `json:"id"`
	Stated float64 `json:"stated"`
	Score  float64 `json:"score"`
}

// shownWrong is how many wrong scores a report lists.
const shownWrong = 10

func (c *StatedScores) add(query, id int64, s *pairScores, stated float64) {
	c.Stated++
	p := s.pair(id)
	for i := range knownForms {
		f := &knownForms[i]
		if f.fits(&p, s.oracle.dim, stated) {
			continue
		}
		w := &c.Wrong[i]
		w.Count++
		if f.metric == s.oracle.metric && len(w.Sample) < shownWrong {
			sum, _ := p.sumOf(f.metric, s.oracle.dim)
			finite := max(-math.MaxFloat32, min(stated, math.MaxFloat32)) // JSON has no infinities
			w.Sample = append(w.Sample, WrongScore{query, id, finite, f.of(sum)})
		}
	}
}

// FormCount says what the stated scores are, and how many are wrong.
type FormCount struct {
	Form   string       `json:"form"`
	Stated int64        `json:"stated"`
	Wrong  int64        `json:"wrong"`
	Sample []WrongScore `json:"sample,omitempty"` // the first wrong ones
}

// Form chooses the form of metric m that explains most of the scores, and returns nil without
// scores. If it explains less than half of them and a form of another metric nine tenths, the
// answers are refused.
func (c *StatedScores) Form(m collection.Metric) (*FormCount, error) {
	if c.Stated == 0 {
		return nil, nil
	}
	best, other := -1, -1
	for i, f := range knownForms {
		switch {
		case f.metric == m && (best < 0 || c.Wrong[i].Count < c.Wrong[best].Count):
			best = i
		case f.metric != m && (other < 0 || c.Wrong[i].Count < c.Wrong[other].Count):
			other = i
		}
	}
	if 2*c.Wrong[best].Count > c.Stated && 10*c.Wrong[other].Count <= c.Stated {
		return nil, fmt.Errorf("%d of %d scores are %s, of metric %v; the metric is %v",
			c.Stated-c.Wrong[other].Count, c.Stated, knownForms[other].name, knownForms[other].metric, m)
	}
	return &FormCount{Form: knownForms[best].name, Stated: c.Stated, Wrong: c.Wrong[best].Count, Sample: c.Wrong[best].Sample}, nil
}

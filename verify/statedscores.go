package verify

import (
	"fmt"
	"math"

	"thresher/collection"
)

// StatedScores counts the scores that answers state, and how many of them each known scale explains. The
// zero value has none. As JSON it can be kept with the progress of a run.
type StatedScores struct {
	Stated int64 `json:"stated"`
	// Fits counts those that a form of scores explains, at each precision; by index of knownForms.
	Fits [][precisions]int64 `json:"fits,omitempty"`
	// Sample are the first that a form of the metric does not explain, by index of knownForms.
	Sample [][]WrongScore `json:"sample,omitempty"`
	// Puzzles counts the first of those that no form of the metric explains, and what would.
	Puzzles puzzles `json:"puzzles,omitzero"`
}

// puzzles are scores that are not those of their atoms. Each counts for whatever explains it.
type puzzles struct {
	Tried    int64 `json:"tried"`
	Permuted int64 `json:"permuted"` // scores of another atom of the same answer
	Before   int64 `json:"before"`   // of the atom one row before
	After    int64 `json:"after"`    // of the atom one row after
}

// maxPuzzles bounds the scores for which an explanation is looked for.
const maxPuzzles = 1000

// WrongScore is a stated score that is not the atom's.
type WrongScore struct {
	Query  int64   `json:"query"`
	ID     int64   `json:"id"`
	Stated float64 `json:"stated"`
	Score  float64 `json:"score"`
}

// shownWrong is how many wrong scores a report lists.
const shownWrong = 10

// add counts the scores that the answer ids to query number query states.
func (c *StatedScores) add(query int64, s *pairScores, ids []int64, scores []float32) {
	c.grow()
	for at, id := range ids {
		stated := float64(scores[at])
		if math.IsInf(stated, -1) { // which stands for no score
			continue
		}
		p := s.pair(id)
		if !c.explain(query, id, s, &p, stated) && c.Puzzles.Tried < maxPuzzles {
			c.Puzzles.add(s, ids, id, stated)
		}
	}
}

func (c *StatedScores) grow() {
	for len(c.Fits) < len(knownForms) {
		c.Fits = append(c.Fits, [precisions]int64{})
	}
	for len(c.Sample) < len(knownForms) {
		c.Sample = append(c.Sample, nil)
	}
}

// explain counts one score for each scale of any metric, and reports whether a scale of the oracle's
// explains it.
func (c *StatedScores) explain(query, id int64, s *pairScores, p *pair, stated float64) (known bool) {
	c.Stated++
	for i := range knownForms {
		f := &knownForms[i]
		sum, off := p.sumOf(f.metric, s.oracle.dim)
		found := f.scales(i, sum, off, stated)
		c.count(i, found)
		switch {
		case f.metric != s.oracle.metric:
		case found != 0:
			known = true
		case len(c.Sample[i]) < shownWrong:
			finite := max(-math.MaxFloat32, min(stated, math.MaxFloat32)) // JSON has no infinities
			c.Sample[i] = append(c.Sample[i], WrongScore{query, id, finite, f.of(sum)})
		}
	}
	return known
}

func (c *StatedScores) count(form int, found scales) {
	for p := range precisions {
		if found.has(scaleOf(form, p)) {
			c.Fits[form][p]++
		}
	}
}

// add looks for an explanation of the score stated for atom id of an answer.
func (z *puzzles) add(s *pairScores, ids []int64, id int64, stated float64) {
	z.Tried++
	explains := func(other int64) bool {
		if other < 0 || other >= int64(s.oracle.n) {
			return false
		}
		p := s.pair(other)
		return p.scalesOf(s.oracle.metric, s.oracle.dim, stated) != 0
	}
	if explains(id - 1) {
		z.Before++
	}
	if explains(id + 1) {
		z.After++
	}
	for _, other := range ids {
		if other != id && explains(other) {
			z.Permuted++
			break
		}
	}
}

// hint says what explains nine tenths of the puzzles; "" if nothing does.
func (z *puzzles) hint() string {
	nearly := func(count int64) bool { return z.Tried > 0 && 10*count >= 9*z.Tried }
	switch {
	case nearly(z.Before):
		return "they are those of the rows before: the ids seem to count from 1"
	case nearly(z.After):
		return "they are those of the rows after: the ids seem to be one too low"
	case nearly(z.Permuted):
		return "they are those of the answers' other vectors: ids or scores seem to be in another order"
	}
	return ""
}

// best returns the scale that explains most of the scores, of forms that accepts takes; of equals the
// finest, and the first form. It returns -1 if there is none.
func (c *StatedScores) best(accepts func(*scoreForm) bool) (best scale, count int64) {
	best, count = -1, -1
	for p := range precisions {
		for i := range c.Fits {
			if accepts(&knownForms[i]) && c.Fits[i][p] > count {
				best, count = scaleOf(i, p), c.Fits[i][p]
			}
		}
	}
	return best, count
}

// scale returns the scale of metric m on which the scores are; false if it explains less than half of
// them.
func (c *StatedScores) scale(m collection.Metric) (best scale, count int64, ok bool) {
	best, count = c.best(func(f *scoreForm) bool { return f.metric == m })
	return best, count, best >= 0 && 2*count >= c.Stated
}

// UnknownScale is the Form of scores that no known form of the metric explains. None of them is wrong.
const UnknownScale = "on a scale that is not known"

// FormCount says what the stated scores are, and how many are wrong.
type FormCount struct {
	Form   string       `json:"form"` // such as "inner products"; UnknownScale
	Stated int64        `json:"stated"`
	Wrong  int64        `json:"wrong"`
	Hint   string       `json:"hint,omitempty"`   // what explains scores on an unknown scale
	Sample []WrongScore `json:"sample,omitempty"` // the first wrong ones
}

// String is one line about the scores.
func (f *FormCount) String() string {
	switch {
	case f.Form != UnknownScale:
		return fmt.Sprintf("%s; %d of %d are not the vectors'", f.Form, f.Wrong, f.Stated)
	case f.Hint != "":
		return f.Form + "; " + f.Hint
	}
	return f.Form
}

// Form chooses the form of metric m that explains most of the scores, and returns nil without
// scores. If none explains half of them, their scale is not known; but if a form of another metric
// explains nine tenths, the answers are refused.
func (c *StatedScores) Form(m collection.Metric) (*FormCount, error) {
	if c.Stated == 0 {
		return nil, nil
	}
	if best, count, ok := c.scale(m); ok {
		return &FormCount{Form: best.String(), Stated: c.Stated, Wrong: c.Stated - count, Sample: c.wrong(best, count)}, nil
	}
	other, count := c.best(func(f *scoreForm) bool { return f.metric != m })
	if other >= 0 && 10*count >= 9*c.Stated {
		return nil, fmt.Errorf("%d of %d scores are %v, of metric %v; the metric is %v", count, c.Stated, other, knownForms[other.form()].metric, m)
	}
	return &FormCount{Form: UnknownScale, Stated: c.Stated, Hint: c.Puzzles.hint()}, nil
}

// wrong returns the first scores that a scale does not explain, nil if it explains all.
func (c *StatedScores) wrong(best scale, count int64) []WrongScore {
	if count == c.Stated {
		return nil
	}
	return c.Sample[best.form()]
}

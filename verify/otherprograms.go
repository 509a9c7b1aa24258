package verify

import (
	"math"
	"sync"

	"thresher/batch"
)

// Others collects the scores that answers of another program state. Such scores may be on any scale of the
// metric that is known, or on one that is not: only all answers together show which. It is safe for
// concurrent use; the zero value has none.
type Others struct {
	mu      sync.Mutex
	oracle  *Oracle
	counts  StatedScores
	misfits [64]misfit // by scale
}

// misfit counts the answers of which a scale does not explain all scores.
type misfit struct {
	answers int64
	first   int64 // the number of the first one's query
}

// OfOthers returns a check of answers of another program: their scores are not compared but collected in o.
func (c *Check) OfOthers(o *Others) *Check {
	own := *c
	own.others = o
	return &own
}

// add collects the scores of an answer, and returns the scales that explain all of them, and whether it
// states any.
func (o *Others) add(s *Scores, a *batch.Answer) (all scales, stated bool) {
	all = math.MaxUint64
	o.mu.Lock()
	defer o.mu.Unlock()
	o.oracle = s.oracle
	o.counts.grow()
	for at, id := range a.IDs {
		x := float64(a.Scores[at])
		if math.IsInf(x, -1) { // which stands for no score
			continue
		}
		stated = true
		all &= o.count(id, s, x)
	}
	if !stated {
		return 0, false
	}
	return all, true
}

// Found counts the finding of an answer, to a query of this number, for Misstated.
func (o *Others) Found(query int64, f *Finding) {
	if o == nil || !f.stated {
		return
	}
	for at := range o.misfits {
		if f.scales.has(scale(at)) {
			continue
		}
		m := &o.misfits[at]
		if m.answers == 0 {
			m.first = query
		}
		m.answers++
	}
}

// count counts one score, and returns the scales that explain it.
func (o *Others) count(id int64, s *Scores, stated float64) (found scales) {
	o.counts.Stated++
	sum, off := s.sumOf(int(id))
	for i := range knownForms {
		if f := &knownForms[i]; f.metric == s.oracle.metric {
			fit := f.scales(i, sum, off, stated)
			o.counts.count(i, fit)
			found |= fit
		}
	}
	return found
}

// Form says what the scores collected so far are; nil without scores. Wrong counts scores.
func (o *Others) Form() *FormCount {
	if o == nil || o.counts.Stated == 0 {
		return nil
	}
	best, count, ok := o.counts.scale(o.oracle.metric)
	if !ok {
		return &FormCount{Form: UnknownScale, Stated: o.counts.Stated}
	}
	return &FormCount{Form: best.String(), Stated: o.counts.Stated, Wrong: o.counts.Stated - count}
}

// Misstated returns how many of the answers passed to Found state a score that is not their vector's, and the
// first of their queries. On a scale that is not known there are none.
func (o *Others) Misstated() (answers, first int64) {
	if o == nil || o.counts.Stated == 0 {
		return 0, 0
	}
	best, _, ok := o.counts.scale(o.oracle.metric)
	if !ok {
		return 0, 0
	}
	return o.misfits[best].answers, o.misfits[best].first
}

// Misstates reports whether the answer with this finding is one of them, by all scores collected.
func (o *Others) Misstates(f *Finding) bool {
	if o == nil || !f.stated {
		return false
	}
	best, _, ok := o.counts.scale(o.oracle.metric)
	return ok && !f.scales.has(best)
}

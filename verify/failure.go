package verify

import (
	"math"

	"thresher/batch"
)

// Criterion says when an answer to a query for the k best fails.
type Criterion string

const (
	// CriterionMissing: one of the k best is missing, and clearly scores more than an atom returned
	// plus epsilon. An answer that does not fail by it has at each rank r at least the r-th best
	// score less epsilon.
	CriterionMissing Criterion = "missing"
	// CriterionThreshold: an atom returned clearly scores less than the k-th best less epsilon.
	CriterionThreshold Criterion = "threshold"
)

// String says it in words.
func (r Criterion) String() string {
	if r == CriterionThreshold {
		return "no vector returned scores below the k-th best, less epsilon"
	}
	return "no vector that is missing scores above one returned, plus epsilon"
}

// CriterionOf returns the criterion by which an answer with this certificate is checked: CriterionThreshold if
// the paper of its method promises no more, else CriterionMissing.
func CriterionOf(c *batch.Certificate) Criterion {
	if c.Method == batch.BoundedME && !sure(c) {
		return CriterionThreshold
	}
	return CriterionMissing
}

// returned are the atoms of an answer with the gap that it may have.
type returned struct {
	scores  *Scores
	ids     []int64
	there   map[int64]bool
	epsilon float64 // in units of Scores.Search
}

func (c *Check) returned(s *Scores, a *batch.Answer) *returned {
	r := &returned{scores: s, ids: a.IDs, there: make(map[int64]bool, len(a.IDs)), epsilon: c.epsilon(&a.Certificate)}
	for _, id := range a.IDs {
		r.there[id] = true
	}
	return r
}

// lacks reports whether atom i is missing.
func (r *returned) lacks(i int) bool { return !r.there[int64(i)] }

// exceeds reports whether atom i clearly scores more than an atom returned plus epsilon.
func (r *returned) exceeds(i int) bool {
	s := r.scores
	for _, id := range r.ids {
		if s.Search[i] > s.Search[id]+r.epsilon+s.margin(i, int(id)) {
			return true
		}
	}
	return false
}

// worst returns the least score of the atoms returned.
func (r *returned) worst() float64 {
	worst := math.Inf(1)
	for _, id := range r.ids {
		worst = min(worst, r.scores.Search[id])
	}
	return worst
}

// missed returns those of the wanted atoms that are missing and that broken accepts, best first,
// and how far the first is above limit.
func (r *returned) missed(want []int, limit float64, broken func(i int) bool) (ids []int64, gap float64) {
	for _, i := range want {
		if r.lacks(i) && broken(i) {
			ids = append(ids, int64(i))
		}
	}
	if len(ids) > 0 && !math.IsInf(limit, 0) {
		gap = r.scores.Search[ids[0]] - limit
	}
	return ids, gap
}

// all stands for missed's broken where no missing atom is excused.
func all(int) bool { return true }

// lacking applies the definition of failure to an answer of a search that was not stopped. want
// are the k best atoms, or all that clearly belong to the answer if they are fewer.
func (c *Check) lacking(s *Scores, a *batch.Answer, want []int) (ids []int64, gap float64) {
	if len(want) == 0 {
		return nil, 0
	}
	r := c.returned(s, a)
	switch {
	case c.k == 0 || len(a.IDs) < c.k: // nothing that belongs to the answer may be missing
		return r.missed(want, r.worst(), all)
	case c.minScore == nil && CriterionOf(&a.Certificate) == CriterionThreshold:
		if !r.exceeds(want[len(want)-1]) {
			return nil, 0
		}
		return r.missed(want, r.worst(), all)
	}
	return r.missed(want, r.worst(), r.exceeds)
}

// closed applies it to a partial answer: an atom that scores no more than the open bound may be
// missing, and, of an answer of k atoms, one that a complete answer may lack.
func (c *Check) closed(s *Scores, a *batch.Answer, want []int) (ids []int64, gap float64) {
	r := c.returned(s, a)
	limit := *a.Certificate.OpenBound
	full := len(a.IDs) > 0 && (len(a.IDs) == c.k || len(a.IDs) == len(want) && c.maxScore == nil)
	if full {
		limit = max(limit, r.worst()+r.epsilon)
	}
	return r.missed(want, limit, func(i int) bool {
		return s.Search[i] > *a.Certificate.OpenBound+s.margin(i, i) && (!full || r.exceeds(i))
	})
}

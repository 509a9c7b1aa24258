package cpu

import (
	"cmp"
	"context"
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/bandit"
)

// givenChunk is the number of given candidates that are scored between two checks of the context.
const givenChunk = 1024

const (
	// sampleFrom is the least number of given candidates of which a sample is scored first, and
	// sampleStep the reciprocal of its share.
	sampleFrom, sampleStep = 32, 12
)

// orderGiven lists in given the candidates that the goal names in the order in which they are scored
// before all other atoms: first a sample of them. A search for all atoms that reach a floor has no
// use for them and treats them as the others.
func (s *state) orderGiven() {
	if s.goal.K == 0 {
		s.goal.Candidates = nil
	}
	all := s.goal.Candidates
	s.given, s.sample = s.given[:0], 0
	if len(all) < sampleFrom || len(all) > givenChunk {
		s.given = append(s.given, all...)
		return
	}
	for k := 0; k < len(all); k += sampleStep {
		s.given = append(s.given, all[k])
	}
	s.sample = len(s.given)
	for k, i := range all {
		if k%sampleStep != 0 {
			s.given = append(s.given, i)
		}
	}
}

// settleGiven decides by the first chunk of a look, whose arms are passed, whether the given
// candidates of which only a sample is scored are worth scoring. They are not if the estimates of
// k/4 of these arms are above half of the best k of the candidates: then the arms make a threshold as
// good, and the candidates that are not scored become atoms like all others.
func (q *scanState) settleGiven(w *scratch, source backend.Source, passed survivors, strip *looks.Strip) {
	if q.begun || q.givenLeft() == 0 {
		return
	}
	w.scores = w.scores[:0]
	for _, a := range q.best.entries {
		w.scores = append(w.scores, a.score)
	}
	best := (q.sample*min(q.goal.K, len(q.given)) + 2*len(q.given) - 1) / (2 * len(q.given)) // half of them, of the sample
	if len(w.scores) >= best {
		middle := q.conversion.Threshold(bandit.KthLargest(w.scores, best))
		middle += q.bound.StripRounding(strip) + strip.MeanRadius*q.bound.RadiusFactor // the bound of this estimate
		w.selected.truncate(0)
		w.selected.appendSelected(q.kern, passed, float32(middle), float32(math.Inf(1)))
		if len(w.selected.ids) < max(4, q.goal.K/4) {
			q.scoreOtherGiven(w, source)
			return
		}
	}
	q.keepSample()
	q.weak = q.best.len()
	q.hiddenBefore, _ = slices.BinarySearch(q.hidden, uint32(q.nextPanel*panelAtoms))
}

// scoreOtherGiven scores the given candidates that are not scored yet, during a look.
func (q *scanState) scoreOtherGiven(w *scratch, source backend.Source) {
	if q.givenLeft() == 0 {
		return
	}
	q.scoreSomeGiven(w, q.givenLeft())
	if source == backend.LowerBound {
		q.seedLower()
	}
}

// scoreGiven scores the given candidates of queries js that are not scored yet: all of them or, if a
// look follows whose first chunk decides about the others, samples only. After an error of ctx it
// continues where it stopped.
func (x *run) scoreGiven(ctx context.Context, js []int, samples bool) error {
	var due []int
	for _, j := range js {
		if s := &x.states[j]; s.phase != hasLeft && s.givenScored < s.givenDue(samples) {
			due = append(due, j)
		}
	}
	if len(due) == 0 {
		return nil
	}
	return x.r.each(ctx, len(due), func(w *scratch, at int) error {
		s := &x.states[due[at]]
		for s.scoreSomeGiven(w, min(givenChunk, s.givenDue(samples)-s.givenScored)) < s.givenDue(samples) {
			if err := x.r.checkpoint(ctx, len(due)); err != nil {
				return err
			}
		}
		return nil
	})
}

// givenLeft is how many given candidates are not scored.
func (s *state) givenLeft() int { return len(s.given) - s.givenScored }

// keepSample makes the given candidates beyond the sample atoms like all others.
func (s *state) keepSample() {
	s.given = s.given[:s.sample]
	s.goal.Candidates = s.given
	s.bestGiven = append(s.bestGiven[:0], s.best.entries...)
	s.hideAtoms()
}

// givenDue is how many of the given candidates scoreGiven scores.
func (s *state) givenDue(samples bool) int {
	if samples && s.sample > 0 {
		return s.sample
	}
	return len(s.given)
}

// scoreSomeGiven scores the next n given candidates, if there are so many, and returns how many are
// scored now.
func (s *state) scoreSomeGiven(w *scratch, n int) int {
	some := s.given[s.givenScored:min(s.givenScored+n, len(s.given))]
	s.scoreAtoms(w, some)
	s.givenScored += len(some)
	if s.givenScored == len(s.given) {
		s.bestGiven = append(s.bestGiven[:0], s.best.entries...)
	}
	return s.givenScored
}

// seedLower counts the scores of the given candidates as lower bounds, for looks whose threshold is
// made of such.
func (s *state) seedLower() {
	if s.lower.len() > 0 {
		return
	}
	for _, a := range s.bestGiven {
		s.lower.push(s.conversion.Threshold(a.score))
	}
}

// sortGiven prepares isGiven.
func (s *state) sortGiven() {
	slices.SortFunc(s.bestGiven, func(a, b scored) int { return cmp.Compare(a.row, b.row) })
}

// isGiven reports whether a row is among the best of the given candidates, after sortGiven.
func (s *state) isGiven(row uint32) bool {
	_, found := slices.BinarySearchFunc(s.bestGiven, row, func(a scored, row uint32) int { return cmp.Compare(a.row, row) })
	return found
}

// scoreCapOfGiven bounds the scores of the given candidates that are not scored yet; -Inf if none
// are left.
func (s *state) scoreCapOfGiven() (left int, most float64) {
	if left = s.givenLeft(); left == 0 {
		return 0, math.Inf(-1)
	}
	return left, s.scoreCap()
}

package cpu

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// givenChunk is the number of given candidates that are scored between two checks of the context.
const givenChunk = 1024

// given returns the candidates that the goal names and that are scored before the first look. A
// search for all atoms that reach a floor has no use for them and treats them as the others.
func (s *state) given() []uint32 {
	if s.goal.K == 0 {
		return nil
	}
	return s.goal.Candidates
}

// scoreGiven scores the given candidates of the queries that looks or dense scans have not begun.
// After an error of ctx it continues where it stopped.
func (x *run) scoreGiven(ctx context.Context) error {
	var due []int
	for j := range x.states {
		if s := &x.states[j]; s.phase != hasLeft && s.givenScored < len(s.given()) {
			due = append(due, j)
		}
	}
	if len(due) == 0 {
		return nil
	}
	return x.r.each(ctx, len(due), func(w *scratch, at int) error {
		s := &x.states[due[at]]
		for s.scoreSomeGiven(w, givenChunk) {
			if err := x.r.checkpoint(ctx, len(due)); err != nil {
				return err
			}
		}
		return nil
	})
}

// scoreSomeGiven scores the next n given candidates and reports whether more are left.
func (s *state) scoreSomeGiven(w *scratch, n int) (more bool) {
	all := s.given()
	some := all[s.givenScored:min(s.givenScored+n, len(all))]
	w.ids, w.scores = grow(w.ids, len(some)), grow(w.scores, len(some))
	for k, i := range some {
		w.ids[k] = s.c.Order[i]
	}
	s.searchScores(w.scores, w.ids)
	s.countRows(len(some))
	s.givenScored += len(some)
	for k, row := range w.ids {
		s.addScored(scored{w.scores[k], row})
	}
	if s.givenScored < len(all) {
		return true
	}
	s.bestGiven = append(s.bestGiven[:0], s.best.entries...)
	return false
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
	if left = len(s.given()) - s.givenScored; left == 0 {
		return 0, math.Inf(-1)
	}
	return left, s.scoreCap()
}

package arms

import (
	"math"
)

// Bounded reports whether the query wants no atoms above some score.
func (s *Query) Bounded() bool { return !math.IsInf(s.Ceiling, 1) }

// AnswersWith reports whether an atom of this exact score may be in the answer.
func (s *Query) AnswersWith(score float64) bool { return score >= s.Floor && score <= s.Ceiling }

// CertainlyBelow reports whether an atom of this upper bound cannot score above the ceiling.
func (s *Query) CertainlyBelow(upper float64) bool {
	return !s.Bounded() || s.Conversion.UpperScore(upper) <= s.Ceiling
}

// CertainlyAbove reports whether an atom of this lower bound must score above the ceiling.
func (s *Query) CertainlyAbove(lower float64) bool {
	return s.Bounded() && s.Conversion.LowerThreshold(lower)-s.Conversion.Lead > s.Ceiling
}

// MayAnswer reports whether an arm of this estimate is worth an exact score before the others: the
// estimate is at most the ceiling.
func (s *Query) MayAnswer(estimate float64) bool { return estimate <= s.Ceiling+s.Conversion.Lead }

// DropAbove records that an arm was dropped because it certainly scores above the ceiling. This
// cannot fail, so it counts as if the arm had been scored.
func (s *Query) DropAbove() {
	if s.rowsIfAllScored > 0 {
		s.rowsIfAllScored--
	}
}

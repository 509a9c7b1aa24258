package cpu

import "math"

// bounded reports whether the query wants no atoms above some score.
func (s *state) bounded() bool { return !math.IsInf(s.ceiling, 1) }

// answersWith reports whether an atom of this exact score may be in the answer.
func (s *state) answersWith(score float64) bool { return score >= s.floor && score <= s.ceiling }

// certainlyBelow reports whether an atom of this upper bound cannot score above the ceiling.
func (s *state) certainlyBelow(upper float64) bool {
	return !s.bounded() || s.conversion.UpperScore(upper) <= s.ceiling
}

// certainlyAbove reports whether an atom of this lower bound must score above the ceiling.
func (s *state) certainlyAbove(lower float64) bool {
	return s.bounded() && s.conversion.LowerThreshold(lower)-s.conversion.Lead > s.ceiling
}

// mayAnswer reports whether an arm of this estimate is worth an exact score before the others: the
// estimate is at most the ceiling.
func (s *state) mayAnswer(estimate float64) bool { return estimate <= s.ceiling+s.conversion.Lead }

// dropAbove records that an arm was dropped because it certainly scores above the ceiling. This
// cannot fail, so it counts as if the arm had been scored.
func (s *state) dropAbove() {
	if s.rowsIfAllScored > 0 {
		s.rowsIfAllScored--
	}
}

// resolveChunk is the number of arms whose rows of codes resolveAbove reads together.
const resolveChunk = 1024

// resolveAbove drops those of arms that certainly score above the ceiling, by the whole rows of codes
// of all that may. It reads each row once, and stops when stopped says so; arms not read stay.
func (s *state) resolveAbove(w *scratch, arms []arm, stopped func() bool) []arm {
	if !s.bounded() || !s.c.Coded() || len(arms) == 0 {
		return arms
	}
	b := s.fullWidthBound(w)
	kept, from := 0, 0
	for from < len(arms) && !stopped() {
		some := arms[from:min(from+resolveChunk, len(arms))]
		from += len(some)
		w.ids = w.ids[:0]
		for _, a := range some {
			if !s.certainlyBelow(a.bound) {
				w.ids = append(w.ids, a.i)
			}
		}
		w.fetchSink = fetchSides(b, w.ids)
		w.sums.codes = grow(w.sums.codes, len(w.ids))
		wide := s.sumCodes(w, w.ids, s.c.D)
		s.countCodes(b.AtomBytes, len(w.ids))
		k := 0
		for _, a := range some {
			if !s.certainlyBelow(a.bound) {
				estimate, upper := s.boundSummedCodes(b, w, k, a.i, wide)
				k++
				if s.certainlyAbove(s.lowerBound(int(a.i), estimate, upper)) {
					s.dropAbove()
					continue
				}
				a.bound = min(a.bound, upper)
			}
			arms[kept] = a
			kept++
		}
	}
	kept += copy(arms[kept:], arms[from:])
	return arms[:kept]
}

package revisit

import (
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/cpu/topk"
)

// Tighten raises the threshold, if it can, by scoring the given arms in order. With source Exact
// the scores are exact and enter the answer. With LowerBound the arms' lower bounds are computed
// from their whole rows of codes, and the arms become finalists, which are scored at the end. It reports
// whether any is better than the threshold was.
func (s *Query) Tighten(w *Scratch, source backend.Source, a topk.Entries) (better bool) {
	if source == backend.Exact {
		worst := math.Inf(-1)
		if s.Best.Full() {
			worst = s.Best.Worst().Score
		}
		s.ScoreAtoms(w.Scratch, a.IDs)
		return slices.ContainsFunc(w.Scores, func(score float64) bool { return score > worst })
	}
	b := s.fullWidthBound(w)
	w.fetchSink = fetchSides(b, a.IDs)
	w.sums.codes = topk.Grow(w.sums.codes, len(a.IDs))
	wide := s.sumCodes(w, a.IDs, s.C.D)
	s.CountCodes(b.AtomBytes, len(a.IDs))
	// All raise the threshold together, which takes less time than one after the other.
	w.lowers = w.lowers[:0]
	from, before := len(s.Finalists), s.Tau
	for k, i := range a.IDs {
		estimate, upper := s.boundSummedCodes(b, w, k, i, wide)
		lower := s.lowerBound(int(i), estimate, upper)
		if s.CertainlyAbove(lower) {
			s.DropAbove()
			continue
		}
		if s.Raises(lower, upper) {
			w.lowers = append(w.lowers, lower)
			better = better || lower > before+betterShare*(upper-lower)
		}
		if upper >= s.Tau {
			s.Finalists = append(s.Finalists, topk.Arm{Bound: upper, ID: i})
		}
	}
	s.Lower.PushAll(w.lowers, &w.Scores)
	s.RaiseToLower()
	kept := s.Finalists[:from]
	for _, a := range s.Finalists[from:] {
		if a.Bound >= s.Tau {
			kept = append(kept, a)
		}
	}
	s.Finalists = kept
	return better
}

// betterShare is how much better than the threshold a lower bound must be, as a share of its distance from the
// upper bound: those of equal scores differ by less.
const betterShare = .25

// fullWidthBound returns the bound of the deterministic look at whole rows.
func (s *Query) fullWidthBound(w *Scratch) *looks.Bound {
	s.codeQuery16(w)
	if s.fullWidth.Compiled == nil {
		s.fullWidth = s.fullWidthTerms.Bound(&s.Prep, s.rows.Steps)
	}
	return &s.fullWidth
}

// lowerBound returns the lower bound of atom i that belongs to an estimate and its upper bound.
func (s *Query) lowerBound(i int, estimate, upper float64) float64 {
	return estimate - (upper - estimate) - s.OffsetWidth(i)
}

// addFinalist takes an arm whose whole row was read and keeps it if upper reaches the
// threshold. If source is LowerBound, its lower bound may raise the threshold first. It returns
// false for an arm that certainly scores above the ceiling.
func (s *Query) addFinalist(source backend.Source, i int, estimate, upper float64) bool {
	lower := s.lowerBound(i, estimate, upper)
	if s.CertainlyAbove(lower) {
		s.DropAbove()
		return false
	}
	if source == backend.LowerBound && s.Raises(lower, upper) {
		s.Lower.Push(lower)
		s.RaiseToLower()
	}
	if upper >= s.Tau {
		s.Finalists = append(s.Finalists, topk.Arm{Bound: upper, ID: uint32(i)})
	}
	return true
}

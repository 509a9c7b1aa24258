package arms

import (
	"math"

	"thresher/backend/looks"
	"thresher/collection"
)

// ReachesThreshold reports whether a bound, which may be a list's float32, reaches the
// threshold.
func (s *Query) ReachesThreshold(bound float64) bool {
	return bound >= s.Tau || float32(bound) >= s.Tau32()
}

// Expect makes a first look that begins pass over atoms whose bounds are below a threshold, which may end below it.
func (s *Query) Expect(threshold float64) {
	s.Expected, s.beforeExpected = threshold, scanned{s.NextPanel, len(s.List.IDs)}
}

// Unsee makes atoms that a first look has seen since Expect atoms that no look has seen, if it may have passed over some
// that reach the threshold. Looks after one that a context stopped would miss these.
func (s *Query) Unsee() {
	if !(s.Tau >= s.Expected) {
		s.NextPanel = s.beforeExpected.panel
		s.List.Truncate(s.beforeExpected.listed)
	}
	s.Expected = math.Inf(-1)
}

// ListAllAtoms adds all allowed atoms that no look has seen to the list, with bounds from their
// norms.
func (s *Query) ListAllAtoms() {
	if s.Phase == Listed {
		return
	}
	s.Unsee()
	for i := range s.ShownFrom(s.NextPanel) {
		s.List.IDs = append(s.List.IDs, uint32(i))
		s.List.Bounds = append(s.List.Bounds, collection.Upward(looks.NormBound(s.Prep.Norm, s.C.Norm[i], s.Offset(i))))
	}
	s.Phase, s.pruned = Listed, false
}

// CountLeft counts the open arms. After a completed look the lists hold no others.
func (s *Query) CountLeft() int {
	if s.Phase == Listed && s.pruned && s.prunedAt == s.Tau {
		return len(s.List.IDs) + len(s.Finalists)
	}
	n, _ := s.CountOpen()
	return n
}

// CountOpen counts the open arms: those that reach the threshold and are not scored yet. most is
// the greatest upper bound among them, -Inf if there are none. Atoms that no look has seen are
// bounded by their norms.
func (s *Query) CountOpen() (n int, most float64) {
	most = math.Inf(-1)
	if s.Phase >= Answered {
		return 0, most
	}
	least := s.Tau32()
	for _, b := range s.List.Bounds {
		if b >= least {
			n++
			most = max(most, float64(b))
		}
	}
	for _, a := range s.Finalists {
		if a.Bound >= s.Tau {
			n++
			most = max(most, a.Bound)
		}
	}
	if math.IsInf(most, 1) { // the norms give a finite bound
		most = s.ScoreCap()
	}
	if s.Phase == Listed {
		return n, most
	}
	if s.Expected > s.Tau { // atoms that a stopped look has passed over
		most = max(most, s.Expected)
	}
	if left, bound := s.scoreCapOfGiven(); bound >= s.Tau {
		n, most = n+left, max(most, bound)
	}
	if left := s.CountShownFrom(s.NextPanel); left > 0 {
		bound := s.ScoreCap()
		if s.C.Coded() {
			bound = s.ScoreCapFrom(s.NextPanel)
		}
		if bound >= s.Tau {
			n, most = n+left, max(most, bound)
		}
	}
	return n, most
}

// Tau32 returns the threshold in float32: bounds in lists that are below it are dropped.
// looks.Slop includes the rounding of threshold and bounds.
func (s *Query) Tau32() float32 { return float32(s.Tau) }

// PruneArms drops listed arms and finalists whose bound does not reach the threshold.
func (s *Query) PruneArms() {
	s.List.Truncate(s.Kern.Select(s.List.IDs, s.List.Bounds, s.List.IDs, s.List.Bounds, s.Tau32(), float32(math.Inf(1))))
	kept := s.Finalists[:0]
	for _, a := range s.Finalists {
		if a.Bound >= s.Tau {
			kept = append(kept, a)
		}
	}
	s.Finalists = kept
	s.pruned, s.prunedAt = true, s.Tau
}

package arms

import (
	"math"
	"thresher/cpu/threads"

	"thresher/backend"
)

// Answer returns the query's answer, whose slices are new. open is the greatest upper bound of the arms that are
// not scored, -Inf if none are left. It uses up best.
func (s *Query) Answer(w *threads.Scratch, open float64) backend.Answer {
	a := backend.Answer{Looks: s.reports, Pulls: s.pulls, Bytes: s.bytes, RowsScored: s.RowsRead,
		Tau: math.Ldexp(s.threshold(), s.Exp), OpenBound: math.Ldexp(min(s.Conversion.UpperScore(open), s.Ceiling), s.Exp), Random: s.random || s.RowsRead < s.rowsIfAllScored, Dense: s.Phase == Answered}
	best := s.Best.Sorted(&w.Sorter)
	for len(best) > 0 && best[len(best)-1].Score < s.Floor { // the floor rose after they were scored
		best = best[:len(best)-1]
	}
	a.IDs, a.Scores = make([]int64, len(best)), make([]float64, len(best))
	factor := math.Ldexp(1, s.Exp) // normal, as exp is that of a float32 vector, so that products round as Ldexp does
	for k, b := range best {
		a.IDs[k], a.Scores[k] = int64(b.Row), b.Score*factor
	}
	return a
}

// CountRows counts n whole float32 rows as read.
func (s *Query) CountRows(n int) {
	s.RowsRead += n
	s.pulls += int64(n) * int64(s.C.Dim)
	s.bytes += 4 * int64(n) * int64(s.C.Dim)
}

// AddReport adds a look to the certificate: how many atoms it has seen, how many more
// it read that the filter does not allow, and how many it kept.
func (s *Query) AddReport(l backend.Look, seen, disallowed, kept int) {
	s.reports = append(s.reports, backend.LookReport{Look: l, Seen: seen, Disallowed: disallowed, Survivors: kept})
}

// CountCodes counts width codes of each of n atoms as read, and three float32 terms.
func (s *Query) CountCodes(width, n int) {
	s.pulls += int64(width) * int64(n)
	s.bytes += int64(width+12) * int64(n)
}

// NoteRandomBound records that arms were given bounds that can fail while left of them
// were not scored. A later threshold may drop one by such a bound, unless all are scored.
func (s *Query) NoteRandomBound(left int) {
	if s.rowsIfAllScored == 0 {
		s.rowsIfAllScored = s.RowsRead + left
	}
}

// NoteUnlisted records that n rows were read that score no listed arm.
func (s *Query) NoteUnlisted(n int) {
	if s.rowsIfAllScored > 0 {
		s.rowsIfAllScored += n
	}
}

// NoteRandomDrop records that an arm was dropped by a bound that can fail.
func (s *Query) NoteRandomDrop() { s.random = true }

// CountCoordinates counts width float32 coordinates of each of n atoms as read.
func (s *Query) CountCoordinates(width, n int) {
	s.pulls += int64(n) * int64(width)
	s.bytes += 4 * int64(n) * int64(width)
}

// BeginAnswer drops the answers found so far but for the given candidates, before those of a scan of all allowed
// atoms are pushed to best.
func (s *Query) BeginAnswer() {
	s.Best.Reset(s.Goal.K)
	for _, a := range s.BestGiven {
		s.Best.Push(a)
	}
}

// EndAnswer ends the query's search: best holds its answer.
func (s *Query) EndAnswer() {
	s.RaiseToBest()
	s.Phase, s.random, s.rowsIfAllScored = Answered, false, 0
	s.List.Truncate(0)
	s.Finalists = s.Finalists[:0]
}

// Leave excludes the query, whose answer was taken, from all later steps.
func (s *Query) Leave() {
	s.Phase = HasLeft
	s.List.Truncate(0)
	s.Finalists = s.Finalists[:0]
}

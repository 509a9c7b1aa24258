package scan

import (
	"math"

	"thresher/cpu/arms"
)

// crowds reports whether a query that has not seen all atoms goes dense: it listed more arms than
// MaxSurvivors of the look allows, unless better ones will drop them, or met more atoms that are better but not wanted than the goal's
// MaxBetter allows among the atoms seen.
func (q *scanning) crowds() bool {
	if q.seen < max(minSurvey, 16*q.Goal.K) {
		return false
	}
	most, allowed := q.bound.Look.MaxSurvivors, float64(q.Goal.Allowed)
	if most > 0 && float64(len(q.List.IDs)) > most*allowed {
		return !q.untiesLater()
	}
	return q.Goal.MaxBetter > 0 && float64(q.above)+float64(q.hiddenPassed)/2 > q.maxBetter()
}

// untiesLater reports whether many arms are listed because they tie with the k-th best so far, and k better ones
// will be found before the last atom if as large a share of the others is better.
func (q *scanning) untiesLater() bool {
	return q.tied && q.Best.Full() && float64(q.Best.Better())*float64(q.Goal.Allowed) > float64(q.Goal.K)*float64(q.seen)
}

const (
	// similarNorms is the ratio of norms up to which the order of atoms is random (collection.Build).
	similarNorms = 1.04
	// betterByChance is how many standard deviations more better atoms are allowed than expected.
	betterByChance = 3
)

// maxBetter is how many better atoms MaxBetter allows among the atoms seen. If norms differ, atoms of
// great norm, or those near the centre, come first, and with them more of the better atoms than their
// share, so that more are allowed early.
func (q *scanning) maxBetter() float64 {
	allowed := float64(q.Goal.Allowed)
	share := float64(q.seen) / allowed
	if first, last := q.C.Norm[0], q.C.Norm[q.C.N-1]; max(first, last) > similarNorms*min(first, last) {
		share = math.Sqrt(share)
	}
	most := q.Goal.MaxBetter * allowed * share
	return most + betterByChance*math.Sqrt(most)
}

// endScan reports whether the query's scan has ended, and then sets the phase and records
// the look. It ends after the last panel, if the norms of all later atoms are too small, or
// if the query goes dense.
func (q *scanning) endScan(panels int) bool {
	end := q.NextPanel >= panels || q.ScoreCapFrom(q.NextPanel) < q.scanTau()
	if end && q.begun && q.raisesByLowers() && !q.raiseByListed() {
		q.repeat()
		return true
	}
	crowds := end == q.raisesByLowers() && q.crowds() // their threshold is made at the end
	if end || crowds {
		q.PruneArms()
	}
	switch {
	case crowds && q.crowds():
		q.Phase = arms.Crowded
	case end:
		q.Phase, q.Expected = arms.Listed, math.Inf(-1)
	default:
		return false
	}
	q.record()
	return true
}

// stop keeps the figures of a scan that a context stopped, so that it can be resumed.
func (q *scanning) stop() { q.stopped = q }

// record adds the scan's figures to the query's certificate, when it has ended or was
// stopped and will not be resumed.
func (q *scanning) record() {
	if q.seen == 0 && q.Phase != arms.Listed {
		return
	}
	kept := len(q.List.IDs) + q.passed
	q.CountCodes(q.bound.AtomBytes, q.again+q.codesRead)
	q.AddReport(q.bound.Look, q.seen, q.again+q.codesRead-q.seen, kept)
	if q.bound.Random() {
		if kept < q.listedBefore+q.seen {
			q.NoteRandomDrop()
		}
		q.NoteRandomBound(len(q.List.IDs) + len(q.Finalists))
	}
}

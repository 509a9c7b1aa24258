//go:build cuda && cgo

package gpu

import (
	"cmp"
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
)

// scoredRow is a row with its exact search score, in the query's scaled units.
type scoredRow struct {
	score float64
	row   uint32
}

// before orders answers: score descending, row ascending.
func before(a, b scoredRow) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row))
}

// hostQuery is the host's record of a query: what its state on the device does not hold.
type hostQuery struct {
	goal  *backend.Goal
	looks []backend.LookReport
	// best are the answers that the host holds: those of the dense path, collected scores, and those
	// found by interrupted dense scans.
	best []scoredRow
	// floor is the least search score wanted: the goal's, or the one set by Floor if that is greater.
	floor float64
	// hidden are the atoms that looks and dense scans pass over, ascending: excluded ones and given candidates.
	hidden []uint32
	// start is the first atom of the strip in which a scan begins.
	start int
	// tau is the threshold given by best, as a search score in scaled units; -Inf if there is none.
	tau      float64
	dense    bool // answered by a dense scan: best is the answer
	departed bool // it has left the run with an answer
	rowsRead int  // rows scored that the device's state does not count
	// pulls and bytes are those of atoms that looks read although the query may not return them.
	pulls, bytes int64
}

// remaining returns how many arms of the query in slot p are neither scored nor dropped, and an upper
// bound of their scores, in scaled units.
func (x *run) remaining(p int) (n int, most float64) {
	most = math.Inf(-1)
	s, a := &x.b.states[p], &x.queries[p]
	if a.dense || a.departed {
		return 0, most
	}
	if s.flags&(flagOverflow|flagDense) != 0 { // arms are missing from the list, and its scan ended before the chunk's
		return x.r.c.N - a.goal.From, x.r.normCap(s.norm, a.start)
	}
	if s.listed > 0 {
		n, most = int(s.listed), min(s.open, x.r.normCap(s.norm, a.start))
	}
	if s.flags&flagScanned == 0 {
		next := max(x.nextAtom(p), a.start)
		left := x.r.c.N - max(next, a.goal.From)
		if c := x.r.normCap(s.norm, next); left > 0 && c >= s.tau {
			n, most = n+left, max(most, c)
		}
	}
	return n, most
}

func (x *run) survivors() backend.Survivors {
	left := make(backend.Survivors, x.input.M)
	for j, p := range x.slot {
		if x.b == nil || !x.b.statesCurrent {
			left[j] = x.r.c.N
		} else {
			left[j], _ = x.remaining(p)
		}
	}
	return left
}

// threshold returns tau as a search score, apart from rounding.
func (s *query) threshold() float64 { return max(s.tau-s.lead, s.floor) }

// scale returns the conversion of search scores to thresholds.
func (s *query) scale() looks.Conversion { return looks.Conversion{Lead: s.lead, Give: s.give} }

// threshold returns the threshold that the k-th of sorted answers gives, -Inf if there are fewer.
func threshold(g *backend.Goal, best []scoredRow, exp int) float64 {
	if g.K == 0 || len(best) < g.K {
		return math.Inf(-1)
	}
	return best[g.K-1].score + math.Ldexp(g.Epsilon, -exp)
}

// answerOf returns the answer of the query in slot p; held are the best that the device kept.
func (x *run) answerOf(p int, held []scoredRow) backend.Answer {
	s, a := &x.b.states[p], &x.queries[p]
	if !a.dense {
		a.best = distinct(append(held, a.best...))
		if k := a.goal.K; k > 0 && len(a.best) > k {
			a.best = a.best[:k]
		}
		a.tau = max(a.tau, threshold(a.goal, a.best, int(s.exp)))
	}
	for len(a.best) > 0 && a.best[len(a.best)-1].score < s.floor { // Floor raised it after they were scored
		a.best = a.best[:len(a.best)-1]
	}
	_, open := x.remaining(p)
	dim := int64(x.r.c.Dim)
	out := backend.Answer{Looks: a.looks, RowsScored: int(s.rows) + a.rowsRead,
		Pulls: int64(s.pulls) + a.pulls + int64(a.rowsRead)*dim, Bytes: int64(s.bytes) + a.bytes + 4*int64(a.rowsRead)*dim,
		Tau: math.Ldexp(max(s.threshold(), a.tau), int(s.exp)), OpenBound: math.Ldexp(min(s.scale().UpperScore(open), s.ceiling), int(s.exp)), Dense: a.dense}
	if !a.dense {
		out.Random = s.flags&flagRandom != 0 || s.rows < s.expectedRows
	}
	out.IDs, out.Scores = slices.Grow(out.IDs, len(a.best)), slices.Grow(out.Scores, len(a.best))
	for _, b := range a.best {
		out.IDs = append(out.IDs, int64(b.row))
		out.Scores = append(out.Scores, math.Ldexp(b.score, int(s.exp)))
	}
	return out
}

// distinct sorts answers and removes duplicates.
func distinct(all []scoredRow) []scoredRow {
	slices.SortFunc(all, before)
	return slices.CompactFunc(all, func(a, b scoredRow) bool { return a.row == b.row })
}

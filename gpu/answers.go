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
	goal *backend.Goal
	// best are the answers that the host holds: those of the dense path, collected scores, and those
	// found by interrupted dense scans.
	best []scoredRow
	// floor is the least search score wanted: the goal's, or the one set by Floor if that is greater.
	floor float64
	// hidden are the atoms that looks and dense scans pass over, ascending: excluded ones and given candidates.
	hidden []uint32
	// scanFrom is the first atom of the strip in which a scan begins.
	scanFrom int
	// tau is the threshold given by best, as a search score in scaled units; -Inf if there is none.
	tau      float64
	dense    bool // answered by a dense scan: best is the answer
	departed bool // it has left the run with an answer
	rowsRead int  // rows scored that the device's state does not count
	// started is set once its first look has taken a start, startCounted once pulls and bytes say so.
	started, startCounted bool
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
		return x.r.c.N - a.goal.From, x.r.normCap(s.norm, a.scanFrom)
	}
	if s.listed > 0 {
		n, most = int(s.listed), min(s.open, x.r.normCap(s.norm, a.scanFrom))
	}
	if s.flags&flagScanned == 0 {
		next := max(x.nextAtom(p), a.scanFrom)
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
func threshold(g *backend.Goal, best []scoredRow, exp int32) float64 {
	if g.K == 0 || len(best) < g.K {
		return math.Inf(-1)
	}
	return best[g.K-1].score + g.Epsilon*powerOf(-exp)
}

// powerOf returns 2^exp. Multiplying by it is exact or rounds once, as math.Ldexp does, for the exponents
// of queries: their norms are those of float32 numbers, so |exp| is below 1022.
func powerOf(exp int32) float64 { return math.Float64frombits(uint64(1023+exp) << 52) }

// settleBest decides which atoms the answer of the query in slot p consists of, and returns their number:
// if the host holds no others, those that the device kept, which are sorted; otherwise best.
func (x *run) settleBest(p int) int {
	s, a := &x.b.states[p], &x.queries[p]
	if x.keptAlone(p) {
		scores, _ := x.b.held(p)
		if k := a.goal.K; len(scores) >= k {
			scores = scores[:k]
			a.tau = max(a.tau, scores[k-1]+a.goal.Epsilon*powerOf(-s.exp))
		}
		for len(scores) > 0 && scores[len(scores)-1] < s.floor { // Floor raised it after they were scored
			scores = scores[:len(scores)-1]
		}
		return len(scores)
	}
	if !a.dense {
		if p < x.deviceKept {
			a.best = x.b.appendHeld(a.best, p)
		}
		a.best = distinct(a.best)
		if k := a.goal.K; k > 0 && len(a.best) > k {
			a.best = a.best[:k]
		}
		a.tau = max(a.tau, threshold(a.goal, a.best, s.exp))
	}
	for len(a.best) > 0 && a.best[len(a.best)-1].score < s.floor {
		a.best = a.best[:len(a.best)-1]
	}
	return len(a.best)
}

// keptAlone reports whether the device kept all that is known of the best of the query in slot p.
func (x *run) keptAlone(p int) bool {
	return p < x.deviceKept && !x.queries[p].dense && len(x.queries[p].best) == 0
}

// answerRoom is memory for what the answers to several queries consist of.
type answerRoom struct {
	ids     []int64
	scores  []float64
	reports []backend.LookReport
}

// setAnswer sets out to the answer of the query in slot p, whose n atoms settleBest has decided, with memory
// from room.
func (x *run) setAnswer(out *backend.Answer, p, n int, room *answerRoom) {
	ids, scores, looks := room.ids[:n:n], room.scores[:n:n], x.countLooks(p)
	reports := room.reports[:looks:looks]
	room.ids, room.scores, room.reports = room.ids[n:], room.scores[n:], room.reports[looks:]
	x.setReports(reports, p)
	s, a := &x.b.states[p], &x.queries[p]
	unit := powerOf(s.exp)
	if x.keptAlone(p) {
		held, rows := x.b.held(p)
		for i := range ids {
			ids[i], scores[i] = int64(rows[i]), held[i]*unit
		}
	} else {
		for i := range ids {
			ids[i], scores[i] = int64(a.best[i].row), a.best[i].score*unit
		}
	}
	_, open := x.remaining(p)
	dim := int64(x.r.c.Dim)
	*out = backend.Answer{IDs: ids, Scores: scores, Looks: reports, RowsScored: int(s.rows) + a.rowsRead,
		Pulls: int64(s.pulls) + a.pulls + int64(a.rowsRead)*dim, Bytes: int64(s.bytes) + a.bytes + 4*int64(a.rowsRead)*dim,
		Tau: max(s.threshold(), a.tau) * unit, OpenBound: min(s.scale().UpperScore(open), s.ceiling) * unit, Dense: a.dense}
	if !a.dense {
		out.Random = s.flags&flagRandom != 0 || s.rows < s.expectedRows
	}
}

// distinct sorts answers, unless they are sorted, and removes duplicates.
func distinct(all []scoredRow) []scoredRow {
	i := 1
	for i < len(all) && before(all[i-1], all[i]) < 0 {
		i++
	}
	if i >= len(all) {
		return all
	}
	slices.SortFunc(all, before)
	return slices.CompactFunc(all, func(a, b scoredRow) bool { return a.row == b.row })
}

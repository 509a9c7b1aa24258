//go:build cuda && cgo

package gpu

import (
	"cmp"
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
)

// scored is an atom with its exact search score, in the query's scaled units.
type scored struct {
	score float64
	row   uint32
}

// before orders answers: score descending, row ascending.
func before(a, b scored) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.row, b.row))
}

// asked is what the host keeps of a query: what the device's state does not tell.
type asked struct {
	goal  *backend.Goal
	looks []backend.LookReport
	// best are answers that the host holds: those of the dense path, those it
	// collected, and what dense scans that were stopped had found.
	best []scored
	// floor is the least search score wanted: the goal's, or what Floor has raised it to.
	floor float64
	// tau is the threshold that best makes, as a search score in scaled units; -Inf
	// for none.
	tau   float64
	dense bool // best is the answer
	left  bool // it was answered before the others and takes no part any more
	read  int  // rows scored that the device's state does not count
	// pulls and bytes are of atoms that looks read beside those that may be returned.
	pulls, bytes int64
}

// open counts what is left of the query at place p and bounds the best of it, in
// scaled units.
func (x *run) open(p int) (n int, most float64) {
	most = math.Inf(-1)
	s, a := &x.b.states[p], &x.asked[p]
	if a.dense || a.left {
		return 0, most
	}
	if s.flags&(flagOverflow|flagDense) != 0 { // arms are missing from the list: its scan ended, others' went on
		return x.r.c.N, x.r.cap(s.norm, 0)
	}
	if s.listed > 0 {
		n, most = int(s.listed), min(s.open, x.r.cap(s.norm, 0))
	}
	if s.flags&flagListed == 0 {
		next := x.next(p)
		if c := x.r.cap(s.norm, next); c >= s.tau {
			n, most = n+x.r.c.N-next, max(most, c)
		}
	}
	return n, most
}

func (x *run) survivors() backend.Survivors {
	left := make(backend.Survivors, x.q.M)
	for j, p := range x.place {
		if x.b == nil || !x.b.seen {
			left[j] = x.r.c.N
		} else {
			left[j], _ = x.open(p)
		}
	}
	return left
}

// threshold is tau as a search score, rounding aside.
func (s *query) threshold() float64 { return max(s.tau-s.lead, s.floor) }

// scale turns search scores into thresholds.
func (s *query) scale() looks.Conversion { return looks.Conversion{Lead: s.lead, Give: s.give} }

// threshold is what the k-th of sorted answers makes, -Inf where there are fewer.
func threshold(g *backend.Goal, best []scored, exp int) float64 {
	if g.K == 0 || len(best) < g.K {
		return math.Inf(-1)
	}
	return best[g.K-1].score + math.Ldexp(g.Epsilon, -exp)
}

// answer is that of the query at place p, with the best that the device has.
func (x *run) answer(p int, held []scored) backend.Answer {
	s, a := &x.b.states[p], &x.asked[p]
	if !a.dense {
		a.best = distinct(append(held, a.best...))
		if k := a.goal.K; k > 0 && len(a.best) > k {
			a.best = a.best[:k]
		}
		a.tau = max(a.tau, threshold(a.goal, a.best, int(s.exp)))
	}
	for len(a.best) > 0 && a.best[len(a.best)-1].score < s.floor { // which rose after they were scored
		a.best = a.best[:len(a.best)-1]
	}
	_, open := x.open(p)
	dim := int64(x.r.c.Dim)
	out := backend.Answer{Looks: a.looks, RowsScored: int(s.rows) + a.read,
		Pulls: int64(s.pulls) + a.pulls + int64(a.read)*dim, Bytes: int64(s.bytes) + a.bytes + 4*int64(a.read)*dim,
		Tau: math.Ldexp(max(s.threshold(), a.tau), int(s.exp)), OpenBound: math.Ldexp(s.scale().UpperScore(open), int(s.exp)), Dense: a.dense}
	if !a.dense {
		out.Random = s.flags&flagRandom != 0 || s.rows < s.owed
	}
	out.IDs, out.Scores = slices.Grow(out.IDs, len(a.best)), slices.Grow(out.Scores, len(a.best))
	for _, b := range a.best {
		out.IDs = append(out.IDs, int64(b.row))
		out.Scores = append(out.Scores, math.Ldexp(b.score, int(s.exp)))
	}
	return out
}

// distinct sorts answers and leaves each row once.
func distinct(all []scored) []scored {
	slices.SortFunc(all, before)
	return slices.CompactFunc(all, func(a, b scored) bool { return a.row == b.row })
}

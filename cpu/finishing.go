package cpu

import (
	"context"
	"math"
	"slices"
	"sort"
	"thresher/cpu/threads"

	"thresher/cpu/arms"
	"thresher/cpu/topk"
)

const (
	// Queries score arms together at the end if all rows are more than togetherTiles tiles, because rows
	// that a cache holds need not be shared, and if k is so large that togetherQueries queries
	// score as many rows as there are.
	togetherTiles, togetherQueries = 4, 256
	// After a look that raised the threshold by its own bounds, after which no arm is scored, they always do
	// from k = minLowers on.
	minLowers = 64
	// togetherShare is the share of k, and of the arms that reach the threshold, that such a query scores
	// before it compares the next bound with the threshold, which these scores may raise.
	togetherShare = 8
	// spareShare is the share of the scores missing to k by which more arms may be scored first.
	spareShare = 16
	// scoreWithin is where between the k-th upper bound and the k-th lower bound the k-th score is assumed, as
	// a share of the distance. Half of it would be right if all atoms had equal distances, and not the greatest
	// of their strip. A query scores arms above it at once.
	scoreWithin = .4
)

// finishing is a query of large k whose arms are scored at the end: first as many of greatest bound as are
// missing to k scores and a few more, then others in descending order of bounds.
type finishing struct {
	*state
	arms   []topk.Arm
	first  int  // arms to be scored first, which come before the others; 0 if they are not known
	done   int  // arms scored
	sorted bool // the others are in descending order of bounds
}

// scoreTogether scores the arms of queries of large k: those of greatest bound that are missing to k
// scores, and then more as long as they reach the threshold. The queries of a thread score rows
// together. Which arms a query scores depends on the query alone.
func (x *run) scoreTogether(ctx context.Context, js []int) error {
	var large []int
	for _, j := range js {
		if x.finishesTogether(&x.states[j]) {
			large = append(large, j)
		}
	}
	n := min(x.r.Threads, len(large))
	return x.r.Each(ctx, n, func(base *threads.Scratch, p int) error {
		w := scratchOf(base)
		var all []*finishing
		for _, j := range large[len(large)*p/n : len(large)*(p+1)/n] {
			s := &x.states[j]
			s.recordStopped()
			first := 0
			if s.RaisedByLowers() && s.Phase == arms.Listed && len(s.Finalists) == 0 && s.GivenLeft() == 0 {
				first = s.collectListed(w)
			} else {
				s.collectArms(ctx, w)
			}
			all = append(all, &finishing{state: s, arms: s.Finalists, first: first})
		}
		err := w.scoreRounds(ctx, x.r, slices.Clone(all))
		for _, q := range all {
			q.Finalists = append(q.arms[:0], q.dropBelow(q.arms[q.done:])...)
		}
		return err
	})
}

// finishesTogether reports whether the query scores the arms of its looks together with others.
func (x *run) finishesTogether(s *state) bool {
	if s.Phase >= arms.Answered {
		return false
	}
	if s.RaisedByLowers() {
		return s.Goal.K >= minLowers
	}
	return s.Goal.K > s.C.N/togetherQueries && 4*s.C.Dim*s.C.N > togetherTiles*x.r.TileBytes
}

// scoreRounds scores arms of queries as scoreTogether says, and reorders the list of these.
func (w *scratch) scoreRounds(ctx context.Context, r *resident, left []*finishing) error {
	for {
		w.rows.Reset(len(left))
		w.IDs = w.IDs[:0]
		n := 0 // queries that score arms
		for _, q := range left {
			next := q.next(w)
			if len(next) == 0 {
				continue
			}
			from := len(w.IDs)
			for _, a := range next {
				w.IDs = append(w.IDs, q.C.Order[a.ID])
			}
			left[n], w.rows.Lists[n] = q, w.order.Sort(w.IDs[from:len(w.IDs):len(w.IDs)], q.C.N)
			n++
		}
		if n == 0 {
			return nil
		}
		left, w.rows.Lists = left[:n], w.rows.Lists[:n]
		err := w.rows.VisitTiles(ctx, r.Resident, w.Scratch.Scratch, func(e int, rows []uint32, near bool) {
			left[e].score(w, rows, near)
		})
		for e, q := range left {
			q.Best.DropWorse(&w.Sorter)
			q.RaiseToBest()
			q.dropScored(w.rows.Lists[e], w.rows.From[e])
		}
		if err != nil {
			return err
		}
	}
}

// score scores rows, by number. The k best are not known again before DropWorse.
func (q *finishing) score(w *scratch, rows []uint32, near bool) {
	w.Scores = topk.Grow(w.Scores, len(rows))
	q.ComputeScores(w.Scores, rows, near)
	for k, row := range rows {
		if q.AnswersWith(w.Scores[k]) {
			q.Best.Append(topk.Scored{Score: w.Scores[k], Row: row})
		}
	}
}

// next returns the arms that the query scores next.
func (q *finishing) next(w *scratch) []topk.Arm {
	left := q.arms[q.done:]
	if q.first > 0 {
		left, q.first = left[:q.first], 0
		return left
	}
	if missing := q.Goal.K - q.Best.Len(); missing > 0 && !q.sorted {
		return left[:q.moveGreatest(w, left, missing)]
	}
	if !q.sorted {
		left = q.dropBelow(left)
		q.arms, q.sorted = q.arms[:q.done+len(left)], true
		w.Sorter.SortArms(left)
	}
	reach := sort.Search(len(left), func(k int) bool { return !q.ReachesThreshold(left[k].Bound) })
	return left[:min(reach, max(q.Goal.K-q.Best.Len(), q.Goal.K/togetherShare, reach/togetherShare, 1))]
}

// DropBelow drops those of arms that do not reach the threshold, and returns the others.
func (q *finishing) dropBelow(arms []topk.Arm) []topk.Arm {
	return slices.DeleteFunc(arms, func(a topk.Arm) bool { return !q.ReachesThreshold(a.Bound) })
}

// moveGreatest moves the n arms of greatest bound that reach the threshold, and some more, before the others.
// It returns how many it moved.
func (q *finishing) moveGreatest(w *scratch, arms []topk.Arm, n int) int {
	w.values = w.values[:0]
	for _, a := range arms {
		w.values = append(w.values, float32(a.Bound))
	}
	return topk.MoveReaching(arms, w.values, q.firstCut(w.values, n))
}

// firstCut returns the least bound of the arms that a query scores first, to which n scores are missing.
func (s *state) firstCut(bounds []float32, n int) float32 {
	least := s.Tau32()
	if n < len(bounds) {
		cut := topk.RankedFrom(s.Kern, bounds, n, n/spareShare)
		if s.RaisedByLowers() { // the n-th upper bound, and a lower bound that n arms have
			cut = float32((1-scoreWithin)*float64(cut) + scoreWithin*s.Tau)
		}
		least = max(least, cut)
	}
	return least
}

// collectListed makes the arms finalists that a first look has listed whose own bounds raised the threshold: first those that the
// query scores first, whose number it returns, and then the others.
func (s *state) collectListed(w *scratch) (first int) {
	list, missing := s.List, s.Goal.K-s.Best.Len()
	if missing <= 0 {
		missing = 1
	}
	cut := s.firstCut(list.Bounds, missing)
	appendArms := func(lo, hi float32) {
		w.listed.Truncate(0)
		w.listed.AppendSelected(s.Kern, list, lo, hi)
		s.Finalists = slices.Grow(s.Finalists, len(w.listed.IDs))
		for k, i := range w.listed.IDs {
			s.Finalists = append(s.Finalists, topk.Arm{Bound: float64(w.listed.Bounds[k]), ID: i})
		}
	}
	appendArms(cut, float32(math.Inf(1)))
	first = len(s.Finalists)
	if least := s.Tau32(); least < cut {
		appendArms(least, cut)
	}
	s.List.Truncate(0)
	return first
}

// dropScored drops the first arms, whose rows are listed, but for those from entry scored of the list
// on.
func (q *finishing) dropScored(rows []uint32, scored int) {
	first := q.arms[q.done:][:len(rows)]
	at := len(first)
	for k := len(first) - 1; k >= 0 && scored < len(rows); k-- {
		if q.C.Order[first[k].ID] >= rows[scored] {
			at--
			first[at] = first[k]
		}
	}
	q.done += at
}

package cpu

import (
	"context"
	"slices"
	"sort"
)

const (
	// Queries score arms together at the end if all rows are more than togetherTiles tiles, because rows
	// that a cache holds need not be shared, and if k is so large that togetherQueries queries
	// score as many rows as there are.
	togetherTiles, togetherQueries = 4, 256
	// After a look that raised the threshold by its own bounds, after which no arm is scored, they always do
	// from k = leastOwn on.
	leastOwn = 64
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
	arms   []arm
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
	n := min(x.r.threads, len(large))
	return x.r.each(ctx, n, func(w *scratch, p int) error {
		var all []*finishing
		for _, j := range large[len(large)*p/n : len(large)*(p+1)/n] {
			s := &x.states[j]
			s.collectArms(ctx, w)
			all = append(all, &finishing{state: s, arms: s.finalists})
		}
		err := w.scoreRounds(ctx, x.r, slices.Clone(all))
		for _, q := range all {
			q.finalists = append(q.arms[:0], q.dropBelow(q.arms[q.done:])...)
		}
		return err
	})
}

// finishesTogether reports whether the query scores the arms of its looks together with others.
func (x *run) finishesTogether(s *state) bool {
	if s.phase >= answered {
		return false
	}
	if s.raisedByOwn() {
		return s.goal.K >= leastOwn
	}
	return s.goal.K > s.c.N/togetherQueries && 4*s.c.Dim*s.c.N > togetherTiles*x.r.tileBytes
}

// scoreRounds scores arms of queries as scoreTogether says, and reorders the list of these.
func (w *scratch) scoreRounds(ctx context.Context, r *resident, left []*finishing) error {
	for {
		w.rows.reset(len(left))
		w.ids = w.ids[:0]
		n := 0 // queries that score arms
		for _, q := range left {
			next := q.next(w)
			if len(next) == 0 {
				continue
			}
			from := len(w.ids)
			for _, a := range next {
				w.ids = append(w.ids, q.c.Order[a.i])
			}
			left[n], w.rows.lists[n] = q, w.order.Sort(w.ids[from:len(w.ids):len(w.ids)], q.c.N)
			n++
		}
		if n == 0 {
			return nil
		}
		left, w.rows.lists = left[:n], w.rows.lists[:n]
		err := w.rows.visitTiles(ctx, r, w, func(e int, rows []uint32, near bool) {
			left[e].score(w, rows, near)
		})
		for e, q := range left {
			q.best.dropWorse(&w.sorting)
			q.raiseToBest()
			q.dropScored(w.rows.lists[e], w.rows.from[e])
		}
		if err != nil {
			return err
		}
	}
}

// score scores rows, by number. The k best are not known again before dropWorse.
func (q *finishing) score(w *scratch, rows []uint32, near bool) {
	w.scores = grow(w.scores, len(rows))
	q.computeScores(w.scores, rows, near)
	for k, row := range rows {
		if q.answersWith(w.scores[k]) {
			q.best.append(scored{w.scores[k], row})
		}
	}
}

// next returns the arms that the query scores next.
func (q *finishing) next(w *scratch) []arm {
	left := q.arms[q.done:]
	if missing := q.goal.K - q.best.len(); missing > 0 && !q.sorted {
		return left[:q.moveGreatest(w, left, missing)]
	}
	if !q.sorted {
		left = q.dropBelow(left)
		q.arms, q.sorted = q.arms[:q.done+len(left)], true
		w.sorting.sortArms(left)
	}
	reach := sort.Search(len(left), func(k int) bool { return !q.reachesThreshold(left[k].bound) })
	return left[:min(reach, max(q.goal.K-q.best.len(), q.goal.K/togetherShare, reach/togetherShare, 1))]
}

// dropBelow drops those of arms that do not reach the threshold, and returns the others.
func (q *finishing) dropBelow(arms []arm) []arm {
	return slices.DeleteFunc(arms, func(a arm) bool { return !q.reachesThreshold(a.bound) })
}

// moveGreatest moves the n arms of greatest bound that reach the threshold, and some more, before the others.
// It returns how many it moved.
func (q *finishing) moveGreatest(w *scratch, arms []arm, n int) int {
	w.values = w.values[:0]
	for _, a := range arms {
		w.values = append(w.values, float32(a.bound))
	}
	least := q.least32()
	if n < len(arms) {
		cut := rankedFrom(q.kern, w.values, n, n/spareShare)
		if q.raisedByOwn() { // the n-th upper bound, and a lower bound that n arms have
			cut = float32((1-scoreWithin)*float64(cut) + scoreWithin*q.tau)
		}
		least = max(least, cut)
	}
	return moveReaching(arms, w.values, least)
}

// dropScored drops the first arms, whose rows are listed, but for those from entry scored of the list
// on.
func (q *finishing) dropScored(rows []uint32, scored int) {
	first := q.arms[q.done:][:len(rows)]
	at := len(first)
	for k := len(first) - 1; k >= 0 && scored < len(rows); k-- {
		if q.c.Order[first[k].i] >= rows[scored] {
			at--
			first[at] = first[k]
		}
	}
	q.done += at
}

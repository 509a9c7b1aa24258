package cpu

import (
	"context"
	"slices"
	"sync/atomic"
)

// wanted is how many atoms queries want together.
func (x *run) wanted(queries []int) (n int) {
	for _, j := range queries {
		n += x.states[j].goal.K
	}
	return n
}

// keepPending copies the pending rows of the job's queries, to be scored later with those of other
// ranges, and what was scored so far.
func (d *denseRange) keepPending(x *run, s *denseScratch) {
	d.kept = make([]survivors, len(d.js))
	for k, j := range d.js {
		q, p := &x.states[j], &s.pending[k]
		var best []scored
		if len(d.ranges) == 1 {
			d.kept[k] = q.scanned
			if q.best.len() == 0 { // takeDense replaces the query's list
				best = q.best.release()
			}
		}
		d.kept[k].ids, d.kept[k].bounds = append(d.kept[k].ids[:0], p.ids...), append(d.kept[k].bounds[:0], p.bounds...)
		if len(d.ranges) == 1 {
			q.scanned = d.kept[k] // whose memory a later run reuses
		}
		d.best[k] = append(append(slices.Grow(best[:0], len(p.ids)+s.tops[k].len()+len(s.found[k])), s.tops[k].entries...), s.found[k]...)
		d.scored[k] = s.scored[k]
	}
}

// keptList are the rows that one query keeps of one range.
type keptList struct {
	*denseRange
	k int // of the job's queries
}

// scoreKept scores the rows that the queries keep of ranges that were scanned, so that rows are read once for all
// of a thread's queries, not for each job. If ctx ends, it returns the error and leaves the best of
// what was scored, and of the other rows those of greatest bound.
func (x *run) scoreKept(ctx context.Context, ranges []*denseRange) error {
	ranges = slices.DeleteFunc(ranges, func(d *denseRange) bool { return d.kept == nil })
	var all []keptList
	for _, d := range ranges {
		d.done = true
		for k := range d.js {
			all = append(all, keptList{d, k})
		}
	}
	var stopped atomic.Bool
	n := min(x.r.threads, len(all))
	err := x.r.each(context.WithoutCancel(ctx), n, func(w *scratch, p int) error {
		part := all[len(all)*p/n : len(all)*(p+1)/n]
		if err := w.scoreLists(ctx, x, part); err != nil {
			stopped.Store(true)
			for _, l := range part {
				w.dense.keepBest(l.query(x), &l.kept[l.k], partialRows)
			}
			_ = w.scoreLists(context.WithoutCancel(ctx), x, part)
		}
		for _, l := range part {
			l.best[l.k] = w.bestOf(l.query(x), l.best[l.k])
		}
		return nil
	})
	if stopped.Load() {
		for _, d := range ranges {
			d.done = false
		}
		return ctx.Err()
	}
	return err
}

// query returns the list's query.
func (l keptList) query(x *run) *state { return &x.states[l.js[l.k]] }

// scoreLists scores the rows of lists, tile by tile. If ctx ends, the rows that are not scored yet
// stay.
func (w *scratch) scoreLists(ctx context.Context, x *run, lists []keptList) error {
	w.rows.reset(len(lists))
	for e, l := range lists {
		w.rows.lists[e] = l.kept[l.k].ids
	}
	err := w.rows.visitTiles(ctx, x.r, w, func(e int, rows []uint32, near bool) {
		l := lists[e]
		q := l.query(x)
		w.scores = grow(w.scores, len(rows))
		q.searchScoresOf(w.scores, rows, near)
		l.best[l.k] = q.appendScored(l.best[l.k], rows, w.scores)
		l.scored[l.k] += len(rows)
	})
	for e, l := range lists {
		l.kept[l.k].dropFirst(w.rows.from[e])
	}
	return err
}

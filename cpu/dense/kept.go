package dense

import (
	"context"
	"slices"
	"sync/atomic"
	"thresher/cpu/threads"

	"thresher/cpu/arms"
	"thresher/cpu/topk"
)

// wanted is how many atoms queries want together.
func (x *Scans) wanted(queries []int) (n int) {
	for _, j := range queries {
		n += x.queries[j].Goal.K
	}
	return n
}

// keepPending copies the pending rows of the pass's queries, to be scored later with those of other
// ranges, and what was scored so far.
func (d *rowRange) keepPending(x *Scans, s *tests) {
	d.kept = make([]topk.Entries, len(d.js))
	for k, j := range d.js {
		q, p := &x.queries[j], &s.pending[k]
		var best []topk.Scored
		if len(d.ranges) == 1 {
			d.kept[k] = q.scanned
			if q.Best.Len() == 0 { // take replaces the query's list
				best = q.Best.Release()
			}
		}
		d.kept[k].IDs, d.kept[k].Bounds = append(d.kept[k].IDs[:0], p.IDs...), append(d.kept[k].Bounds[:0], p.Bounds...)
		if len(d.ranges) == 1 {
			q.scanned = d.kept[k] // whose memory a later run reuses
		}
		d.best[k] = append(append(slices.Grow(best[:0], len(p.IDs)+s.tops[k].Len()+len(s.found[k])), s.tops[k].All()...), s.found[k]...)
		d.scored[k] = s.scored[k]
	}
}

// keptList are the rows that one query keeps of one range.
type keptList struct {
	*rowRange
	k int // of the pass's queries
}

// scoreKept scores the rows that the queries keep of ranges that were scanned, so that rows are read once for all
// of a thread's queries, not for each pass. If ctx ends, it returns the error and leaves the best of
// what was scored, and of the other rows those of greatest bound.
func (x *Scans) scoreKept(ctx context.Context, ranges []*rowRange) error {
	ranges = slices.DeleteFunc(ranges, func(d *rowRange) bool { return d.kept == nil })
	var all []keptList
	for _, d := range ranges {
		d.done = true
		for k := range d.js {
			all = append(all, keptList{d, k})
		}
	}
	var stopped atomic.Bool
	n := min(x.r.Threads, len(all))
	err := x.r.Each(context.WithoutCancel(ctx), n, func(base *threads.Scratch, p int) error {
		w := scratchOf(base)

		part := all[len(all)*p/n : len(all)*(p+1)/n]
		if err := w.scoreLists(ctx, x, part); err != nil {
			stopped.Store(true)
			for _, l := range part {
				w.tests.keepBest(l.query(x), &l.kept[l.k], arms.PartialRows)
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
func (l keptList) query(x *Scans) *Query { return &x.queries[l.js[l.k]] }

// scoreLists scores the rows of lists, tile by tile. If ctx ends, the rows that are not scored yet
// stay.
func (w *scratch) scoreLists(ctx context.Context, x *Scans, lists []keptList) error {
	w.rows.Reset(len(lists))
	for e, l := range lists {
		w.rows.Lists[e] = l.kept[l.k].IDs
	}
	err := w.rows.VisitTiles(ctx, x.Resident, w.Scratch, func(e int, rows []uint32, near bool) {
		l := lists[e]
		q := l.query(x)
		w.Scores = topk.Grow(w.Scores, len(rows))
		q.SearchScoresOf(w.Scores, rows, near)
		l.best[l.k] = q.appendScored(l.best[l.k], rows, w.Scores)
		l.scored[l.k] += len(rows)
	})
	for e, l := range lists {
		l.kept[l.k].DropFirst(w.rows.From[e])
	}
	return err
}

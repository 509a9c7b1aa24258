package revisit

import (
	"context"
	"thresher/cpu/threads"

	"thresher/collection"
	"thresher/cpu/topk"
)

// Prepare prepares what only looks read of the queries, their heads and rests, unless it is
// prepared. A dense scan needs neither, and they take longer than its scores of few atoms.
func (x *Run) Prepare(ctx context.Context) error {
	c := x.C
	if x.ready || !c.Coded() {
		return nil
	}
	fullWidth, err := x.r.Compile(ctx, x.r.wholeRows())
	if err != nil {
		return err
	}
	x.heads, x.rests = topk.Grow(x.heads, x.Vectors.M*c.R), topk.Grow(x.rests, x.Vectors.M*c.D)
	err = x.EachFewQueries(ctx, x.Vectors.M, func(t *threads.Scratch, lo, hi int) error {
		w := ScratchOf(t)
		n := hi - lo
		w.scales, w.queries = topk.Grow(w.scales, n), topk.Grow(w.queries, n)
		for slot := range w.queries {
			s, j := &x.queries[lo+slot], lo+slot
			w.scales[slot], w.queries[slot] = s.Scale, collection.Query{
				Head: x.heads[j*c.R : (j+1)*c.R : (j+1)*c.R], Rest: x.rests[j*c.D : (j+1)*c.D : (j+1)*c.D]}
		}
		c.PrepareBatch(w.queries, x.Vectors.Data[lo*c.Dim:hi*c.Dim], w.scales, &w.prepare)
		for slot := range w.queries {
			s := &x.queries[lo+slot]
			s.Prep, s.fullWidthTerms = w.queries[slot], fullWidth
		}
		return nil
	})
	x.ready = err == nil
	return err
}

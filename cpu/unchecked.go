package cpu

import (
	"context"
	"sync/atomic"
)

// mostUnchecked is how many pairs of an atom and a query a goroutine computes at most between two
// checks of its context, so that a search ends soon after its deadline: a chunk of 4,096 atoms for 64
// queries.
const mostUnchecked = 4096 * 64

// computed counts what goroutines have computed, for tests: pairs in all, but for those since the
// last check of each that is at work, and the most between two checks.
type computed struct{ pairs, most atomic.Int64 }

// spend counts pairs that the goroutine of w is about to compute for some of so many queries. It
// first checks ctx if they would be more than mostUnchecked since the last check.
func (r *crew) spend(ctx context.Context, w *scratch, pairs, queries int) error {
	if w.unchecked+pairs <= mostUnchecked {
		w.unchecked += pairs
		return nil
	}
	r.checked(w)
	if err := r.checkpoint(ctx, queries); err != nil {
		return err
	}
	w.unchecked = pairs
	return nil
}

// checked begins the next count of w.
func (r *crew) checked(w *scratch) {
	n := int64(w.unchecked)
	r.computed.pairs.Add(n)
	for most := r.computed.most.Load(); n > most && !r.computed.most.CompareAndSwap(most, n); most = r.computed.most.Load() {
	}
	w.unchecked = 0
}

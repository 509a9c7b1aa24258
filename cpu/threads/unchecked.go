package threads

import (
	"context"
	"sync/atomic"
)

// MaxUnchecked is how many pairs of an atom and a query a goroutine computes at most between two
// checks of its context, so that a search ends soon after its deadline: a chunk of 4,096 atoms for 64
// queries.
const MaxUnchecked = 4096 * 64

// computed counts what goroutines have computed, for tests: pairs in all, but for those since the
// last check of each that is at work, and the most between two checks.
type computed struct{ pairs, unchecked atomic.Int64 }

// Spend counts pairs that the goroutine of w is about to compute for some of so many queries. It
// first checks ctx if they would be more than MaxUnchecked since the last check.
func (r *Crew) Spend(ctx context.Context, w *Scratch, pairs, queries int) error {
	if w.unchecked+pairs <= MaxUnchecked {
		w.unchecked += pairs
		return nil
	}
	r.checked(w)
	if err := r.Checkpoint(ctx, queries); err != nil {
		return err
	}
	w.unchecked = pairs
	return nil
}

// Counted returns what the crew's goroutines have computed: pairs in all, and between two checks of a context at most.
func (r *Crew) Counted() (pairs, unchecked int64) {
	return r.computed.pairs.Load(), r.computed.unchecked.Load()
}

// checked begins the next count of w.
func (r *Crew) checked(w *Scratch) {
	n := int64(w.unchecked)
	r.computed.pairs.Add(n)
	for before := r.computed.unchecked.Load(); n > before && !r.computed.unchecked.CompareAndSwap(before, n); before = r.computed.unchecked.Load() {
	}
	w.unchecked = 0
}

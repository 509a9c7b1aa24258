package batch

import (
	"context"

	"thresher/backend"
)

// rounds is the elimination loop: begin; for each look of the plan { raise;
// pull; stop when the tally says so }; finish.
func rounds(ctx context.Context, r backend.Resident, w *work, lo, hi int) (backend.Answers, error) {
	run, err := r.Begin(ctx, w.queries(lo, hi), w.goals[lo:hi])
	if err != nil {
		return nil, err
	}
	defer run.Close()
	if w.plan.dense {
		if err := run.Dense(ctx, indexes(hi-lo)...); err != nil && !stopped(err) {
			return nil, err
		}
		return run.Finish(ctx)
	}
	for i, look := range w.plan.looks {
		raise := w.plan.raise
		if i == 0 { // the first look makes its own threshold, from the same source
			raise.PerQuery = 0
		}
		if err := run.Raise(ctx, raise); err != nil && !stopped(err) {
			return nil, err
		}
		tally, err := run.Pull(ctx, look)
		if err != nil && !stopped(err) {
			return nil, err
		}
		if err != nil || tally.Done() {
			break
		}
	}
	return run.Finish(ctx)
}

func indexes(n int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = i
	}
	return x
}

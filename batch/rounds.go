package batch

import (
	"context"

	"thresher/backend"
	"thresher/batch/plan"
)

// rounds is the elimination loop: begin; for each look of the plan { raise;
// pull; stop when the tally says so }; finish.
func rounds(ctx context.Context, r backend.Resident, p *plan.Plan, q backend.Queries, goals []backend.Goal) (backend.Answers, error) {
	run, err := r.Begin(ctx, q, goals)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	if p.Dense() {
		if err := run.Dense(ctx, indexes(q.M)...); err != nil && !stopped(err) {
			return nil, err
		}
		return run.Finish(ctx)
	}
	for i, look := range p.Looks {
		raise := p.Raise
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

package batch

import (
	"context"

	"thresher/backend"
	"thresher/batch/plan"
)

// rounds answers queries by a plan: a dense scan, or elimination. Then Finish scores the
// remaining arms exactly. If ctx ends, Finish returns the best answers so far.
func rounds(ctx context.Context, r backend.Resident, p *plan.Plan, q backend.Queries, goals []backend.Goal) (backend.Answers, error) {
	run, err := r.Begin(ctx, q, goals)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	if p.Dense() {
		err = run.Dense(ctx, backend.QueryIndexes(0, q.M)...)
	} else {
		err = eliminate(ctx, run, p.Looks)
	}
	if err != nil && !contextEnded(err) {
		return nil, err
	}
	return run.Finish(ctx)
}

// eliminate takes the looks in order until no query has an arm left. Each look reads more
// coordinates of the surviving arms and drops those whose upper bound is below the
// threshold of their query.
func eliminate(ctx context.Context, run backend.Run, looks []backend.Look) error {
	for _, look := range looks {
		survivors, err := run.Pull(ctx, look)
		if err != nil || survivors.None() {
			return err
		}
	}
	return nil
}

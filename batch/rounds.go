package batch

import (
	"context"

	"thresher/backend"
	"thresher/batch/plan"
)

// rounds is the elimination loop: begin; for each look of the plan { pull; stop when
// nothing survives }; finish. Where ctx ends, Finish makes the best of what there is.
func rounds(ctx context.Context, r backend.Resident, p *plan.Plan, q backend.Queries, goals []backend.Goal) (backend.Answers, error) {
	run, err := r.Begin(ctx, q, goals)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	if p.Dense() {
		if err := run.Dense(ctx, backend.QueryIndexes(0, q.M)...); err != nil && !contextEnded(err) {
			return nil, err
		}
		return run.Finish(ctx)
	}
	for _, look := range p.Looks {
		survivors, err := run.Pull(ctx, look)
		if err != nil && !contextEnded(err) {
			return nil, err
		}
		if err != nil || survivors.None() {
			break
		}
	}
	return run.Finish(ctx)
}

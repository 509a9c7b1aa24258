package cpu

import (
	"context"
	"fmt"

	"thresher/backend"
	"thresher/cpu/arms"
)

// Leave finishes queries before the others and returns an answer for each of them. The
// answers of the others do not depend on it. A query can leave once; Finish then returns a
// zero answer for it.
func (x *run) Leave(ctx context.Context, queries ...int) (backend.Answers, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	for _, j := range queries {
		if j < 0 || j >= len(x.states) || x.states[j].Phase == arms.HasLeft {
			return nil, fmt.Errorf("query %d, of %d, is not in the run", j, len(x.states))
		}
	}
	out := make(backend.Answers, len(queries))
	if err := x.finishQueries(ctx, queries, func(k int, a backend.Answer) { out[k] = a }); err != nil {
		return nil, err
	}
	for _, j := range queries {
		x.states[j].leaveRun()
	}
	return out, nil
}

// leaveRun excludes the query, whose answer was taken, from all later steps.
func (s *state) leaveRun() {
	s.Leave()
	s.pass = nil
}

// recordStopped ends a look that a context stopped and that will not be resumed, and
// records its figures.
func (s *state) recordStopped() {
	s.RecordStoppedScan()
	s.RecordStoppedRevisit()
}

package cpu

import (
	"context"
	"fmt"

	"thresher/backend"
)

// Leave finishes queries before the others, which go on as if these had never been.
func (x *run) Leave(ctx context.Context, queries ...int) (backend.Answers, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	for _, j := range queries {
		if j < 0 || j >= len(x.states) || x.states[j].phase == gone {
			return nil, fmt.Errorf("query %d, of %d, is not in the run", j, len(x.states))
		}
	}
	out := make(backend.Answers, len(queries))
	if err := x.finish(ctx, queries, func(k int, a backend.Answer) { out[k] = a }); err != nil {
		return nil, err
	}
	for _, j := range queries {
		x.states[j].leave()
	}
	return out, nil
}

// leave has nothing more be done for the query, whose answer was taken.
func (s *state) leave() {
	s.phase, s.slab = gone, nil
	s.list.cut(0)
	s.finalists = s.finalists[:0]
}

// conclude ends the looks that a context stopped and that do not go on.
func (s *state) conclude() {
	if q := s.scan; q != nil {
		s.scan = nil
		q.record()
	}
	if q := s.again; q != nil {
		s.again = nil
		q.record()
	}
}

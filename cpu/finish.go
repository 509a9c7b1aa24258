package cpu

import (
	"context"

	"thresher/cpu/threads"

	"thresher/backend"
	"thresher/cpu/arms"
	"thresher/cpu/topk"
)

// Finish scores the survivors exactly, in descending order of bounds, until no bound
// reaches the threshold, and returns an answer for each query; those of queries that have
// left are zero. If ctx has ended it scores at most min(max(k, 1), PartialRows) arms of
// each query, and Answer.OpenBound bounds the scores of the others.
func (x *run) Finish(ctx context.Context) (backend.Answers, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	x.Team.Keep(1)
	defer x.Team.Keep(-1)
	present := make([]int, 0, len(x.states)) // queries that have not left
	for j := range x.states {
		if x.states[j].Phase != arms.HasLeft {
			present = append(present, j)
		}
	}
	out := make(backend.Answers, len(x.states))
	return out, x.finishQueries(ctx, present, func(k int, a backend.Answer) { out[present[k]] = a })
}

// finishQueries finishes queries js and calls deliver with the answer of each js[at], from
// several goroutines.
func (x *run) finishQueries(ctx context.Context, js []int, deliver func(at int, a backend.Answer)) error {
	if err := x.ScoreGiven(ctx, js, false); err != nil && ctx.Err() == nil {
		return err
	}
	if err := x.answerUnscanned(ctx, js); err != nil {
		return err
	}
	if err := x.scoreTogether(ctx, js); err != nil && ctx.Err() == nil {
		return err
	}
	if x.r.C.ReadsAhead() {
		return x.finishFromDisk(ctx, js, deliver)
	}
	// The best arms are scored even if ctx has ended.
	return x.r.Each(context.WithoutCancel(ctx), len(js), func(base *threads.Scratch, at int) error {
		w := scratchOf(base)
		x.states[js[at]].finish(ctx, w)
		deliver(at, x.answer(w, js[at]))
		return nil
	})
}

// answer returns the answer of query j, whose arms are scored.
func (x *run) answer(w *scratch, j int) backend.Answer {
	s := &x.states[j]
	if s.Phase != arms.Answered {
		x.dense.AddPartial(j)
	}
	_, open := s.open()
	return s.Answer(w.Scratch.Scratch, open)
}

// answerUnscanned answers by the dense path those of queries for which no look has seen
// all atoms, unless ctx has ended.
func (x *run) answerUnscanned(ctx context.Context, queries []int) error {
	if ctx.Err() != nil {
		return nil
	}
	var js []int
	for _, j := range queries {
		if s := &x.states[j]; s.Phase == arms.Unscanned || s.Phase == arms.Crowded {
			js = append(js, j)
		}
	}
	if len(js) == 0 {
		return nil
	}
	if err := x.Dense(ctx, js...); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// finish scores the query's arms as Finish says.
func (s *state) finish(ctx context.Context, w *scratch) {
	s.orderArms(ctx, w)
	for next := s.nextArms(ctx); len(next) > 0; next = s.nextArms(ctx) {
		s.ScoreArms(w.Scratch.Scratch, next)
	}
	s.endArms()
}

// nextArms returns the arms that are scored next, after all that it returned before; none at the end.
func (s *state) nextArms(ctx context.Context) []topk.Arm {
	if s.Phase == arms.Answered {
		return nil
	}
	few := min(max(s.Goal.K, 1), arms.PartialRows)
	n := few
	if s.taken > 0 {
		n = s.scoredTogether()
	}
	if n = s.reaching(s.Finalists[s.taken:], n); n == 0 {
		s.taken = len(s.Finalists)
	} else if ctx.Err() != nil && s.taken >= few {
		n = 0
	}
	s.taken += n
	return s.Finalists[s.taken-n : s.taken]
}

// endArms leaves of the finalists those that nextArms has not returned, and that may be in the answer.
func (s *state) endArms() {
	if s.Phase != arms.Answered {
		s.Finalists = append(s.Finalists[:0], s.Finalists[s.taken:]...) // whose memory is reused
	}
	s.taken = 0
}

// orderArms makes the open arms finalists, in descending order of bounds.
func (s *state) orderArms(ctx context.Context, w *scratch) {
	s.collectArms(ctx, w)
	w.Sorter.SortArms(s.Finalists)
}

// collectArms makes the open arms finalists, in any order.
func (s *state) collectArms(ctx context.Context, w *scratch) {
	s.recordStopped()
	if s.GivenLeft() > 0 { // ctx has ended
		s.ScoreSomeGiven(w.Scratch.Scratch, arms.PartialRows)
	}
	left := s.Finalists
	s.Finalists = nil
	if s.Phase == arms.Answered {
		s.Finalists = left[:0]
		s.List.Truncate(0)
		return
	}
	resolved := len(left) // the whole rows of finalists have been read
	if s.pass != nil {
		left = s.pass.appendArms(left)
		s.pass = nil
	}
	for k, i := range s.List.IDs {
		if b := float64(s.List.Bounds[k]); b >= s.Tau || s.List.Bounds[k] >= s.Tau32() {
			left = append(left, topk.Arm{Bound: b, ID: i})
		}
	}
	s.List.Truncate(0)
	left = append(left[:resolved], s.ResolveAbove(w.Scratch, left[resolved:], func() bool { return ctx.Err() != nil })...)
	s.Finalists = left
}

// reaching returns how many of the first n arms, in descending order of bounds, reach the threshold.
func (s *state) reaching(arms []topk.Arm, n int) int {
	n = min(n, len(arms))
	for n > 0 && !s.ReachesThreshold(arms[n-1].Bound) {
		n--
	}
	return n
}

// scoredTogether is how many arms are scored next: as many as are missing to k scores, before
// which no score raises the threshold, and then a few at a time, since each may raise it.
func (s *state) scoredTogether() int {
	const few = 4
	missing := s.Goal.K - s.Best.Len()
	if s.Goal.K == 0 {
		missing = arms.PartialRows
	}
	return max(few, min((missing+few-1)/few*few, arms.PartialRows))
}

package cpu

import (
	"context"
	"slices"

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
	if err := x.readAhead(ctx, js); err != nil {
		return err
	}
	// The best arms are scored even if ctx has ended.
	return x.r.Each(context.WithoutCancel(ctx), len(js), func(base *threads.Scratch, at int) error {
		w := scratchOf(base)
		s := &x.states[js[at]]
		s.finish(ctx, w)
		if s.Phase != arms.Answered {
			x.dense.AddPartial(js[at])
		}
		_, open := s.open()
		deliver(at, s.Answer(w.Scratch.Scratch, open))
		return nil
	})
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
	if !s.ordered {
		s.orderArms(ctx, w)
	}
	s.ordered = false
	if s.Phase == arms.Answered {
		return
	}
	left, done := s.Finalists, 0
	// Arms not scored move to the front of the slice, whose memory is reused.
	defer func() { s.Finalists = append(left[:0], left[done:]...) }()
	few := min(max(s.Goal.K, 1), arms.PartialRows)
	for n := few; ; n = s.scoredTogether() {
		if n = s.reaching(left[done:], n); n == 0 {
			break
		}
		if ctx.Err() != nil && done >= few {
			return
		}
		s.ScoreArms(w.Scratch.Scratch, left[done:done+n])
		done += n
	}
	done = len(left)
}

// aheadRows is how many rows of a query are read ahead beside twice its k.
const aheadRows = 8

// readAhead begins to read the rows that queries js are about to score, those of all queries in the order of the file, if they come from the
// disk: one after the other, each would be waited for.
func (x *run) readAhead(ctx context.Context, js []int) error {
	if !x.r.C.ReadsAhead() {
		return nil
	}
	first := make([][]uint32, len(js))
	err := x.r.Each(context.WithoutCancel(ctx), len(js), func(base *threads.Scratch, at int) error {
		s := &x.states[js[at]]
		s.orderArms(ctx, scratchOf(base))
		s.ordered = true
		for _, a := range s.Finalists[:s.reaching(s.Finalists, min(2*max(s.Goal.K, 1), arms.PartialRows)+aheadRows)] {
			first[at] = append(first[at], s.C.Order[a.ID])
		}
		return nil
	})
	if err == nil {
		x.r.C.ReadRowsAhead(slices.Concat(first...))
	}
	return err
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

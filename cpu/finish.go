package cpu

import (
	"context"
	"math"

	"thresher/backend"
)

// partialRows is the greatest number of rows that a query scores after its deadline. A
// partial answer is then the best of these candidates.
const partialRows = 256

// Finish scores the survivors exactly, in descending order of bounds, until no bound
// reaches the threshold, and returns an answer for each query; those of queries that have
// left are zero. If ctx has ended it scores at most min(max(k, 1), partialRows) arms of
// each query, and Answer.OpenBound bounds the scores of the others.
func (x *run) Finish(ctx context.Context) (backend.Answers, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	x.team.keep(1)
	defer x.team.keep(-1)
	present := make([]int, 0, len(x.states)) // queries that have not left
	for j := range x.states {
		if x.states[j].phase != hasLeft {
			present = append(present, j)
		}
	}
	out := make(backend.Answers, len(x.states))
	return out, x.finishQueries(ctx, present, func(k int, a backend.Answer) { out[present[k]] = a })
}

// finishQueries finishes queries js and calls deliver with the answer of each js[at], from
// several goroutines.
func (x *run) finishQueries(ctx context.Context, js []int, deliver func(at int, a backend.Answer)) error {
	if err := x.scoreGiven(ctx, js, false); err != nil && ctx.Err() == nil {
		return err
	}
	if err := x.answerUnscanned(ctx, js); err != nil {
		return err
	}
	if err := x.scoreTogether(ctx, js); err != nil && ctx.Err() == nil {
		return err
	}
	// The best arms are scored even if ctx has ended.
	return x.r.each(context.WithoutCancel(ctx), len(js), func(w *scratch, at int) error {
		s := &x.states[js[at]]
		s.finish(ctx, w)
		_, open := s.open()
		deliver(at, s.answer(w, open))
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
		if s := &x.states[j]; s.phase == unscanned || s.phase == crowded {
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
	if s.phase == answered {
		return
	}
	defer s.addPartial()
	left, done := s.finalists, 0
	// Arms not scored move to the front of the slice, whose memory is reused.
	defer func() { s.finalists = append(left[:0], left[done:]...) }()
	few := min(max(s.goal.K, 1), partialRows)
	for n := few; ; n = s.scoredTogether() {
		if n = s.reaching(left[done:], n); n == 0 {
			break
		}
		if ctx.Err() != nil && done >= few {
			return
		}
		s.scoreArms(w, left[done:done+n])
		done += n
	}
	done = len(left)
}

// orderArms makes the open arms finalists, in descending order of bounds.
func (s *state) orderArms(ctx context.Context, w *scratch) {
	s.collectArms(ctx, w)
	w.sorting.sortArms(s.finalists)
}

// collectArms makes the open arms finalists, in any order.
func (s *state) collectArms(ctx context.Context, w *scratch) {
	s.recordStopped()
	if s.givenLeft() > 0 { // ctx has ended
		s.scoreSomeGiven(w, partialRows)
	}
	left := s.finalists
	s.finalists = nil
	if s.phase == answered {
		s.finalists = left[:0]
		s.list.truncate(0)
		return
	}
	resolved := len(left) // the whole rows of finalists have been read
	if s.pass != nil {
		left = s.pass.appendArms(left)
		s.pass = nil
	}
	for k, i := range s.list.ids {
		if b := float64(s.list.bounds[k]); b >= s.tau || s.list.bounds[k] >= s.least32() {
			left = append(left, arm{bound: b, i: i})
		}
	}
	s.list.truncate(0)
	left = append(left[:resolved], s.resolveAbove(w, left[resolved:], func() bool { return ctx.Err() != nil })...)
	s.finalists = left
}

// reaching returns how many of the first n arms, in descending order of bounds, reach the threshold.
func (s *state) reaching(arms []arm, n int) int {
	n = min(n, len(arms))
	for n > 0 && !s.reachesThreshold(arms[n-1].bound) {
		n--
	}
	return n
}

// scoredTogether is how many arms are scored next: as many as are missing to k scores, before
// which no score raises the threshold, and then a few at a time, since each may raise it.
func (s *state) scoredTogether() int {
	const few = 4
	missing := s.goal.K - s.best.len()
	if s.goal.K == 0 {
		missing = partialRows
	}
	return max(few, min((missing+few-1)/few*few, partialRows))
}

// byBound orders arms by descending bound, then by ascending index.
func byBound(a, b arm) int {
	switch {
	case a.bound > b.bound:
		return -1
	case a.bound < b.bound:
		return 1
	}
	return int(a.i) - int(b.i)
}

// reachesThreshold reports whether a bound, which may be a list's float32, reaches the
// threshold.
func (s *state) reachesThreshold(bound float64) bool {
	return bound >= s.tau || float32(bound) >= s.least32()
}

// scoreArms scores arms exactly and adds them to the answers. Scoring several together
// prefetches their rows.
func (s *state) scoreArms(w *scratch, arms []arm) {
	w.ids, w.scores = grow(w.ids, len(arms)), grow(w.scores, len(arms))
	for k, a := range arms {
		w.ids[k] = s.c.Order[a.i]
	}
	s.scoreRows(w.scores, w.ids, false)
}

// scoreAtoms scores atoms exactly and adds them to the answers.
func (s *state) scoreAtoms(w *scratch, atoms []uint32) {
	w.ids, w.scores = grow(w.ids, len(atoms)), grow(w.scores, len(atoms))
	for k, i := range atoms {
		w.ids[k] = s.c.Order[i]
	}
	s.scoreRows(w.scores, w.ids, false)
}

// scoreRows scores rows, by number, exactly and adds them to the answers; scores is memory for
// their scores. near says that most of the rows are in a cache.
func (s *state) scoreRows(scores []float64, rows []uint32, near bool) {
	s.computeScores(scores, rows, near)
	for k, row := range rows {
		s.addScored(scored{scores[k], row})
	}
}

// computeScores writes the exact scores of rows, by number, to scores, and counts them. Helpers may do parts of them.
func (s *state) computeScores(scores []float64, rows []uint32, near bool) {
	if s.run.team.shares(len(rows), leastShared) {
		s.run.team.shareOut(len(rows), func(_ *scratch, lo, hi int) { s.searchScoresOf(scores[lo:hi], rows[lo:hi], near) })
	} else {
		s.searchScoresOf(scores, rows, near)
	}
	s.countRows(len(rows))
}

// addFound adds scored rows to the answers, except for those that are among them already.
func (s *state) addFound(list []scored) {
	if len(list) == 0 {
		return
	}
	have := make(map[uint32]bool, len(s.best.entries))
	for _, a := range s.best.entries {
		have[a.row] = true
	}
	for _, a := range list {
		if !have[a.row] {
			have[a.row] = true
			s.addScored(a)
		}
	}
}

// addPartial adds what stopped dense scans have found to the answers.
func (s *state) addPartial() { s.addFound(s.takePartial()) }

// answer returns the query's answer, whose slices are new. open is the greatest upper bound of the arms that are
// not scored, -Inf if none are left. It uses up best.
func (s *state) answer(w *scratch, open float64) backend.Answer {
	a := backend.Answer{Looks: s.reports, Pulls: s.pulls, Bytes: s.bytes, RowsScored: s.rowsRead,
		Tau: math.Ldexp(s.threshold(), s.exp), OpenBound: math.Ldexp(min(s.conversion.UpperScore(open), s.ceiling), s.exp), Random: s.random || s.rowsRead < s.rowsIfAllScored, Dense: s.phase == answered}
	best := s.best.sorted(&w.sorting)
	for len(best) > 0 && best[len(best)-1].score < s.floor { // the floor rose after they were scored
		best = best[:len(best)-1]
	}
	a.IDs, a.Scores = make([]int64, len(best)), make([]float64, len(best))
	factor := math.Ldexp(1, s.exp) // normal, as exp is that of a float32 vector, so that products round as Ldexp does
	for k, b := range best {
		a.IDs[k], a.Scores[k] = int64(b.row), b.score*factor
	}
	return a
}

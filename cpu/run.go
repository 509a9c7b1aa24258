package cpu

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
)

// run is one batch of queries. Goroutines work on disjoint ranges of states.
type run struct {
	r         *resident
	c         *collection.Collection
	states    []state
	scaled    []float64       // [queries][Dim]
	heads     []float32       // [queries][R]
	rests     []float32       // [queries][D]
	fullWidth *looks.Compiled // the deterministic look at whole rows
	closed    bool
}

// reset prepares the run's memory for m queries.
func (x *run) reset(m int) (err error) {
	c := x.c
	if cap(x.states) < m {
		x.states = append(x.states[:cap(x.states)], make([]state, m-cap(x.states))...)
	}
	x.states = x.states[:m]
	x.scaled = grow(x.scaled, m*c.Dim)
	if c.Coded() {
		x.heads, x.rests = grow(x.heads, m*c.R), grow(x.rests, m*c.D)
		x.fullWidth, err = x.r.compile(backend.Look{Rep: backend.Rows, To: c.D, Rule: backend.Cauchy})
	}
	x.closed = false
	return err
}

// Close releases the run's memory to later runs. Answers that were returned stay valid.
func (x *run) Close() error {
	if x.closed {
		return nil
	}
	x.closed = true
	x.r.runs.Put(&run{r: x.r, c: x.c, states: x.states, scaled: x.scaled, heads: x.heads, rests: x.rests})
	x.states = nil
	return nil
}

// Pull takes look l at the survivors of every query and returns how many are left. After
// an error of ctx the same look can be pulled again and continues where it was stopped,
// except for looks at float32 coordinates.
func (x *run) Pull(ctx context.Context, l backend.Look) (backend.Survivors, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	var err error
	switch {
	case l.Rep.ForFirstLook():
		err = x.scan(ctx, l)
	case l.Rep.Coded():
		err = x.revisit(ctx, l)
	case l.Rep == backend.Float32:
		err = x.float32Looks(ctx, l)
		x.noteRandomBounds(l)
	default:
		err = fmt.Errorf("%v: %w", l.Rep, backend.ErrRuleUnsupported)
	}
	if err == nil {
		err = x.answerCrowded(ctx)
	}
	return x.survivors(), err
}

// Floor raises the floors of the queries to floors, one search score a query, and their
// thresholds accordingly. The next step drops the arms that no longer reach them.
func (x *run) Floor(_ context.Context, floors []float64) error {
	if x.closed {
		return backend.ErrClosed
	}
	if err := backend.CheckFloors(floors, len(x.states)); err != nil {
		return err
	}
	for j, f := range floors {
		s := &x.states[j]
		s.floor = max(s.floor, math.Ldexp(f, -s.exp))
		s.tau = max(s.tau, s.scale.Threshold(s.floor))
	}
	return nil
}

// noteRandomBounds records for each query that float32 look l gave its arms bounds that
// can fail, if they can.
func (x *run) noteRandomBounds(l backend.Look) {
	if l.Rule == backend.Cauchy || l.To >= max(x.c.Dim, x.c.D) {
		return
	}
	for j := range x.states {
		if s := &x.states[j]; s.pass != nil {
			s.noteRandomBound(len(s.pass.arms))
		}
	}
}

// answerCrowded answers the queries whose first look kept too many arms by the dense path.
func (x *run) answerCrowded(ctx context.Context) error {
	var js []int
	for j := range x.states {
		if x.states[j].phase == crowded {
			js = append(js, j)
		}
	}
	if len(js) == 0 {
		return nil
	}
	return x.Dense(ctx, js...)
}

func (x *run) survivors() backend.Survivors {
	left := make(backend.Survivors, len(x.states))
	for j := range x.states {
		left[j], _ = x.states[j].countOpen()
	}
	return left
}

// countOpen counts the arms that reach the threshold and are not scored, and returns the
// greatest bound among them, -Inf if there are none. Atoms that no look has seen are
// bounded by their norms.
func (s *state) countOpen() (n int, most float64) {
	most = math.Inf(-1)
	if s.phase >= answered {
		return 0, most
	}
	if s.pass != nil {
		return s.pass.countOpen(s)
	}
	least := s.least32()
	for _, b := range s.list.bounds {
		if b >= least {
			n++
			most = max(most, float64(b))
		}
	}
	for _, a := range s.finalists {
		if a.bound >= s.tau {
			n++
			most = max(most, a.bound)
		}
	}
	if math.IsInf(most, 1) { // the bound of an arm that no look has seen
		most = s.scoreCap()
	}
	if s.phase == listed {
		return n, most
	}
	if left := s.countAllowedFrom(s.nextPanel); left > 0 {
		c := s.scoreCap()
		if s.c.Coded() {
			c = s.scoreCapFrom(s.nextPanel)
		}
		if c >= s.tau {
			n, most = n+left, max(most, c)
		}
	}
	return n, most
}

// partialRows is the greatest number of rows that a query scores after its deadline. A
// partial answer is then the best of these candidates.
const partialRows = 256

// Finish scores the survivors exactly, in descending order of bounds, until no bound
// reaches the threshold, and returns an answer for each query; those of queries that have
// left are zero. If ctx has ended it scores at most min(max(k, 1), partialRows) arms of
// each query, and Answer.Open bounds the scores of the others.
func (x *run) Finish(ctx context.Context) (backend.Answers, error) {
	if x.closed {
		return nil, backend.ErrClosed
	}
	var present []int // queries that have not left
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
	if err := x.answerUnscanned(ctx, js); err != nil {
		return err
	}
	// The best arms are scored even if ctx has ended.
	return x.r.each(context.WithoutCancel(ctx), len(js), func(w *scratch, at int) error {
		s := &x.states[js[at]]
		s.finish(ctx, w)
		deliver(at, s.answer())
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
	s.recordStopped()
	left := s.finalists
	s.finalists = nil
	if s.phase == answered {
		s.finalists = left[:0]
		s.list.truncate(0)
		return
	}
	defer s.addPartialDense()
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
	slices.SortFunc(left, byBound)
	done := 0
	// Arms not scored move to the front of the slice, whose memory is reused.
	defer func() { s.finalists = append(left[:0], left[done:]...) }()
	few := min(max(s.goal.K, 1), partialRows)
	// The k best are scored together, then a few at a time, since each may raise the threshold.
	for n := few; done < len(left) && s.reachesThreshold(left[done].bound); n = 4 {
		if ctx.Err() != nil && done >= few {
			return
		}
		n = min(n, len(left)-done)
		for n > 1 && !s.reachesThreshold(left[done+n-1].bound) {
			n--
		}
		s.scoreArms(w, left[done:done+n])
		done += n
	}
	done = len(left)
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
	s.searchScores(w.scores, w.ids)
	s.countRows(len(arms))
	for k, row := range w.ids {
		s.addScored(scored{w.scores[k], row})
	}
}

// addPartialDense adds what stopped dense scans have found to the answers, except for rows
// that are among them already.
func (s *state) addPartialDense() {
	if len(s.partialDense) == 0 {
		return
	}
	have := make(map[uint32]bool, len(s.best.heap))
	for _, a := range s.best.heap {
		have[a.row] = true
	}
	for _, a := range s.partialDense {
		if !have[a.row] {
			have[a.row] = true
			s.addScored(a)
		}
	}
	s.partialDense = nil
}

// answer returns the query's answer, whose slices are new. It uses up best.
func (s *state) answer() backend.Answer {
	_, open := s.countOpen()
	a := backend.Answer{Looks: s.reports, Pulls: s.pulls, Bytes: s.bytes, Rows: s.rowsRead,
		Tau: math.Ldexp(s.threshold(), s.exp), Open: math.Ldexp(s.scale.Outward(open), s.exp), Random: s.random || s.rowsRead < s.rowsIfAllScored, Dense: s.phase == answered}
	best := s.best.sorted()
	for len(best) > 0 && best[len(best)-1].score < s.floor { // the floor rose after they were scored
		best = best[:len(best)-1]
	}
	a.IDs, a.Scores = make([]int64, len(best)), make([]float64, len(best))
	for k, b := range best {
		a.IDs[k], a.Scores[k] = int64(b.row), math.Ldexp(b.score, s.exp)
	}
	return a
}
